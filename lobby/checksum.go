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
	text, kind := s.canonical()
	if kind == ChecksumNone {
		return "", kind
	}
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:]), kind
}

// canonical returns the JSON of which clients make the checksum: JSON.stringify of a copy of the state into which the
// keys were inserted as localeCompare orders them.
func (s State) canonical() ([]byte, ChecksumKind) {
	object := make(map[string]any, len(s))
	for key, raw := range s {
		value, err := esjson.Parse(raw)
		if err != nil {
			return nil, ChecksumNone
		}
		object[key] = value
	}
	var c canonicalJSON
	c.object(object)
	return c.text, c.kind
}

// canonicalJSON is canonical JSON as it is written. Its kind is the worst of what it has written.
type canonicalJSON struct {
	text []byte
	kind ChecksumKind
}

func (c *canonicalJSON) value(value any) {
	switch v := value.(type) {
	case map[string]any:
		c.object(v)
	case []any:
		c.array(v)
	default:
		c.text = esjson.Append(c.text, v)
	}
}

func (c *canonicalJSON) array(values []any) {
	c.text = append(c.text, '[')
	for i, v := range values {
		if i > 0 {
			c.text = append(c.text, ',')
		}
		c.value(v)
	}
	c.text = append(c.text, ']')
}

func (c *canonicalJSON) object(object map[string]any) {
	c.text = append(c.text, '{')
	for i, key := range c.order(object) {
		if i > 0 {
			c.text = append(c.text, ',')
		}
		c.text = append(esjson.AppendString(c.text, key), ':')
		c.value(object[key])
	}
	c.text = append(c.text, '}')
}

// order returns the keys as JavaScript's objects order them: array indexes by number, then the others as they were
// inserted, which is by localeCompare. Inserting __proto__ sets the prototype of the copy instead of a key.
func (c *canonicalJSON) order(object map[string]any) []string {
	var indexes []uint32
	var names []string
	for key := range object {
		if index, is := arrayIndex(key); is {
			indexes = append(indexes, index)
			continue
		}
		if key == "__proto__" {
			c.kind = max(c.kind, ChecksumLocal) // its msgpack decoder renames the key
			continue
		}
		names = append(names, key)
	}
	c.judge(names)
	slices.Sort(indexes)
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(compareKeys(a, b), cmp.Compare(a, b)) })
	keys := make([]string, 0, len(object))
	for _, index := range indexes {
		keys = append(keys, strconv.FormatUint(uint64(index), 10))
	}
	return append(keys, names...)
}

// judge lowers the kind to that of an object with these keys: up to one key has the same place in each locale.
func (c *canonicalJSON) judge(names []string) {
	if len(names) <= 1 {
		return
	}
	c.kind = max(c.kind, ChecksumLocal)
	if slices.ContainsFunc(names, func(key string) bool { return !printable(key) }) {
		c.kind = ChecksumNone
	}
}

// arrayIndex returns the array index that a key is: a canonical decimal from 0 to 4294967294.
func arrayIndex(key string) (uint32, bool) {
	if key == "" || len(key) > len("4294967294") || (key[0] == '0' && key != "0") || key[0] < '0' || key[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseUint(key, 10, 32)
	return uint32(n), err == nil && n < 1<<32-1
}
