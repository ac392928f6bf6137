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
	// check reports what is wrong with a value. It returns whether nothing is.
	check(r *report, n *node) bool
	// takes reports whether the shape is meant by a value, right or wrong. It chooses between alternatives.
	takes(n *node) bool
	// description says what is, for errors and the reference: "a number of 0 or more".
	description() string
	// schema returns the JSON Schema.
	schema() schema
}

// schema is a JSON Schema, or a part of one.
type schema map[string]any

// number is a finite number, or a whole one.
type number struct {
	min, max float64
	whole    bool
}

const (
	lowest  = -math.MaxFloat64
	highest = math.MaxFloat64
)

func (s number) takes(n *node) bool { return n.kind == isNumber }

func (s number) check(r *report, n *node) bool {
	x := n.number
	if n.kind != isNumber || math.IsNaN(x) || math.IsInf(x, 0) || x < s.min || x > s.max ||
		s.whole && x != math.Trunc(x) {
		return r.add(n, "%s is not allowed: it must be %s", n.textShown(), s.description())
	}
	// The digits do not fit into a float64: a number that the author did not write would count.
	if n.rounded() && !r.isStored {
		_, problem := match.ParseNumber(n.text)
		return r.add(n, "%s is not allowed: it %s", n.textShown(), problem)
	}
	return true
}

// rounded reports whether a number cannot be kept as it is written.
func (n *node) rounded() bool {
	_, problem := match.ParseNumber(n.text)
	return n.kind == isNumber && problem != ""
}

func (s number) description() string {
	what := "a number"
	if s.whole {
		what = "a whole number"
	}
	switch {
	case s.min == lowest && s.max == highest:
		return what
	case s.max == highest:
		return what + " of " + shortest(s.min) + " or more"
	}
	return what + " from " + shortest(s.min) + " to " + shortest(s.max)
}

func shortest(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func (s number) schema() schema {
	out := schema{"type": "number"}
	if s.whole {
		out["type"] = "integer"
	}
	if s.min != lowest {
		out["minimum"] = s.min
	}
	if s.max != highest {
		out["maximum"] = s.max
	}
	return out
}

// text is text that matches a pattern.
type text struct {
	pattern *regexp.Regexp // in the syntax that Go and ECMAScript share
	what    string         // such as "a name of 1 to 64 lowercase letters, digits and hyphens"
}

func (s text) takes(n *node) bool { return n.kind == isText }

func (s text) check(r *report, n *node) bool {
	if n.kind != isText || !s.pattern.MatchString(n.text) {
		return r.add(n, "%s is not allowed: it must be %s", n.textShown(), s.what)
	}
	return true
}

func (s text) description() string { return s.what }

func (s text) schema() schema {
	return schema{"type": "string", "pattern": s.pattern.String(), "description": capital(s.what)}
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// words is one of some words.
type words []string

func (s words) takes(n *node) bool { return n.kind == isText }

func (s words) check(r *report, n *node) bool {
	if n.kind == isText && slices.Contains(s, n.text) {
		return true
	}
	if n.kind == isText {
		if near := nearestTo(n.text, s); near != "" {
			return r.add(n, "%s is not allowed: it must be %s; did you mean %s?", n.textShown(), s.description(), near)
		}
	}
	return r.add(n, "%s is not allowed: it must be %s", n.textShown(), s.description())
}

func (s words) description() string { return oneOf(s) }

func (s words) schema() schema { return schema{"enum": []string(s)} }

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

// duration returns the duration that a text of the shape says.
func (n *node) duration() time.Duration {
	if n == nil || !isDuration.MatchString(n.text) {
		return -1
	}
	d, err := time.ParseDuration(n.text)
	if err != nil {
		return -1 // out of range
	}
	return d
}

func (s length) takes(n *node) bool { return n.kind == isText || n.kind == isNumber }

func (s length) check(r *report, n *node) bool {
	if d := n.duration(); n.kind != isText || d < s.min || d > s.max {
		return r.add(n, "%s is not allowed: it must be %s", n.textShown(), s.description())
	}
	return true
}

func (s length) description() string {
	return fmt.Sprintf("a duration from %s to %s, with its unit ms, s, m or h", brief(s.min), brief(s.max))
}

func (s length) schema() schema {
	return schema{"type": "string", "pattern": durationPattern, "description": capital(s.description())}
}

// brief formats a duration without units that are zero: 10m, not 10m0s.
func brief(d time.Duration) string {
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

func (truth) takes(n *node) bool { return n.kind == isFlag }

func (truth) check(r *report, n *node) bool {
	if n.kind != isFlag {
		return r.add(n, "%s is not allowed: it must be true or false", n.textShown())
	}
	return true
}

func (truth) description() string { return "true or false" }

func (truth) schema() schema { return schema{"type": "boolean"} }

// either is one of several shapes, of which at most one takes a value.
type either []shape

func (s either) takes(n *node) bool {
	return slices.ContainsFunc(s, func(one shape) bool { return one.takes(n) })
}

func (s either) check(r *report, n *node) bool {
	i := slices.IndexFunc(s, func(one shape) bool { return one.takes(n) })
	// Problems within lists and mappings are reported where they are. A single value is tried on a report of its own
	// first: the message of one alternative would hide the others.
	if i >= 0 && (n.kind == isList || n.kind == isObject || s[i].check(&report{isStored: r.isStored}, n)) {
		return s[i].check(r, n)
	}
	if i >= 0 {
		_, isWords := s[i].(words) // it knows which word was meant
		_, isNumber := s[i].(number)
		if isWords || isNumber && n.rounded() && !r.isStored {
			return s[i].check(r, n)
		}
	}
	return r.add(n, "%s is not allowed: it must be %s", n.textShown(), s.description())
}

func (s either) description() string {
	each := make([]string, len(s))
	for i, one := range s {
		each[i] = one.description()
	}
	return strings.Join(each, ", or ")
}

func (s either) schema() schema {
	each := make([]schema, len(s))
	for i, one := range s {
		each[i] = one.schema()
	}
	return schema{"anyOf": each}
}

// value is what an attribute of a player may be.
var value = either{number{lowest, highest, false}, label(256), list{element: label(256), max: 64}}

// label is text without control characters.
func label(most int) text {
	return text{
		pattern: regexp.MustCompile(fmt.Sprintf(`^[^\x00-\x1F\x7F]{1,%d}$`, most)),
		what:    fmt.Sprintf("text of 1 to %d characters without control characters", most),
	}
}

// literal is one word. Beside text, it takes no other value.
type literal string

func (s literal) takes(n *node) bool { return n != nil && n.kind == isText && n.text == string(s) }

func (s literal) check(r *report, n *node) bool {
	return s.takes(n) || r.add(n, "%s is not allowed: it must be %s", n.textShown(), s.description())
}

func (s literal) description() string { return string(s) }

func (s literal) schema() schema { return schema{"const": string(s)} }
