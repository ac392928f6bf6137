package profile

import (
	"math"
	"time"

	"github.com/lattice-director/director/match"
)

// Rule is a condition on the players of a match. Which fields count depends on its kind.
type Rule struct {
	ID      string // unique in the profile; by default the kind and the attribute, as "near-skill", below or as "or/near-skill"
	Kind    RuleKind
	Age     Age    // whose waiting time decides its step; the profile's by default
	Role    string // only players that fill this role count; "": all
	Missing Missing
	Party   Fold // how the numbers or lists of a party become one
	Widen   []Step

	Attribute string // of near, balance, same, different, common, count and avoid
	Limits           // before any step
	PerTeam   bool   // near, same, different, count, avoid: holds in each team on its own
	FromMean  bool   // near: each within the limit of the mean, instead of the greatest from the least
	Teams     Fold   // balance: what makes a team's value of its players': FoldMean, FoldSum, FoldMin or FoldMax
	TakeMean  bool   // latency: of the players' latencies the mean counts, instead of the greatest
	AnyOf     []string
	Compare   *Compare
	Rules     []Rule // of or, and; of not exactly one, below which no rule has steps

	linear *linear // what Widen was expanded from, if it has more steps than a document may list
}

// Limits are what the steps of a rule change. A limit that the rule's kind does not have is ignored.
type Limits struct {
	Ended   bool          // the rule holds always
	Within  float64       // near, balance, sizes, party_sizes: the greatest difference
	To      float64       // compare: what the measure is compared with, where it is a number
	AtLeast int           // common: so many values
	Min     int           // count
	Max     int           // count; NoMax: any number
	Latency time.Duration // latency: the greatest
	Spread  time.Duration // latency: the greatest less the least; NoSpread: any
}

// The limits that nothing exceeds.
const (
	NoMax    = math.MaxInt32
	NoSpread = time.Duration(math.MaxInt64)
)

// Step replaces all limits from an age on. It holds from that age, inclusive. No step is stricter than the one before it.
type Step struct {
	After  time.Duration
	Limits Limits
}

// RuleKind is what a rule compares.
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

// Missing says what a rule does about a player without its attribute. By default avoid passes, and the others fail.
type Missing struct {
	Pass  bool         // the rule leaves the player out
	Value *match.Value // stands in; nil and not Pass: the ticket is no candidate
}

// Fold makes one value of many.
type Fold uint8

// The ways to fold. FoldEach leaves the values as they are; of lists FoldEach and Intersect take what all have, Union what any has.
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
	Measure Measure
	Is      Operator
	To      *Measure // nil: Limits.To
}

// Measure is a number taken of the players of a match or a team.
type Measure struct {
	Take Fold // FoldEach: the comparison must hold for each player; else Sum, Mean, Min, Max or Count
	Of   string
	In   string // the name of a team; "": the match
}

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
