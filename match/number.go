package match

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// MaxLatency is the highest latency of a ticket, in milliseconds.
const MaxLatency = 10_000

// LatencyOf returns a latency as tickets have it. ok is false unless it is a whole number from 0 to [MaxLatency]: if it
// were rounded here, it could pass a rule's limit that its sender sees it within.
func LatencyOf(milliseconds float64) (ms uint16, ok bool) {
	if !(milliseconds >= 0 && milliseconds <= MaxLatency) || milliseconds != math.Trunc(milliseconds) {
		return 0, false
	}
	return uint16(milliseconds), true
}

// decimal matches the numbers of YAML 1.2's core schema in base ten, which include those of JSON.
var decimal = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// IsNumber reports whether a text without quotes is a number in a document of any kind: a decimal one. 010 is ten, and
// 0x10, 0o10, 1_000 and .inf are none.
func IsNumber(text string) bool { return decimal.MatchString(text) }

// ParseNumber returns the number of a decimal text, as JSON and YAML write it. allowed says what is allowed instead of a
// text that is refused, and is "" otherwise. A whole number that a float64 cannot hold is refused: it is an id, and
// rounded it would be equal to another one.
func ParseNumber(text string) (number float64, allowed string) {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, "must be a number of reasonable size"
	}
	if !strings.ContainsAny(text, ".eE") && math.Abs(number) >= 1<<53 {
		exact := strconv.FormatFloat(number, 'f', -1, 64)
		// A sign or zeros before the digits do not change the number.
		if strings.TrimLeft(text, "+0") != exact && text != exact {
			return 0, "must be a number that 64 bits of floating point can hold exactly; write an id as a text"
		}
	}
	return number + 0, "" // -0 is 0
}

// ParseWhole returns the whole number of a text for which [IsNumber] holds. ok is false for a fraction, and for a number
// beyond 64 bits.
func ParseWhole(text string) (n int64, ok bool) {
	if strings.ContainsAny(text, ".eE") {
		number, err := strconv.ParseFloat(text, 64)
		return int64(number), err == nil && number == math.Trunc(number) && math.Abs(number) < 1<<53
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}
