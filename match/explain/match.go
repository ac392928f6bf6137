package explain

import (
	"encoding/json"
	"time"

	"github.com/lattice-director/director/match/decide"
)

// Match explains a match that was decided.
type Match struct {
	Schema  int       `json:"schema"`
	MatchID string    `json:"match_id"`
	AsOf    time.Time `json:"as_of"`
	// State is "proposed" or "accepted" before the match is committed, "playing" while it has a session, or "ended".
	State   string `json:"state"`
	Profile string `json:"profile"`
	Version int    `json:"version"`
	Seed    string `json:"seed,omitempty"` // 64 bits do not fit into a JSON number
	// DecidedAt is when a worker decided the match, and CommittedAt when its players had their seats; nil: not yet, or
	// no longer known.
	DecidedAt   time.Time  `json:"decided_at"`
	CommittedAt *time.Time `json:"committed_at,omitempty"`
	Deadline    *time.Time `json:"deadline,omitempty"` // of a ready check
	// Joined reports that its players joined a match that was already playing in the session.
	Joined bool `json:"joined,omitempty"`

	Why

	Mode    string          `json:"mode,omitempty"`
	Region  string          `json:"region,omitempty"` // the game region of the session
	Session string          `json:"session,omitempty"`
	Host    string          `json:"host,omitempty"` // the id of the game server
	Tickets []TicketOutcome `json:"tickets"`
}

// TicketOutcome is the outcome of a ticket of a match.
type TicketOutcome struct {
	TicketID string `json:"ticket_id"`
	Outcome  string `json:"outcome,omitempty"` // its latest state; empty: no longer known
	// WaitedMS is the time from its creation until it left the queue; nil: it has not, or that is no longer known.
	WaitedMS *int64 `json:"waited_ms,omitempty"`
}

// whyBytes bounds the stored reasons of a decision.
const whyBytes = 4096

// Why are the stored reasons of a decision: at most 4 KiB of JSON. Later releases may add fields.
type Why struct {
	Schema      int               `json:"schema"`           // within a Match its own Schema hides this one
	Anchor      string            `json:"anchor,omitempty"` // the ticket that the search started with
	Rules       []MatchRule       `json:"rules,omitempty"`
	Traded      []MatchTrade      `json:"traded,omitempty"`
	Preferences []MatchPreference `json:"preferences,omitempty"`
	Teams       []MatchTeam       `json:"teams,omitempty"`
	// Bots are how many each team needed when the match was decided, by its name; nil: no bots fill it.
	Bots       map[string]int `json:"bots,omitempty"`
	Regions    []MatchRegion  `json:"regions,omitempty"`
	PassedOver []PassedOver   `json:"passed_over,omitempty"`
	Truncated  bool           `json:"truncated,omitempty"` // the least important fields were left out
}

// MatchRule is the value and limit of a rule. Text is "ended" after a step that ends it; for a rule over texts it is
// the shared value.
type MatchRule struct {
	Rule  string  `json:"rule"`
	Value float64 `json:"value"`
	Limit float64 `json:"limit"`
	Text  string  `json:"text,omitempty"`
}

// MatchTrade is what the match cost each of its players by one trade, on average: points of an attribute, or
// milliseconds.
type MatchTrade struct {
	Of        string  `json:"of"` // the key of the trade
	Value     float64 `json:"value"`
	PerSecond float64 `json:"per_second"`
}

// MatchPreference says whether a preference held in the best region of the match.
type MatchPreference struct {
	Rule   string  `json:"rule"`
	Weight float64 `json:"weight"`
	Holds  bool    `json:"holds"`
}

// MatchTeam has the tickets of a team, by age.
type MatchTeam struct {
	Name    string   `json:"name"`
	Tickets []string `json:"tickets"`
}

// MatchRegion is a region that suited the match.
type MatchRegion struct {
	Region string `json:"region"`
	// Worst is the latency of the player who is farthest from the region; nil unless every player measured it.
	Worst *int `json:"ms,omitempty"`
}

// PassedOver is a ticket that the anchor preferred to one that it got, and the rule that excluded it or one of "size",
// "roles", "mode", "player" and "combination".
type PassedOver struct {
	Ticket  string `json:"ticket_id"`
	Because string `json:"because"`
}

// EncodeWhy encodes the reasons of a decision for storage, with the bots that each team needs (nil: none). Reasons that
// are too long are left out, those that say least first. Errors: a number that JSON does not have.
func EncodeWhy(found decide.Proposal, bots map[string]int) (json.RawMessage, error) {
	w := whyOf(found)
	w.Bots = bots
	// Reasons that operators miss least are left out first. Trades and preferences, which are short, stay.
	for _, shorten := range []func(){
		func() {}, func() { w.PassedOver = nil }, func() { w.Regions = nil }, func() { w.Teams = nil },
		func() { w.Rules = nil },
	} {
		shorten()
		text, err := json.Marshal(w)
		if err != nil || len(text) <= whyBytes {
			return text, err
		}
		w.Truncated = true
	}
	return json.Marshal(Why{Schema: Schema, Anchor: found.Anchor, Bots: bots, Truncated: true})
}

// matchRegion converts a region of a decision.
func matchRegion(r decide.RegionChoice) MatchRegion {
	// The worst latency would be that of some players only.
	if !r.Measured {
		return MatchRegion{Region: r.Name}
	}
	return MatchRegion{r.Name, &r.Worst}
}

// whyOf returns the reasons of a decision.
func whyOf(found decide.Proposal) Why {
	w := Why{Schema: Schema, Anchor: found.Anchor}
	for _, r := range found.Rules {
		w.Rules = append(w.Rules, MatchRule{r.ID, r.Value, r.Limit, r.Text})
	}
	for _, t := range found.Traded {
		w.Traded = append(w.Traded, MatchTrade(t))
	}
	for _, p := range found.Preferences {
		w.Preferences = append(w.Preferences, MatchPreference{p.ID, p.Weight, p.Holds})
	}
	for _, t := range found.Teams {
		team := MatchTeam{Name: t.Name, Tickets: []string{}}
		for _, s := range t.Seats {
			// Seats are by ticket: those of one party follow each other.
			if n := len(team.Tickets); n == 0 || team.Tickets[n-1] != s.Ticket {
				team.Tickets = append(team.Tickets, s.Ticket)
			}
		}
		w.Teams = append(w.Teams, team)
	}
	for _, r := range found.Regions {
		w.Regions = append(w.Regions, matchRegion(r))
	}
	for _, p := range found.PassedOver {
		w.PassedOver = append(w.PassedOver, PassedOver{p.Ticket, p.Because})
	}
	return w
}
