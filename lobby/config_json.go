package lobby

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// entry is a key of an object with its value.
type entry struct {
	key      string
	rawValue json.RawMessage
}

// readObject reads the keys of an object in their order. A key that occurs twice is an error: the second would hide the
// first.
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
