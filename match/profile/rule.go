package profile

import (
	"math"
	"slices"
	"time"

	"github.com/lattice-director/director/match"
)

// Rule is a condition on the players of a match. Its kind determines which fields it uses.
type Rule struct {
	// ID is unique in the profile; by default the kind and the attribute: near-skill or, within or, or/near-skill.
	ID      string
	Kind    RuleKind
	Age     Age    // whose waiting time decides its step; the profile's by default
	Role    string // only players that fill this role count; "": all
	Missing Missing
	Party   Fold // how the numbers or lists of a party become one
	Widen   []Step

	Attribute string // of near, balance, same, different, common, count and avoid
	// ByRole are of near and balance: the attributes that count in place of Attribute for players who fill a role,
	// sorted by role.
	ByRole  []RoleAttribute
	Limits  Limits // before any step
	PerTeam bool   // near, same, different, count, avoid: each team is checked separately
	// Tolerance is of near: the attribute that says how far others may be from a ticket, at most Within. Of two tickets
	// the smaller tolerance counts, and the age is Each. "": the tolerance is Within.
	Tolerance string
	FromMean  bool // near: compares each value with the mean, instead of the highest with the lowest
	Teams     Fold // balance: how the values of players become a team's: FoldMean, FoldSum, FoldMin or FoldMax
	TakeMean  bool // latency: compares the mean of the players' latencies, instead of the highest
	AnyOf     []string
	Compare   *Compare
	Rules     []Rule // of or, and; of not exactly one, below which no rule has steps

	linearSource *linear // what Widen was expanded from, if it has more steps than a document may list
}

// Preference is a rule that a match should satisfy, but need not.
type Preference struct {
	Rule   Rule    // has no steps, and leaves out players whom it cannot compare, so that it excludes no ticket
	Weight float64 // more than 0: of two matches, the one whose preferences weigh more is made
}

// Limits are the values that the steps of a rule change. Limits that the rule's kind does not have are ignored.
type Limits struct {
	Ended   bool          // the rule always holds
	Within  float64       // near, balance, sizes, party_sizes: the highest difference
	Number  float64       // compare: the number that the measure is compared with, if Compare.Against is nil
	AtLeast int           // common: the number of common values
	Min     int           // count
	Max     int           // count; NoMax: any number
	Latency time.Duration // latency: the highest latency
	Spread  time.Duration // latency: the highest difference between two players; NoSpread: any
}

// Limits that no value exceeds.
const (
	NoMax    = math.MaxInt32
	NoSpread = time.Duration(math.MaxInt64)
)

// Step replaces all limits from an age on. It holds from that age, inclusive. No step is stricter than the one before
// it.
type Step struct {
	AfterWait time.Duration
	Limits    Limits
}

// RuleKind is the kind of a rule.
type RuleKind uint8

// The kinds of rules.
const (
	Near RuleKind = iota + 1
	Balance
	Sizes
	PartySizes
	Comparison
	Same
	Different
	Common
	Count
	Latency
	Avoid
	Or
	And
	Not
)

// Missing says how a rule treats a player without its attribute. By default avoid passes, and the others fail.
type Missing struct {
	Pass  bool         // the rule ignores a player whose value is missing or has another type
	Value *match.Value // replaces the missing value; nil without Pass: the ticket is not a candidate
}

// Fold is a way to combine several values into one.
type Fold uint8

// The ways to fold. FoldEach does not combine numbers. Lists become their intersection with FoldEach and Intersect, and
// their union with Union.
const (
	FoldEach Fold = iota
	FoldMin
	FoldMax
	FoldMean
	FoldSum
	FoldCount
	Intersect
	Union
)

// Compare compares a measure of the match with a number or with another measure.
type Compare struct {
	Measure  Measure
	Operator Operator
	Against  *Measure // nil: Limits.Number
}

// Measure is a number computed from the players of a match or a team.
type Measure struct {
	// Take is FoldEach, with which the comparison must hold for each player, or FoldSum, FoldMean, FoldMin, FoldMax or
	// FoldCount.
	Take      Fold
	Attribute string // "": of FoldCount, all players count
	Team      string // the name of a team; "": the whole match
	// ByRole are the attributes that count in place of Attribute for players who fill a role, sorted by role.
	ByRole []RoleAttribute
}

// RoleAttribute is the attribute that counts for players who fill a role.
type RoleAttribute struct{ Role, Attribute string }

// Operator compares two numbers.
type Operator uint8

// The operators.
const (
	Less Operator = iota + 1
	LessOrEqual
	Equal
	NotEqual
	GreaterOrEqual
	Greater
)

// linear is widening in equal steps. Latencies are in nanoseconds.
type linear struct {
	stepEvery          time.Duration
	stepAdd, lastLimit float64
}

// Age selects the waiting time that determines the steps of a match.
type Age uint8

// The values of Age: the ticket of a match whose waiting time counts. Oldest is the default.
const (
	Oldest Age = iota
	Youngest
	Mean
	Each // every pair of tickets has a step of its own: the narrower one of the two tickets
)

// Measured returns the attributes that a rule compares, without those of rules within: its own first. Of near, balance
// and compare they are numbers, except of a measure that counts players.
func (r *Rule) Measured() (all []string) {
	if r.Attribute != "" {
		all = append(all, r.Attribute)
	}
	if r.Tolerance != "" {
		all = append(all, r.Tolerance)
	}
	if r.Compare != nil {
		for _, m := range []*Measure{&r.Compare.Measure, r.Compare.Against} {
			if m != nil && m.Attribute != "" {
				all = append(all, m.Attribute)
			}
		}
	}
	for _, by := range r.roleAttributes() {
		all = append(all, by.Attribute)
	}
	return all
}

// roleAttributes returns the attributes of players in a role, of the rule and its measures.
func (r *Rule) roleAttributes() []RoleAttribute {
	all := slices.Clone(r.ByRole)
	if r.Compare != nil {
		all = append(all, r.Compare.Measure.ByRole...)
		if r.Compare.Against != nil {
			all = append(all, r.Compare.Against.ByRole...)
		}
	}
	return all
}

// Rates reports whether the rule compares numbers that depend on the role that a player gets.
func (r *Rule) Rates() bool { return len(r.roleAttributes()) > 0 }
