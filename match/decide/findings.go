package decide

import (
	"time"

	"github.com/lattice-director/director/match/profile"
)

// Findings are the result of an [Inquiry].
type Findings struct {
	OtherCandidates int     // the other candidates of the profile
	Rules           []Reach // by rule, in the profile's order
	// Excluded counts the others that satisfy every rule in the pair and still cannot be in a match with the ticket, by
	// reason: "size", "mode" or "player".
	Excluded map[string]int
	// Nearest is the candidate that breaks the fewest rules and exceeds their limits the least. Nil: no candidate
	// breaks a rule.
	Nearest *Nearest
	// HeadStart is by how much the ticket takes its turn earlier than its age says, by the profile's priority.
	HeadStart time.Duration
	// Refused is the rule that the ticket's own party breaks; empty: none.
	Refused string
	Best    Best
	// Match are the tickets of a match that the ticket can have now; nil: the search found none.
	Match []string
	// MatchDueAt is when Match is made at the latest, unless one of its tickets leaves; zero: at once. Other tickets
	// may make it earlier.
	MatchDueAt time.Time
	// Joins is the open match that the ticket can join now; empty: none.
	Joins string
	// Relaxations would each give a match alone; the smallest changes are first.
	Relaxations []Relaxation
	// Complete reports that the search tried everything. Otherwise a larger Best or smaller Relaxations may be
	// possible.
	Complete bool
}

// Reach counts how many others satisfy a rule.
type Reach struct {
	ID string
	// OfPairs reports that two tickets are enough to break the rule. Holds then counts the others that satisfy it in a
	// pair with the ticket, and HoldsAllBefore those of them that satisfy every earlier rule as well.
	OfPairs               bool
	Holds, HoldsAllBefore int
	// Judged reports that the search judged the rule for sets of tickets; Value is the one that came nearest to Limit.
	Judged       bool
	Value, Limit float64
}

// Nearest is the candidate that comes nearest to a match with the ticket among those that cannot have one.
type Nearest struct {
	Ticket string
	Fails  []RuleValue // or an ID of "size", "mode" or "player"
}

// Best is the largest set of tickets that the search found to satisfy the rules that need no teams.
type Best struct {
	Players int
	Needed  int            // players of the smallest match
	Lacks   map[string]int // places of roles that nobody of the set fills, by role
}

// Relaxation is a rule with wider limits and without steps.
type Relaxation struct {
	ID     string
	Kind   profile.RuleKind
	Limits profile.Limits // Ended: no limit suffices, only leaving the rule out
	change float64        // how far the limits are from those of now, for the order
}
