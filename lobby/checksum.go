package lobby

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/lattice-director/director/lobby/esjson"
)

// ChecksumKind says which clients compute the same checksum of a state. Clients order its keys by their own locale.
type ChecksumKind int

// The kinds of a checksum.
const (
	ChecksumSafe  ChecksumKind = iota // all clients
	ChecksumLocal                     // clients whose locale orders printable ASCII as en-US does
	ChecksumNone                      // unknown: there is no checksum
)

// Checksum returns the checksum that the clients of Nexis compute: lower-case hex of the SHA-256 of the canonical JSON.
// It is empty for ChecksumNone.
func (s State) Checksum() (sum string, kind ChecksumKind) {
	text, kind := s.canonicalText()
	if kind == ChecksumNone {
		return "", kind
	}
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:]), kind
}

// canonicalText returns the JSON of which clients make the checksum: JSON.stringify of a copy of the state into which
// the keys were inserted as localeCompare orders them.
func (s State) canonicalText() ([]byte, ChecksumKind) {
	object := make(map[string]any, len(s))
	for key, raw := range s {
		value, err := esjson.ParseText(raw)
		if err != nil {
			return nil, ChecksumNone
		}
		object[key] = value
	}
	var c canonicalJSON
	c.writeObject(object)
	return c.written, c.worstKind
}

// canonicalJSON is canonical JSON as it is written. Its kind is the worst of what it has written.
type canonicalJSON struct {
	written   []byte
	worstKind ChecksumKind
}

func (c *canonicalJSON) writeValue(value any) {
	switch v := value.(type) {
	case map[string]any:
		c.writeObject(v)
	case []any:
		c.writeArray(v)
	default:
		c.written = esjson.Append(c.written, v)
	}
}

func (c *canonicalJSON) writeArray(values []any) {
	c.written = append(c.written, '[')
	for i, v := range values {
		if i > 0 {
			c.written = append(c.written, ',')
		}
		c.writeValue(v)
	}
	c.written = append(c.written, ']')
}

func (c *canonicalJSON) writeObject(object map[string]any) {
	c.written = append(c.written, '{')
	for i, key := range c.orderKeys(object) {
		if i > 0 {
			c.written = append(c.written, ',')
		}
		c.written = append(esjson.AppendString(c.written, key), ':')
		c.writeValue(object[key])
	}
	c.written = append(c.written, '}')
}

// orderKeys returns the keys as JavaScript's objects order them: array indexes by number, then the others as they were
// inserted, which is by localeCompare. It leaves out __proto__: inserting that sets the prototype of the copy. Where
// clients differ in the order, it worsens the kind.
func (c *canonicalJSON) orderKeys(object map[string]any) []string {
	var indexes []uint32
	var names []string
	for key := range object {
		if index, is := arrayIndex(key); is {
			indexes = append(indexes, index)
			continue
		}
		if key == "__proto__" {
			c.worstKind = max(c.worstKind, ChecksumLocal) // the clients' msgpack decoder renames the key
			continue
		}
		names = append(names, key)
	}
	c.worsenKind(names)
	slices.Sort(indexes)
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(compareKeys(a, b), cmp.Compare(a, b)) })
	keys := make([]string, 0, len(object))
	for _, index := range indexes {
		keys = append(keys, strconv.FormatUint(uint64(index), 10))
	}
	return append(keys, names...)
}

// worsenKind worsens the kind to that of an object with these keys. A single key has the same place in each locale.
func (c *canonicalJSON) worsenKind(names []string) {
	if len(names) <= 1 {
		return
	}
	c.worstKind = max(c.worstKind, ChecksumLocal)
	// localeCompare orders letters beyond ASCII differently in each locale.
	if slices.ContainsFunc(names, func(key string) bool { return !isPrintable(key) }) {
		c.worstKind = ChecksumNone
	}
}

// arrayIndex returns the array index that a key is: a canonical decimal from 0 to 4294967294.
func arrayIndex(key string) (uint32, bool) {
	// Before it is parsed: "007" is a number, but a name in JavaScript.
	if key == "" || len(key) > len("4294967294") || (key[0] == '0' && key != "0") || key[0] < '0' || key[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseUint(key, 10, 32)
	return uint32(n), err == nil && n < 1<<32-1
}
