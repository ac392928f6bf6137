package match

import (
	"math"
	"strconv"
	"strings"
)

// MaxLatency is the highest latency of a ticket, in milliseconds.
const MaxLatency = 10_000

// LatencyOf returns a latency as tickets have it. ok is false unless it is a whole number from 0 to [MaxLatency]: a measurement that
// is rounded for its sender may be on the other side of a rule's limit.
func LatencyOf(milliseconds float64) (ms uint16, ok bool) {
	if !(milliseconds >= 0 && milliseconds <= MaxLatency) || milliseconds != math.Trunc(milliseconds) {
		return 0, false
	}
	return uint16(milliseconds), true
}

// ParseNumber returns the number that a decimal text says, as JSON and YAML write it. allowed says what is allowed instead, and is "" for
// a good one. A whole number that a float64 cannot hold is refused: it is an id, and rounded it would be equal to another one.
func ParseNumber(text string) (number float64, allowed string) {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, "must be a number of reasonable size"
	}
	if !strings.ContainsAny(text, ".eE") && math.Abs(number) >= 1<<53 {
		exact := strconv.FormatFloat(number, 'f', -1, 64)
		if strings.TrimLeft(text, "+0") != exact && text != exact {
			return 0, "must be a number that 64 bits of floating point can hold exactly; write an id as a text"
		}
	}
	return number + 0, "" // -0 is 0
}
