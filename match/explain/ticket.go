package explain

import "time"

// Schema is the version of the documents. Later releases may add fields.
const Schema = 1

// Ticket explains why a ticket waits, or gives its outcome.
type Ticket struct {
	Schema    int       `json:"schema"`
	TicketID  string    `json:"ticket_id"`
	AsOf      time.Time `json:"as_of"`
	State     string    `json:"state"` // of the ticket, as its players see it
	Reason    string    `json:"reason,omitempty"`
	MatchID   string    `json:"match_id,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`
	Party     []string  `json:"party,omitempty"`
	// Sources say who vouches for the attributes of each player, by the player and the attribute: client, claim or
	// backend.
	Sources map[string]map[string]string `json:"sources,omitempty"`
	// ClaimedLatencies are what the client claimed, by region, in milliseconds, where another latency counts because the
	// claim was too far from what is known of the players.
	ClaimedLatencies map[string]uint16 `json:"claimed_latencies,omitempty"`
	// Read is how many other tickets were read. Partial reports that the queue has more, which were left out.
	Read     int       `json:"read"`
	Partial  bool      `json:"partial,omitempty"`
	Profiles []Profile `json:"profiles"`
	// NotExplained are further profiles whose pool admits the ticket, left out because there are too many.
	NotExplained []string `json:"not_explained,omitempty"`
}

// Profile explains a ticket in one profile.
type Profile struct {
	Name      string   `json:"name"`
	Version   int      `json:"version,omitempty"`
	Candidate bool     `json:"candidate"`
	Why       []Reason `json:"why,omitempty"` // why the ticket is no candidate

	Steps []Step `json:"steps,omitempty"`
	// HeadStart is by how many seconds the ticket takes its turn earlier, by the profile's priority.
	HeadStart float64       `json:"head_start_s,omitempty"`
	Others    int           `json:"others"` // the other candidates of the profile
	Funnel    []FunnelStage `json:"funnel,omitempty"`
	Best      *Best         `json:"best,omitempty"`
	// Nearest is, of the tickets that cannot be in a match with this one, the one that breaks the fewest rules by the
	// least.
	Nearest *Nearest `json:"nearest,omitempty"`
	// Match are the tickets of a match that this ticket can have now, and Joins the session of an open match that it
	// can join. The worker decides about older tickets first, and a match may wait for a server.
	Match []string `json:"match,omitempty"`
	Joins string   `json:"joins,omitempty"`
	// MatchAt is when Match is made at the latest, by the profile's key `trade`, unless one of its tickets leaves; nil:
	// at once.
	MatchAt *time.Time `json:"match_at,omitempty"`
	// WouldMatch are changes of rules' limits that would each give a match alone; the smallest changes are first.
	WouldMatch []Limits `json:"would_match,omitempty"`
	// Search is "complete", or "bounded" if the search ran out of steps: a larger set, or a smaller change, may be
	// possible.
	Search  string   `json:"search,omitempty"`
	Regions []Region `json:"regions,omitempty"`
	NoHost  string   `json:"no_host,omitempty"` // no game region has a game server of the profile's modes
}

// Reason is why a ticket is no candidate. Reason is a word for programs, Text a sentence for people.
type Reason struct {
	Reason    string `json:"reason"`
	Text      string `json:"text"`
	Attribute string `json:"attribute,omitempty"`
	Rule      string `json:"rule,omitempty"`
	Player    string `json:"player,omitempty"`
	Filter    string `json:"filter,omitempty"`
}

// Step is how far a rule has widened for the age of the ticket. The ages of others in a match may widen it further, or
// less.
type Step struct {
	Limits

	NextAt *time.Time `json:"next_at,omitempty"` // when it widens next; nil: never
}

// Limits are the limits of a rule; which are set depends on its kind. Any reports that there is no limit.
type Limits struct {
	Rule      string   `json:"rule"` // its id, or stepFewer, stepFill or stepAutofill
	Within    *float64 `json:"within,omitempty"`
	To        *float64 `json:"to,omitempty"`
	AtLeast   *int     `json:"at_least,omitempty"`
	Min       *int     `json:"min,omitempty"`
	Max       *int     `json:"max,omitempty"`
	LatencyMS *float64 `json:"latency_ms,omitempty"`
	SpreadMS  *float64 `json:"spread_ms,omitempty"`
	Players   *int     `json:"players,omitempty"`
	Any       bool     `json:"any,omitempty"`
}

// FunnelStage is what a rule leaves of the other candidates. Holds and Left are set for a rule that two tickets can
// break, Value and Limit for another one.
type FunnelStage struct {
	Rule string `json:"rule"` // the id of the rule, or "size", "mode" or "player", which have Left alone
	// Holds counts the candidates that satisfy the rule in a pair with this ticket, and Left those of them that also
	// satisfy every earlier rule.
	Holds *int `json:"holds,omitempty"`
	Left  *int `json:"left,omitempty"`
	// Value is the nearest to Limit that the search reached with enough players; nil: it reached none.
	Value *float64 `json:"value,omitempty"`
	Limit *float64 `json:"limit,omitempty"`
}

// Best is the largest set of candidates that the search found for a match with the ticket.
type Best struct {
	Players int            `json:"players"`
	Of      int            `json:"of"`              // players that a match needs now
	Lacks   map[string]int `json:"lacks,omitempty"` // by role: places that no player of the set fills
}

// Nearest is a ticket with the rules that it breaks in a pair with the explained ticket.
type Nearest struct {
	TicketID string `json:"ticket_id"`
	Fails    []Fail `json:"fails"`
}

// Fail is a rule that does not hold, or "size", "mode" or "player". Value and Limit are set if the rule measures
// something.
type Fail struct {
	Rule  string  `json:"rule"`
	Value float64 `json:"value"`
	Limit float64 `json:"limit"`
}

// Region is a game region with its latency for the ticket and the room on hosts of the profile's modes.
type Region struct {
	Region  string `json:"region"`
	MS      *int   `json:"ms,omitempty"`      // latency; nil: the ticket did not measure it
	Room    int    `json:"room"`              // free seats of the host with the most
	Refused string `json:"refused,omitempty"` // why no match can be there; empty: it can
}
