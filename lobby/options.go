package lobby

import (
	"encoding/json"
	"math"
	"strings"
	"unicode"
)

// Options are the options with which a client joins or makes a room. What a type does not know, it ignores.
type Options map[string]json.RawMessage

// fields are the fields of a client's object. Names have a form with underscores; clients may use camelCase instead.
type fields struct {
	values map[string]json.RawMessage
	prefix string // of the field that an error names
}

func (o Options) fieldsOf() fields { return fields{values: o, prefix: "options."} }

// fieldsOf reads an object; null, and nothing, is an empty one.
func fieldsOf(field string, raw json.RawMessage) (fields, error) {
	f := fields{}
	if len(raw) > 0 && json.Unmarshal(raw, &f.values) != nil {
		return f, Invalid(field, "must be an object")
	}
	return f, nil
}

// rawField returns a field, or nil if it is absent or null.
func (f fields) rawField(name string) json.RawMessage {
	raw, ok := f.values[name]
	if !ok {
		raw = f.values[camelCase(name)]
	}
	if string(raw) == "null" {
		return nil
	}
	return raw
}

func camelCase(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// textField returns a string of at most so many bytes, "" if it is absent.
func (f fields) textField(name string, maxBytes int) (string, error) {
	raw := f.rawField(name)
	var s string
	if raw != nil && (json.Unmarshal(raw, &s) != nil || len(s) > maxBytes ||
		strings.ContainsFunc(s, unicode.IsControl)) {
		return "", Invalid(f.prefix+name, "must be a string of at most %d bytes without control characters", maxBytes)
	}
	return s, nil
}

// displayName returns a text by which others know a member: "" if it is absent. What nobody sees in it could make it
// look like another one.
func (f fields) displayName() (string, error) {
	s, err := f.textField("name", maxName)
	if err == nil && hasHidden(s) {
		return "", Invalid(f.prefix+"name",
			"must have no invisible characters, and none that change the direction of writing")
	}
	return s, err
}

// hasHidden reports whether a text has characters without a shape. Those that join or part the letters of some
// languages, and emojis, may be between two of these.
func hasHidden(s string) bool {
	runes := []rune(s)
	for i, r := range runes {
		joins := (r == '\u200c' || r == '\u200d') && i > 0 && i+1 < len(runes) && runes[i-1] > unicode.MaxLatin1 &&
			runes[i+1] > unicode.MaxLatin1 && !unicode.Is(unicode.Cf, runes[i-1])
		if !joins && (unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)) {
			return true
		}
	}
	return false
}

// requiredText returns a string that must not be empty.
func (f fields) requiredText(name string, maxBytes int) (string, error) {
	s, err := f.textField(name, maxBytes)
	if err == nil && s == "" {
		return "", Invalid(f.prefix+name, "is required")
	}
	return s, err
}

// flagField returns true or false; absent has its own value.
func (f fields) flagField(name string, absent bool) (bool, error) {
	raw, value := f.rawField(name), absent
	if raw != nil && json.Unmarshal(raw, &value) != nil {
		return false, Invalid(f.prefix+name, "must be true or false")
	}
	return value, nil
}

// wholeNumber returns a whole number from 1 to another; absent has its own value.
func (f fields) wholeNumber(name string, to, absent int) (int, error) {
	raw := f.rawField(name)
	if raw == nil {
		return absent, nil
	}
	n, ok := wholeNumberOf(raw, 1, to)
	if !ok {
		return 0, Invalid(f.prefix+name, "must be a whole number from 1 to %d", to)
	}
	return n, nil
}

const (
	minMatch = 2 // players of a match
	maxMatch = 16
)

// ClampSize is the number of players of a match that a client asked for: a number is clamped to 2 to 16, and anything
// else is 2.
func ClampSize(asked any) int {
	n, ok := asked.(float64)
	// min and max return NaN as it is, and no int is like it.
	if !ok || math.IsNaN(n) {
		return minMatch
	}
	return int(min(max(n, minMatch), maxMatch))
}

const (
	maxName        = 64 // bytes
	maxPlayer      = 255
	maxSaid        = 4 << 10
	maxInvitations = 64 // that are open in one room
)
