package lobby

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// wholeNumberOf reads a whole number from one to another. It refuses null, which json.Unmarshal would leave as 0.
func wholeNumberOf(raw json.RawMessage, from, to int) (n int, ok bool) {
	var value *float64
	// By way of a float64, since 16.0 and 1e1 are whole numbers in JSON, too.
	if json.Unmarshal(raw, &value) != nil || value == nil || *value != math.Trunc(*value) ||
		*value < float64(from) || *value > float64(to) {
		return 0, false
	}
	return int(*value), true
}

// unquotedString returns a string, or "" for another value.
func unquotedString(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

// entry is a key of an object with its value.
type entry struct {
	key      string
	rawValue json.RawMessage
}

// readObject reads the keys of an object in their order. A key that is there twice is an error: the second would hide
// the first.
func readObject(raw []byte) ([]entry, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil, errors.New("must be a JSON object")
	}
	var entries []entry
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("is not JSON: %w", err)
		}
		e := entry{key: key.(string)}
		if slices.ContainsFunc(entries, func(o entry) bool { return o.key == e.key }) {
			return nil, fmt.Errorf("has the key %q twice", e.key)
		}
		if err := d.Decode(&e.rawValue); err != nil {
			return nil, fmt.Errorf("is not JSON: %w", err)
		}
		entries = append(entries, e)
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("must be one JSON object, with nothing behind it")
	}
	return entries, nil
}
