package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// explain turns what encoding/json says into a problem that names the field.
func explain(body []byte, into any, err error) error {
	var syntax *json.SyntaxError
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return notJSON("the body is not valid JSON: " + syntax.Error())
	case errors.As(err, &wrongType):
		return fieldProblem(pathAt(body, wrongType.Offset), wants(wrongType.Type))
	default:
		return fieldProblem(culprit(body, into), "is malformed")
	}
}

// wants says what JSON a Go type is read from.
func wants(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "must be a string"
	case reflect.Bool:
		return "must be true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "must be a whole number of reasonable size"
	case reflect.Float32, reflect.Float64:
		return "must be a number of reasonable size"
	case reflect.Slice:
		return "must be a list"
	case reflect.Struct, reflect.Map:
		return "must be an object"
	default:
		return "has the wrong type"
	}
}

// culprit finds the top-level field that its own UnmarshalText or UnmarshalJSON refused (a UUID, a time): such errors do
// not say where they happened, so each field is tried alone.
func culprit(body []byte, into any) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		alone, err := json.Marshal(map[string]json.RawMessage{name: fields[name]})
		if err != nil {
			return ""
		}
		if json.Unmarshal(alone, reflect.New(reflect.TypeOf(into).Elem()).Interface()) != nil {
			return name
		}
	}
	return ""
}

// checkStrings refuses strings that Go or Postgres cannot hold as they are: U+0000, which Postgres text has no place
// for, and halves of surrogate pairs, which encoding/json would replace so that two different ids become the same one.
// Both can only be written as \u escapes.
func checkStrings(body []byte) error {
	if !bytes.Contains(body, []byte(`\u`)) {
		return nil
	}
	for cur := newCursor(body); ; {
		token, err := cur.next()
		if err != nil {
			return nil //nolint:nilerr // The end, or broken syntax: json.Unmarshal says it better.
		}
		text, ok := token.(string)
		switch {
		case !ok:
		case strings.ContainsRune(text, 0):
			return fieldProblem(cur.path(), "must not contain the character U+0000")
		case loneSurrogate(cur.raw()):
			return fieldProblem(cur.path(), "must not contain half of a surrogate pair")
		}
	}
}

// loneSurrogate tells whether a JSON string, as written, has a \uD800–\uDFFF escape without its other half (RFC 8259
// section 8.2).
func loneSurrogate(raw []byte) bool {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		switch {
		case isSurrogate(raw[i:], "89abAB") && isSurrogate(raw[i+6:], "cdefCDEF"):
			i += 11
		case isSurrogate(raw[i:], "89abAB"), isSurrogate(raw[i:], "cdefCDEF"):
			return true
		default:
			i++
		}
	}
	return false
}

// isSurrogate tells whether raw starts with \uDx.. where x is one of the given digits.
func isSurrogate(raw []byte, digits string) bool {
	return len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' && (raw[2] == 'd' || raw[2] == 'D') &&
		strings.IndexByte(digits, raw[3]) >= 0
}
