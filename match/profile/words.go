package profile

import "github.com/lattice-director/director/match"

// choices are the words for the values of an enumeration.
type choices[T comparable] []choice[T]

// choice is a word with its value.
type choice[T comparable] struct {
	word  string
	value T
}

// allWords returns the words, in order.
func (c choices[T]) allWords() words {
	all := make(words, len(c))
	for i, one := range c {
		all[i] = one.word
	}
	return all
}

// valueOf returns the value of a node's word, or initial for nil and for a word that the check has reported.
func (c choices[T]) valueOf(n *node, initial T) T {
	if n != nil {
		for _, one := range c {
			if one.word == n.plainText {
				return one.value
			}
		}
	}
	return initial
}

// wordFor returns the word for a value.
func (c choices[T]) wordFor(value T) string {
	for _, one := range c {
		if one.value == value {
			return one.word
		}
	}
	return ""
}

var (
	ages     = choices[Age]{{"oldest", Oldest}, {"youngest", Youngest}, {"mean", Mean}, {"each", Each}}
	joinings = choices[Joining]{{"never", Never}, {"allow", Allow}, {"prefer", Prefer}}
	types    = choices[match.Kind]{{"number", match.Number}, {"string", match.Text}, {"list", match.List}}
	sources  = choices[match.Source]{{"client", match.FromClient}, {"claim", match.FromClaim},
		{"backend", match.FromBackend}}
	functions = choices[FunctionType]{{"grpc", GRPC}, {"rest", REST}}
	excludes  = choices[match.Exclude]{{"none", match.ExcludeNone}, {"min", match.ExcludeMin},
		{"max", match.ExcludeMax}, {"both", match.ExcludeBoth}}
	operators = choices[Operator]{{"<", Less}, {"<=", LessOrEqual}, {"=", Equal}, {"!=", NotEqual},
		{">=", GreaterOrEqual}, {">", Greater}}
	takes = choices[Fold]{{"each", FoldEach}, {"sum", FoldSum}, {"mean", FoldMean}, {"min", FoldMin},
		{"max", FoldMax}, {"count", FoldCount}}
	balances = choices[Fold]{{"mean", FoldMean}, {"sum", FoldSum}, {"min", FoldMin}, {"max", FoldMax}}
	parties  = choices[Fold]{{"each", FoldEach}, {"min", FoldMin}, {"max", FoldMax}, {"mean", FoldMean},
		{"intersect", Intersect}, {"union", Union}}

	ageWords      = ages.allWords()
	joinWords     = joinings.allWords()
	typeWords     = types.allWords()
	sourceWords   = sources.allWords()
	functionWords = functions.allWords()
	excludeWords  = excludes.allWords()
	operatorWords = operators.allWords()
	takeWords     = takes.allWords()
	balanceWords  = balances.allWords()
)
