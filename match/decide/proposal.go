package decide

import "github.com/lattice-director/director/match/profile"

// Version is a numbered version of a profile. The profile must decide by teams and rules, not by a match function, for which
// there is [Completer].
type Version struct {
	Profile *profile.Profile
	Number  int
}

// Region is a game region that may host matches.
type Region struct {
	Name string
	Room bool // it has a host for another match now
}

// Proposal is a match that the rules allow, or newcomers for an open one.
type Proposal struct {
	Anchor  string   // the ticket whose search found the match
	Tickets []string // oldest first
	Teams   []Team   // in the profile's order; of a join with the newcomers only
	// Modes are the profile's modes that all tickets allow, in the profile's order. Empty if the profile has none.
	Modes []string
	// Regions are the game regions where every rule holds, best first: regions with room precede all others.
	Regions []RegionChoice
	// Chosen are the values that `common` rules selected for the game server, by attribute.
	Chosen map[string]string
	// Rules say what held, in the profile's order.
	Rules []RuleValue
	// Preferences say which preferences hold, in the profile's order.
	Preferences []PreferenceValue
	// Traded says what the match costs its players, in the order of the profile's trades.
	Traded []Traded
	// Session is the open match's; empty for a new match.
	Session string
	// PassedOver are up to 8 candidates that the anchor preferred to one it got.
	PassedOver []PassedOver
}

// Team is a team of a proposal.
type Team struct {
	Name  string
	Seats []Seat // by ticket, oldest first, then by player
}

// Seat is a player's place in a team.
type Seat struct {
	Ticket, Sub string
	Role        string // empty: none
}

// RegionChoice is a region that a match may be played in.
type RegionChoice struct {
	Name string
	Room bool
	// Measured says that every player measured the latency to it. Worst and Mean are in milliseconds, of the players, and zero if not
	// Measured.
	Measured bool
	Worst    int
	Mean     float64
	Weight   float64 // of the preferences that hold there
}

// RuleValue says how a rule held.
type RuleValue struct {
	ID    string
	Value float64 // what was measured: a difference, a number of values, milliseconds
	Limit float64 // what it was compared with
	Text  string  // "ended" after a step that ends the rule; of a text rule, the text
}

// PreferenceValue says whether a preference holds, in the best region of the match.
type PreferenceValue struct {
	ID     string
	Weight float64
	Holds  bool
}

// PassedOver names a ticket that was nearer than one that was taken.
type PassedOver struct {
	Ticket  string
	Because string // the id of the rule that excluded it, or one of "size", "roles", "mode", "player" and "combination"
}

// Lack is a reason why a ticket is no candidate of a profile.
type Lack struct {
	Why       LackReason
	Attribute string // of LacksAttribute
	Rule      string // of LacksAttribute and LacksLatency: the id of the rule that needs it
	Sub       string // of LacksAttribute: the first player without it
}

// LackReason is a kind of [Lack].
type LackReason string

// The reasons why a ticket is no candidate.
const (
	LacksPlayer    LackReason = "player"     // it names no player
	LacksPool      LackReason = "pool"       // the profile's filters do not hold it, or it asks for other profiles
	LacksAttribute LackReason = "attribute"  // a player has no value that the rule can compare
	LacksLatency   LackReason = "latency"    // it measured no region
	LacksRoom      LackReason = "party_size" // its party is larger than any team
	LacksMode      LackReason = "mode"       // it allows none of the profile's modes

	LacksRule   LackReason = "own_party" // only of [NeverMatches]: its own players break a rule at every step
	LacksPlaces LackReason = "roles"     // only of [NeverMatches]: no team has places for its players with their roles
)
