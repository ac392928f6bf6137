package profile

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lattice-director/director/match"
)

// shape is what a value may be. Documents are checked by shapes, and the JSON Schema and the reference of the keys are
// made of them, so that the three agree.
type shape interface {
	// checkNode adds the problems of a value to the report, and returns whether there are none.
	checkNode(r *report, n *node) bool
	// takesNode reports whether a value is meant to have the shape, right or wrong. It chooses between alternatives.
	takesNode(n *node) bool
	// describeAllowed returns the allowed values, for errors and the reference: "a number of 0 or more".
	describeAllowed() string
	// jsonSchema returns the JSON Schema.
	jsonSchema() schema
}

// schema is a JSON Schema, or a part of one.
type schema map[string]any

// number is a finite number, or a whole one.
type number struct {
	minValue, maxValue float64
	isWhole            bool
}

const (
	lowest  = -math.MaxFloat64
	highest = math.MaxFloat64
)

func (s number) takesNode(n *node) bool { return n.kind == isNumber }

func (s number) checkNode(r *report, n *node) bool {
	x := n.numberValue
	if n.kind != isNumber || math.IsNaN(x) || math.IsInf(x, 0) || x < s.minValue || x > s.maxValue ||
		s.isWhole && x != math.Trunc(x) {
		return r.addProblem(n, "%s is not allowed: it must be %s", n.textShown(), s.describeAllowed())
	}
	// A number that the author did not write would count.
	if n.isRounded() && !r.isStored {
		_, problem := match.ParseNumber(n.plainText)
		return r.addProblem(n, "%s is not allowed: it %s", n.textShown(), problem)
	}
	return true
}

// isRounded reports whether the digits of a number do not fit into a float64.
func (n *node) isRounded() bool {
	_, problem := match.ParseNumber(n.plainText)
	return n.kind == isNumber && problem != ""
}

func (s number) describeAllowed() string {
	what := "a number"
	if s.isWhole {
		what = "a whole number"
	}
	switch {
	case s.minValue == lowest && s.maxValue == highest:
		return what
	case s.maxValue == highest:
		return what + " of " + shortestNumber(s.minValue) + " or more"
	}
	return what + " from " + shortestNumber(s.minValue) + " to " + shortestNumber(s.maxValue)
}

