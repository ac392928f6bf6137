package realtime

import (
	"encoding/json"
	"errors"

	"github.com/lattice-director/director/lobby/esjson"
)

// value is a decoded payload: nil, bool, float64, string, []any, or map[string]any. What is passed through, such as states and the data of
// messages, is a json.RawMessage.
type value = any

// Limits of a decoded frame, which both codecs check.
const (
	maxDepth    = 32 // of objects and arrays in each other; the frame itself is the first
	maxElements = 10_000
)

var (
	errTooDeep = errors.New("nested too deeply")
	errTooMany = errors.New("too many elements")
)

// maxPayload is how many bytes of compact JSON p may have.
const maxPayload = 65_536

// mostBytesOfJSON is how many bytes of compact JSON a byte of a frame becomes at most: a control character in a string, of either codec.
const mostBytesOfJSON = 6

// fits reports whether p of a frame of that many bytes is within maxPayload. Most frames are too short to need a look.
func fits(p value, frame int) bool {
	return frame <= maxPayload/mostBytesOfJSON || len(rawJSON(p)) <= maxPayload
}

// rawJSON returns a value as compact JSON.
func rawJSON(v value) json.RawMessage {
	return esjson.Append(nil, v)
}

// budget counts what a frame may still contain.
type budget struct{ depth, elements int }

func newBudget() budget { return budget{maxDepth, maxElements} }

// open takes the elements of an object or array; close follows them.
func (b *budget) open(elements int) error {
	b.depth--
	b.elements -= elements
	switch {
	case b.depth < 0:
		return errTooDeep
	case b.elements < 0:
		return errTooMany
	}
	return nil
}

func (b *budget) close() { b.depth++ }

// check takes a whole value.
func (b *budget) check(v value) error {
	switch v := v.(type) {
	case map[string]any:
		if err := b.open(len(v)); err != nil {
			return err
		}
		for _, element := range v {
			if err := b.check(element); err != nil {
				return err
			}
		}
		b.close()
	case []any:
		if err := b.open(len(v)); err != nil {
			return err
		}
		for _, element := range v {
			if err := b.check(element); err != nil {
				return err
			}
		}
		b.close()
	}
	return nil
}
