package lobby

import (
	"bytes"
	"strings"
)

// pathEscapes are those of JSON Pointer, RFC 6901.
var pathEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// Diff returns the changes by top-level key that turn one state into another, sorted by key; nil if there are none.
// Values are compared by their bytes. A path has exactly one segment, since clients of Nexis end their process on any
// other; so Diff leaves out an empty key, which no valid state has.
func Diff(before, after State) []Op {
	var ops []Op
	for _, key := range changedKeys(before, after) {
		if key == "" {
			continue
		}
		op := Op{Op: "del", Path: pointerPath(key)}
		if value, isKept := after[key]; isKept {
			op.Op, op.Value = "set", value
		}
		ops = append(ops, op)
	}
	return ops
}

func pointerPath(key string) string {
	return "/" + pathEscapes.Replace(key)
}

// changedKeys returns the keys that are new, gone, or have another value.
func changedKeys(before, after State) []string {
	differs := State{}
	for key, value := range after {
		if old, was := before[key]; !was || !bytes.Equal(old, value) {
			differs[key] = nil
		}
	}
	for key := range before {
		if _, is := after[key]; !is {
			differs[key] = nil
		}
	}
	return differs.sortedKeys()
}
