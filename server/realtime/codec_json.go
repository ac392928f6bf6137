package realtime

import (
	"bytes"
	"encoding/json"

	"github.com/lattice-director/director/lobby/esjson"
)

// jsonCodec sends JSON as text messages.
type jsonCodec struct{}

func (jsonCodec) Name() string { return "json" }
func (jsonCodec) Binary() bool { return false }

func (jsonCodec) Decode(frame []byte) (envelope, error) {
	root, err := esjson.Parse(frame)
	if err != nil {
		return envelope{}, badFrame(ridBefore(frame), err)
	}
	limit := newBudget()
	if err := limit.check(root); err != nil {
		return envelope{}, badFrame(ridOf(root), err)
	}
	return newEnvelope(root, len(frame))
}

func (jsonCodec) Encode(out outgoing) []byte {
	return esjson.Append(nil, out.fields())
}

// fields returns the message as a map.
func (o outgoing) fields() map[string]any {
	m := map[string]any{"v": protocolVersion, "t": o.Type}
	if o.RID != "" {
		m["rid"] = o.RID
	}
	if o.Room != "" {
		m["room"] = o.Room
	}
	if o.P != nil {
		m["p"] = o.P
	}
	return m
}

// ridBefore looks for the rid in the part of a frame that is JSON, before the error.
func ridBefore(frame []byte) string {
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
			text, _ := esjson.Parse(v) // Decode has found it valid
			return ridOf(map[string]any{"rid": text})
		}
	}
	return ""
}
