package token

import (
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// member is the destination of one member of a JSON object. readValue parses the member's JSON text. It returns
// false for a wrong type, and for a member that was read before: parsers disagree on which of two members with one name
// counts, so the object is refused.
type member interface{ readValue(json string) bool }

// readObject reads the members of a JSON object for which want returns a destination; want returns nil for the others.
// Names are compared exactly, whereas encoding/json would accept "SUB" for "sub".
func readObject(raw []byte, want func(name string) member) error {
	if !utf8.Valid(raw) || !json.Valid(raw) {
		return Malformed
	}
	text := string(raw)
	if text[skipSpace(text, 0)] != '{' {
		return Malformed
	}
	for name, value := range objectMembers(text) {
		if m := want(name); m != nil && !m.readValue(value) {
			return BadClaim
		}
	}
	return nil
}

// objectMembers yields the name and JSON text of each member of a JSON object. The text must be valid JSON, which makes
// bounds checks unnecessary.
func objectMembers(object string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		i := skipSpace(object, skipSpace(object, 0)+1)
		for object[i] != '}' {
			nameEnd := stringEnd(object, i)
			start := skipSpace(object, skipSpace(object, nameEnd)+1)
			end := valueEnd(object, start)
			name, _ := unquoteString(object[i:nameEnd])
			if !yield(name, object[start:end]) {
				return
			}
			if i = skipSpace(object, end); object[i] == ',' {
				i = skipSpace(object, i+1)
			}
		}
	}
}

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\r' || s[i] == '\n') {
		i++
	}
	return i
}

func stringEnd(s string, i int) int {
	for i++; s[i] != '"'; i++ {
		if s[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func valueEnd(s string, i int) int {
	switch s[i] {
	case '"':
		return stringEnd(s, i)
	case '{', '[':
		return nestedEnd(s, i)
	default:
		return i + strings.IndexAny(s[i:], ",} \t\r\n")
	}
}

func nestedEnd(s string, i int) int {
	for depth := 0; ; i++ {
		switch s[i] {
		case '"':
			i = stringEnd(s, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

func unquoteString(value string) (string, bool) {
	if value[0] != '"' {
		return "", false
	}
	if !strings.Contains(value, `\`) {
		return value[1 : len(value)-1], true
	}
	var s string
	err := json.Unmarshal([]byte(value), &s)
	return s, err == nil
}

// text is a string member.
type text struct {
	stringValue string
	isSet       bool
}

func (t *text) readValue(value string) (ok bool) {
	if t.isSet {
		return false
	}
	t.stringValue, t.isSet = unquoteString(value)
	return t.isSet
}

// count is an integer member that must not be negative.
type count struct {
	numberValue int
	isSet       bool
}

func (c *count) readValue(value string) bool {
	if c.isSet {
		return false
	}
	n, err := strconv.Atoi(value)
	c.numberValue, c.isSet = n, true
	return err == nil && n >= 0
}

// lastDate is the last second of the year 9999. RFC 3339 cannot express later times, nor can the JSON form of
// time.Time.
const lastDate = 253402300799

// date is a NumericDate (RFC 7519 section 2), truncated to whole seconds.
type date struct {
	unixSeconds int64
	isSet       bool
}

func (d *date) readValue(value string) bool {
	if d.isSet || (value[0] != '-' && (value[0] < '0' || value[0] > '9')) {
		return false
	}
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil || seconds < 0 || seconds > lastDate {
		return false
	}
	d.unixSeconds, d.isSet = int64(seconds), true
	return true
}

// audience is the aud claim: one string or a list of them (RFC 7519 section 4.1.3).
type audience struct {
	onlyOne   text
	severalOf []*string
	isSet     bool
}

func (a *audience) readValue(value string) bool {
	if a.isSet {
		return false
	}
	a.isSet = true
	if value[0] != '[' {
		return a.onlyOne.readValue(value)
	}
	return json.Unmarshal([]byte(value), &a.severalOf) == nil && !slices.Contains(a.severalOf, nil)
}

func (a *audience) holdsName(name string) bool {
	if a.onlyOne.isSet {
		return a.onlyOne.stringValue == name
	}
	return slices.ContainsFunc(a.severalOf, func(s *string) bool { return *s == name })
}

// refused is a member that must be absent.
type refused struct{}

func (refused) readValue(string) bool { return false }
