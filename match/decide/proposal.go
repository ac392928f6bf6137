package decide

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

// Players returns how many players the proposal has.
func (p *Proposal) Players() (n int) {
	for _, t := range p.Teams {
		n += len(t.Seats)
	}
	return n
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

// Traded is what a match costs each of its players by one trade, on average.
type Traded struct {
	Of        string  // the key of the trade: an attribute, "latency" or "balance"
	Value     float64 // in points of the attribute, or in milliseconds
	PerSecond float64 // what a second of waiting is worth
}

// PassedOver names a ticket that was nearer than one that was taken.
type PassedOver struct {
	Ticket  string
	Because string // the id of the rule that excluded it, or one of "size", "roles", "mode", "player" and "combination"
}

// maxPassedOver bounds the PassedOver of a proposal.
const maxPassedOver = 8
