package match

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// The bounds of a value.
const (
	maxText = 1024 // bytes of a text
	maxList = 64   // entries of a list
)

// ParseValue reads the value of an attribute from JSON: a number that float64 holds exactly enough, a text of at most
// 1,024 bytes without control characters, or a list of at most 64 such texts. null is the zero Value. problem completes
// a sentence that begins with the name of the value, "must be …"; "": the value is allowed.
func ParseValue(raw []byte) (v Value, problem string) {
	raw = bytes.TrimSpace(raw)
	// Most values are numbers, for which a decoder would cost as much as all else that is done with one.
	if isNumber(raw) {
		number, problem := ParseNumber(string(raw))
		return Value{Kind: Number, Number: number}, problem
	}
	from := json.NewDecoder(bytes.NewReader(raw))
	from.UseNumber() // so that no number is rounded before it is checked
	var value any
	if err := from.Decode(&value); err != nil {
		return v, "must be JSON"
	}
	return valueOf(value)
}

// isNumber reports whether a text is one number of JSON.
func isNumber(raw []byte) bool {
	return len(raw) > 0 && (raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9') && json.Valid(raw)
}

// ParseAttribute is [ParseValue] for the value of an attribute of a player or a ticket with this name.
func ParseAttribute(name string, raw []byte) (v Value, problem string) {
	v, problem = ParseValue(raw)
	if problem == "" && v.Kind == List && name == profileTag {
		problem = "must not be a list: tags of that name are those of profiles"
	}
	return v, problem
}

// profileTag begins the tags of a ticket that name its profiles.
const profileTag = "profile"

// valueOf converts a value that a decoder has read.
func valueOf(value any) (v Value, problem string) {
	switch value := value.(type) {
	case nil:
		return v, ""
	case json.Number:
		number, problem := ParseNumber(value.String())
		return Value{Kind: Number, Number: number}, problem
	case string:
		return Value{Kind: Text, Text: value}, textProblem(value)
	case []any:
		return listOf(value)
	default:
		return v, "must be a number, a text or a list of texts"
	}
}

func listOf(entries []any) (v Value, problem string) {
	v = Value{Kind: List, List: make([]string, 0, len(entries))}
	if len(entries) > maxList {
		return v, fmt.Sprintf("must have 0 to %d entries", maxList)
	}
	for _, entry := range entries {
		text, ok := entry.(string)
		if !ok {
			return v, "must be a list of texts"
		}
		if problem := textProblem(text); problem != "" {
			return v, problem
		}
		v.List = append(v.List, text)
	}
	return v, ""
}

// textProblem returns why a text is not allowed; "": it is.
func textProblem(text string) string {
	// The decoder has put the replacement character in place of bytes that are not UTF-8.
	isRefused := func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }
	if len(text) > maxText || strings.ContainsFunc(text, isRefused) {
		return fmt.Sprintf("must be at most %d bytes of UTF-8 without control characters", maxText)
	}
	return ""
}

// ValueOf returns the value that [Value.Plain] has made of a value, also after it was JSON; the zero Value for another.
func ValueOf(plain any) Value {
	switch plain := plain.(type) {
	case float64:
		return Value{Kind: Number, Number: plain}
	case string:
		return Value{Kind: Text, Text: plain}
	case []string:
		return Value{Kind: List, List: plain}
	case []any:
		list := Value{Kind: List}
		for _, text := range plain {
			if text, ok := text.(string); ok {
				list.List = append(list.List, text)
			}
		}
		return list
	}
	return Value{}
}

// Bytes counts the bytes of a value's texts, and 8 for a number.
func (v Value) Bytes() int {
	n := len(v.Text)
	for _, text := range v.List {
		n += len(text)
	}
	if v.Kind == Number {
		n += 8
	}
	return n
}
