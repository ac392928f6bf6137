package lobby

import (
	"encoding/json"
	"math"

	"github.com/lattice-director/director/lobby/esjson"
)

// encodeJSON encodes what this package makes: values that encoding/json accepts. Equal values have equal bytes.
func encodeJSON(value any) json.RawMessage {
	raw, is := value.(json.RawMessage)
	if !is {
		raw = esjson.Encode(value)
	}
	// Decoded and encoded again, because raw JSON may have its keys in any order: equal states must not differ in
	// bytes, or clients would be sent a patch without a change.
	decoded, _ := esjson.ParseText(raw)
	return esjson.Append(nil, decoded)
}

// cleanJSON decodes what a client sent and encodes it as [encodeJSON] does: numbers are those of JavaScript, lone
// surrogates are U+FFFD, and no key appears twice. Empty text becomes null.
func cleanJSON(field string, raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return json.RawMessage("null"), nil
	}
	value, err := esjson.ParseText(raw)
	if err != nil {
		return nil, Invalid(field, "must be JSON")
	}
	return esjson.Append(nil, value), nil
}

// wholeNumberOf reads a whole number of the range from ≤ n ≤ to. It refuses null, which json.Unmarshal would leave as
// 0.
func wholeNumberOf(raw json.RawMessage, from, to int) (n int, ok bool) {
	var value *float64
	// By way of a float64, since 16.0 and 1e1 are whole numbers in JSON, too.
	if json.Unmarshal(raw, &value) != nil || value == nil || *value != math.Trunc(*value) ||
		*value < float64(from) || *value > float64(to) {
		return 0, false
	}
	return int(*value), true
}

// unquotedString returns the string that JSON text encodes, or "" for any other value.
func unquotedString(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

// maxSafe is JavaScript's Number.MAX_SAFE_INTEGER: larger whole numbers are rounded.
const maxSafe = 1<<53 - 1
