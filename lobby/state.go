package lobby

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lattice-director/director/lobby/esjson"
)

// ParseState reads a state from JSON: an object without an empty key. Its values are rewritten as [esjson] writes them,
// so that equal values have equal bytes.
func ParseState(b []byte) (State, error) {
	value, err := esjson.ParseText(b)
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	object, is := value.(map[string]any)
	if !is {
		return nil, errors.New("state: not an object")
	}
	state := make(State, len(object))
	for key, v := range object {
		if key == "" {
			return nil, errors.New("state: empty key")
		}
		state[key] = esjson.Append(nil, v)
	}
	return state, nil
}

// JSON returns the state as a JSON object, keys sorted bytewise.
func (s State) JSON() []byte {
	return esjson.AppendObject(make([]byte, 0, s.JSONBytes()), s)
}

// JSONBytes returns the length of JSON, which it does not build. No value may be empty.
func (s State) JSONBytes() int {
	size := len(`{}`) + max(0, len(s)-1) // commas
	var quoted []byte
	for key, value := range s {
		quoted = esjson.AppendString(quoted[:0], key)
		size += len(quoted) + len(`:`) + len(value)
	}
	return size
}

// Clone returns a copy whose keys may be set and deleted. It shares the values with s: nobody changes the bytes of a
// value.
func (s State) Clone() State {
	// maps.Clone keeps nil, in which no key can be set.
	if s == nil {
		return State{}
	}
	return maps.Clone(s)
}

// sortedKeys returns the keys, sorted bytewise.
func (s State) sortedKeys() []string {
	return slices.Sorted(maps.Keys(s))
}
