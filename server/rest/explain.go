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

// explainDecoding turns an error of encoding/json into a problem that names the field.
func explainDecoding(body []byte, into any, err error) error {
	var syntax *json.SyntaxError
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return notJSON("the body is not valid JSON: " + syntax.Error())
	case errors.As(err, &wrongType):
		return fieldProblem(pathAt(body, wrongType.Offset), expectedJSON(wrongType.Type))
	default:
		return fieldProblem(malformedField(body, into), "is malformed")
	}
}

// expectedJSON describes the JSON values that decode into a Go type.
func expectedJSON(t reflect.Type) string {
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

// malformedField finds the top-level field whose own UnmarshalText or UnmarshalJSON failed (a UUID, a time). Such
// errors hold no position, so it decodes each field alone.
func malformedField(body []byte, into any) string {
	var fields map[string]json.RawMessage
	// If the body is no object, no field can be named.
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

// checkStrings refuses strings that Postgres or Go cannot store unchanged: U+0000, which Postgres text cannot hold, and
// unpaired surrogates, which encoding/json replaces with U+FFFD, so that two different ids become equal. In valid UTF-8
// both need a \u escape.
func checkStrings(body []byte) error {
	if !bytes.Contains(body, []byte(`\u`)) {
		return nil
	}
	for cur := newCursor(body); ; {
		token, err := cur.nextToken()
		if err != nil {
			return nil //nolint:nilerr // The end, or a syntax error, which json.Unmarshal reports better.
		}
		text, ok := token.(string)
		if !ok {
			continue
		}
		if strings.ContainsRune(text, 0) {
			return fieldProblem(cur.currentPath(), "must not contain the character U+0000")
		}
		if hasLoneSurrogate(cur.rawToken()) {
			return fieldProblem(cur.currentPath(), "must not contain half of a surrogate pair")
		}
	}
}

// hasLoneSurrogate reports whether the source text of a JSON string has an unpaired \uD800–\uDFFF escape (RFC 8259 section
// 8.2).
func hasLoneSurrogate(raw []byte) bool {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		switch {
		case isSurrogate(raw[i:], "89abAB") && isSurrogate(raw[i+6:], "cdefCDEF"):
			i += 11 // to the last byte of a pair, which has 12
		case isSurrogate(raw[i:], "89abAB"), isSurrogate(raw[i:], "cdefCDEF"):
			return true
		default:
			i++ // to the character that is escaped, which may be a backslash
		}
	}
	return false
}

// isSurrogate reports whether raw starts with \uDx.. where x is one of the given digits.
func isSurrogate(raw []byte, digits string) bool {
	return len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' && (raw[2] == 'd' || raw[2] == 'D') &&
		strings.IndexByte(digits, raw[3]) >= 0
}