// shortestNumber formats a number with as few digits as tell it apart, and without an exponent.
func shortestNumber(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func (s number) jsonSchema() schema {
	out := schema{"type": "number"}
	if s.isWhole {
		out["type"] = "integer"
	}
	if s.minValue != lowest {
		out["minimum"] = s.minValue
	}
	if s.maxValue != highest {
		out["maximum"] = s.maxValue
	}
	return out
}

// text is text that matches a pattern.
type text struct {
	allowedPattern *regexp.Regexp // in the syntax that Go and ECMAScript share
	what           string         // such as "a name of 1 to 64 lowercase letters, digits and hyphens"
}

func (s text) takesNode(n *node) bool { return n.kind == isText }

func (s text) checkNode(r *report, n *node) bool {
	if n.kind != isText || !s.allowedPattern.MatchString(n.plainText) {
		return r.addProblem(n, "%s is not allowed: it must be %s", n.textShown(), s.what)
	}
	return true
}

func (s text) describeAllowed() string { return s.what }

func (s text) jsonSchema() schema {
	return schema{"type": "string", "pattern": s.allowedPattern.String(), "description": capitalize(s.what)}
}

func capitalize(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// words is one of some words.
type words []string

func (s words) takesNode(n *node) bool { return n.kind == isText }

func (s words) checkNode(r *report, n *node) bool {
	if n.kind == isText && slices.Contains(s, n.plainText) {
		return true
	}
	if n.kind == isText {
		if near := nearestTo(n.plainText, s); near != "" {
			return r.addProblem(n, "%s is not allowed: it must be %s; did you mean %s?", n.textShown(),
				s.describeAllowed(), near)
		}
	}
	return r.addProblem(n, "%s is not allowed: it must be %s", n.textShown(), s.describeAllowed())
}

func (s words) describeAllowed() string { return oneOf(s) }

func (s words) jsonSchema() schema { return schema{"enum": []string(s)} }

// oneOf joins alternatives: "a, b or c".
func oneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// length is a duration as Go writes it.
type length struct {
	min, max time.Duration
}

const durationPattern = `^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`

var isDuration = regexp.MustCompile(durationPattern)

// parsedDuration returns the duration that a text says; for any other text -1, which each check of a length refuses.
func (n *node) parsedDuration() time.Duration {
	// Go reads more than documents may have: signs, µs and ns.
	if n == nil || !isDuration.MatchString(n.plainText) {
		return -1
	}
	d, err := time.ParseDuration(n.plainText)
	// It is out of range.
	if err != nil {
		return -1
	}
	return d
}

// takesNode takes numbers, too: the problem of one is that its unit is missing, which the error says.
func (s length) takesNode(n *node) bool { return n.kind == isText || n.kind == isNumber }

func (s length) checkNode(r *report, n *node) bool {
	if d := n.parsedDuration(); n.kind != isText || d < s.min || d > s.max {
		return r.addProblem(n, "%s is not allowed: it must be %s", n.textShown(), s.describeAllowed())
	}
	return true
}

func (s length) describeAllowed() string {
	return fmt.Sprintf("a duration from %s to %s, with its unit ms, s, m or h", briefDuration(s.min),
		briefDuration(s.max))
}

func (s length) jsonSchema() schema {
	// JSON Schema cannot compare durations: the bounds are in the description alone.
	return schema{"type": "string", "pattern": durationPattern, "description": capitalize(s.describeAllowed())}
}

// briefDuration formats a duration without units that are zero: 10m, not 10m0s.
func briefDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// truth is true or false.
type truth struct{}

func (truth) takesNode(n *node) bool { return n.kind == isFlag }

func (truth) checkNode(r *report, n *node) bool {
	if n.kind != isFlag {
		return r.addProblem(n, "%s is not allowed: it must be true or false", n.textShown())
	}
	return true
}

func (truth) describeAllowed() string { return "true or false" }

func (truth) jsonSchema() schema { return schema{"type": "boolean"} }

// either is one of several shapes, of which at most one takes a value.
type either []shape

func (s either) takesNode(n *node) bool {
	return slices.ContainsFunc(s, func(one shape) bool { return one.takesNode(n) })
}

func (s either) checkNode(r *report, n *node) bool {
	i := slices.IndexFunc(s, func(one shape) bool { return one.takesNode(n) })
	// Problems within lists and mappings are reported where they are. A single value is tried on a report of its own
	// first: the message of one alternative would hide the others.
	if i >= 0 && (n.kind == isList || n.kind == isObject || s[i].checkNode(&report{isStored: r.isStored}, n)) {
		return s[i].checkNode(r, n)
	}
	if i >= 0 {
		_, isWords := s[i].(words)   // whose problem names the word that was meant
		_, isNumber := s[i].(number) // whose problem says that the digits do not fit
		if isWords || isNumber && n.isRounded() && !r.isStored {
			return s[i].checkNode(r, n)
		}
	}
	return r.addProblem(n, "%s is not allowed: it must be %s", n.textShown(), s.describeAllowed())
}

func (s either) describeAllowed() string {
	each := make([]string, len(s))
	for i, one := range s {
		each[i] = one.describeAllowed()
	}
	return strings.Join(each, ", or ")
}

func (s either) jsonSchema() schema {
	each := make([]schema, len(s))
	for i, one := range s {
		each[i] = one.jsonSchema()
	}
	return schema{"anyOf": each}
}

// labelText is text without control characters.
func labelText(most int) text {
	return text{
		allowedPattern: regexp.MustCompile(fmt.Sprintf(`^[^\x00-\x1F\x7F]{1,%d}$`, most)),
		what:           fmt.Sprintf("text of 1 to %d characters without control characters", most),
	}
}

// literal is one word. Beside text, it takes no other value.
type literal string

func (s literal) takesNode(n *node) bool {
	return n != nil && n.kind == isText && n.plainText == string(s)
}

func (s literal) checkNode(r *report, n *node) bool {
	return s.takesNode(n) || r.addProblem(n, "%s is not allowed: it must be %s", n.textShown(), s.describeAllowed())
}

func (s literal) describeAllowed() string { return string(s) }

func (s literal) jsonSchema() schema { return schema{"const": string(s)} }
