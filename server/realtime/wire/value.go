package wire

import (
	"encoding/json"
	"errors"

	"github.com/lattice-director/director/lobby/esjson"
)

// value is a decoded payload: nil, bool, float64, string, []any, or map[string]any. What is passed through, such as
// states and the data of messages, is a json.RawMessage.
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

// MaxPayload is how many bytes of compact JSON p may have.
const MaxPayload = 65_536

// mostBytesOfJSON is how many bytes of compact JSON a byte of a frame becomes at most: a control character in a string,
// of either codec.
const mostBytesOfJSON = 6

// fitsPayload reports whether the p of a frame is within MaxPayload. Most frames are too short for p to be encoded.
func fitsPayload(p value, frameBytes int) bool {
	return frameBytes <= MaxPayload/mostBytesOfJSON || len(RawJSON(p)) <= MaxPayload
}

// RawJSON returns a value as compact JSON.
func RawJSON(v value) json.RawMessage {
	return esjson.Append(nil, v)
}

// budget counts what a frame may still contain.
type budget struct{ depthLeft, elementsLeft int }

func newBudget() budget { return budget{maxDepth, maxElements} }

// enterValue counts an object or array with that many elements. Call leaveValue after the elements.
func (b *budget) enterValue(elements int) error {
	b.depthLeft--
	b.elementsLeft -= elements
	switch {
	case b.depthLeft < 0:
		return errTooDeep
	case b.elementsLeft < 0:
		return errTooMany
	}
	return nil
}

// leaveValue ends an object or array. Its elements are not given back: they are counted over the whole frame, depth
// along one path.
func (b *budget) leaveValue() { b.depthLeft++ }

// takeValue counts a value with all that is in it.
func (b *budget) takeValue(v value) error {
	switch v := v.(type) {
	case map[string]any:
		if err := b.enterValue(len(v)); err != nil {
			return err
		}
		for _, element := range v {
			if err := b.takeValue(element); err != nil {
				return err
			}
		}
		b.leaveValue()
	case []any:
		if err := b.enterValue(len(v)); err != nil {
			return err
		}
		for _, element := range v {
			if err := b.takeValue(element); err != nil {
				return err
			}
		}
		b.leaveValue()
	}
	return nil
}
