package realtimetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// checksum returns the checksum of a state as the SDK computes it in en-US; foreign: in a locale that orders keys
// backwards. Keys have to be printable ASCII where an object has several.
func checksum(state map[string]any, foreign bool) string {
	var out bytes.Buffer
	writeCanonical(&out, state, foreign)
	digest := sha256.Sum256(out.Bytes())
	return hex.EncodeToString(digest[:])
}

func writeCanonical(out *bytes.Buffer, v any, foreign bool) {
	switch v := v.(type) {
	case map[string]any:
		writeObject(out, v, foreign)
	case []any:
		out.WriteByte('[')
		for i, element := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			writeCanonical(out, element, foreign)
		}
		out.WriteByte(']')
	case string:
		writeString(out, v)
	case float64:
		if v == 0 {
			v = 0 // -0
		}
		text, _ := json.Marshal(v) // which formats numbers as ECMAScript does
		out.Write(text)
	default:
		fmt.Fprint(out, map[any]string{nil: "null", true: "true", false: "false"}[v])
	}
}

func writeObject(out *bytes.Buffer, object map[string]any, foreign bool) {
	keys := slices.SortedFunc(maps.Keys(object), func(a, b string) int {
		if ia, ib := arrayIndex(a), arrayIndex(b); ia >= 0 || ib >= 0 {
			return compareIndex(ia, ib)
		}
		if foreign {
			return collate(b, a)
		}
		return collate(a, b)
	})
	out.WriteByte('{')
	first := true
	for _, key := range keys {
		if key == "__proto__" {
			continue
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		writeString(out, key)
		out.WriteByte(':')
		writeCanonical(out, object[key], foreign)
	}
	out.WriteByte('}')
}

// arrayIndex returns the number of a key that is an array index, else -1. Such keys come first in an object.
func arrayIndex(key string) int64 {
	n, err := strconv.ParseInt(key, 10, 64)
	if err != nil || n < 0 || n >= math.MaxUint32 || strconv.FormatInt(n, 10) != key {
		return -1
	}
	return n
}

func compareIndex(a, b int64) int {
	switch {
	case a < 0:
		return 1
	case b < 0:
		return -1
	}
	return int(a - b)
}

// ascii is the order of en-US for what is printable and no letter.
const ascii = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789"

// collate compares as localeCompare does in en-US.
func collate(a, b string) int {
	for i := range min(len(a), len(b)) {
		if d := weight(a[i]) - weight(b[i]); d != 0 {
			return d
		}
	}
	if d := len(a) - len(b); d != 0 {
		return d
	}
	return -strings.Compare(a, b) // lower case first
}

func weight(c byte) int {
	if i := strings.IndexByte(ascii, c); i >= 0 {
		return i
	}
	return len(ascii) + int(c|0x20)
}

func writeString(out *bytes.Buffer, s string) {
	short := map[rune]string{'\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '"': `\"`, '\\': `\\`}
	out.WriteByte('"')
	for _, r := range s {
		switch escape, has := short[r]; {
		case has:
			out.WriteString(escape)
		case r < 0x20:
			fmt.Fprintf(out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
}
