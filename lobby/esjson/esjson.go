// Package esjson reads and writes JSON as JSON.parse and JSON.stringify of ECMAScript do, for checksums and messages
// that clients written in JavaScript compare. encoding/json alone differs: it escapes <, >, & and U+2028, keeps -0, and
// prints integers that no float64 holds. Two things differ from JSON.stringify: keys are sorted bytewise, and an int or
// int64 keeps all its digits.
//
// A value is nil, a bool, a float64, a string, a []any, or a map[string]any.
package esjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// ParseText reads one JSON text. Of equal keys the last counts; a lone surrogate is U+FFFD; a number that is larger
// than any float64 is nil, since JSON.stringify writes the Infinity that JSON.parse makes of it as null.
func ParseText(text []byte) (any, error) {
	var value any
	err := json.Unmarshal(text, &value)
	if outside := (*json.UnmarshalTypeError)(nil); errors.As(err, &outside) {
		err = nil // only a number has this error here; everything else has been read
	}
	return value, err
}

// Append appends the JSON of a value: compact, keys sorted bytewise. Besides the values of [ParseText], it accepts an
// int, an int64, a []string, and a json.RawMessage, which must be valid JSON and is copied as it is. Anything else is
// encoded by encoding/json first; what that refuses is null.
func Append(dst []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case float64:
		return AppendNumber(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case string:
		return AppendString(dst, v)
	case json.RawMessage:
		return appendRaw(dst, v)
	case []any:
		return appendArray(dst, v)
	case []string:
		return appendArray(dst, v)
	case map[string]any:
		return AppendObject(dst, v)
	}
	return append(dst, Encode(value)...)
}

// Encode returns the JSON that encoding/json makes of a value of any type, without escapes for HTML; null if there is
// none.
func Encode(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func appendRaw(dst []byte, raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return append(dst, "null"...)
	}
	return append(dst, raw...)
}

func appendArray[T any](dst []byte, values []T) []byte {
	dst = append(dst, '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = Append(dst, v)
	}
	return append(dst, ']')
}

// AppendObject appends the JSON of an object, keys sorted bytewise.
func AppendObject[M ~map[string]V, V any](dst []byte, object M) []byte {
	keys := make([]string, 0, len(object))
	for k := range object {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	dst = append(dst, '{')
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, k), ':')
		dst = Append(dst, object[k])
	}
	return append(dst, '}')
}

// AppendNumber appends a number as Number.prototype.toString writes it; NaN and the infinities are null.
func AppendNumber(dst []byte, n float64) []byte {
	switch size := math.Abs(n); {
	case math.IsNaN(n) || math.IsInf(n, 0):
		return append(dst, "null"...)
	case n == 0:
		return append(dst, '0') // -0, too
	// The bounds from which ECMA-262 writes an exponent.
	case size >= 1e21 || size < 1e-6:
		return appendExponent(dst, n)
	}
	return strconv.AppendFloat(dst, n, 'f', -1, 64)
}

// appendExponent appends a number with an exponent. Go writes at least two digits of it, ECMAScript as few as possible.
func appendExponent(dst []byte, n float64) []byte {
	dst = strconv.AppendFloat(dst, n, 'e', -1, 64)
	if last := len(dst) - 1; dst[last-1] == '0' && (dst[last-2] == '-' || dst[last-2] == '+') {
		dst[last-1] = dst[last]
		dst = dst[:last]
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// AppendString appends a string in quotes. Only quotes, backslashes and characters below U+0020 are escaped; invalid
// UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	plain := 0 // start of what needs no escape
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		// A U+FFFD that is in the text has three bytes, and is copied.
		if c < utf8.RuneSelf || (r == utf8.RuneError && size == 1) {
			dst = appendEscaped(append(dst, s[plain:i]...), r)
			plain = i + size
		}
		i += size
	}
	return append(append(dst, s[plain:]...), '"')
}

// appendEscaped appends a character that cannot stand in a string as it is: a control character, a quote, a backslash,
// or what was no UTF-8.
func appendEscaped(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case utf8.RuneError:
		return utf8.AppendRune(dst, utf8.RuneError)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&0xf])
}
