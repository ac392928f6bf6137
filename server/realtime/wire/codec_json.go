package wire

import (
	"bytes"
	"encoding/json"

	"github.com/lattice-director/director/lobby/esjson"
)

// JSONCodec sends JSON as text messages.
type JSONCodec struct{}

// Name implements Codec.
func (JSONCodec) Name() string { return "json" }

// Binary implements Codec.
func (JSONCodec) Binary() bool { return false }

// Decode implements Codec. Its error has the rid if that can be read.
func (JSONCodec) Decode(frame []byte) (Envelope, error) {
	root, err := esjson.ParseText(frame)
	if err != nil {
		return Envelope{}, badFrame(ridBeforeError(frame), err)
	}
	limit := newBudget()
	// The limits are checked after parsing: the length of the frame bounds what the parser allocates.
	if err := limit.takeValue(root); err != nil {
		return Envelope{}, badFrame(ridOf(root), err)
	}
	return newEnvelope(root, len(frame))
}

// Encode implements Codec.
func (JSONCodec) Encode(out Outgoing) []byte {
	return esjson.Append(nil, out.fieldMap())
}

// ridBeforeError looks for the rid in the part of a frame that is JSON, before the error.
func ridBeforeError(frame []byte) string {
	in := json.NewDecoder(bytes.NewReader(frame))
	if brace, err := in.Token(); err != nil || brace != json.Delim('{') {
		return ""
	}
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return ""
		}
		var v json.RawMessage
		if in.Decode(&v) != nil {
			return ""
		}
		if key == "rid" {
			rid, _ := esjson.ParseText(v) // json.Decoder has found it valid
			return ridOf(map[string]any{"rid": rid})
		}
	}
	return ""
}
