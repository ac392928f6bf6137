package lobby

import (
	"encoding/json"
	"strings"
	"unicode"
)

// Options are the options with which a client joins or makes a room. A type ignores options that it does not know.
type Options map[string]json.RawMessage

// fields are the fields of a client's object, by names with underscores; clients may write camelCase instead.
type fields struct {
	values map[string]json.RawMessage
	prefix string // put before the name of a field in an error, such as options.
}

func (o Options) fieldsOf() fields { return fields{values: o, prefix: "options."} }

// readFields reads an object; null and empty text are an empty object.
func readFields(field string, raw json.RawMessage) (fields, error) {
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

// textField returns a string of at most maxBytes, "" if it is absent.
func (f fields) textField(name string, maxBytes int) (string, error) {
	raw := f.rawField(name)
	var s string
	if raw != nil && (json.Unmarshal(raw, &s) != nil || !isShortText(s, maxBytes)) {
		return "", Invalid(f.prefix+name, "must be a string of at most %d bytes without control characters", maxBytes)
	}
	return s, nil
}

// isShortText reports whether a text has at most maxBytes, and no control characters.
func isShortText(s string, maxBytes int) bool {
	return len(s) <= maxBytes && !strings.ContainsFunc(s, unicode.IsControl)
}

// displayName returns the field name, by which others know a member; "" if it is absent. It refuses invisible
// characters, with which two different names could look the same.
func (f fields) displayName() (string, error) {
	s, err := f.textField("name", maxName)
	if err == nil && hasHidden(s) {
		return "", Invalid(f.prefix+"name",
			"must have no invisible characters, and none that change the direction of writing")
	}
	return s, err
}

// hasHidden reports whether a text has invisible characters. The joiner and the non-joiner are allowed between two
// characters beyond Latin-1: some scripts and emojis need them.
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

// flagField returns true or false; the value of absent if there is no such field.
func (f fields) flagField(name string, absent bool) (bool, error) {
	raw, value := f.rawField(name), absent
	if raw != nil && json.Unmarshal(raw, &value) != nil {
		return false, Invalid(f.prefix+name, "must be true or false")
	}
	return value, nil
}

// wholeNumber returns a whole number from 1 to the bound to; absent if there is no such field.
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
	maxName   = 64  // bytes of a display name
	maxPlayer = 255 // bytes of a player's id
)
