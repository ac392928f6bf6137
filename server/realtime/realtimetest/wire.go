package realtimetest

import (
	"encoding/json"
	"errors"
	"fmt"
)

// wire is a codec of the client.
type wire interface {
	name() string
	binary() bool // of frames from the server
	encode(e Event) []byte
	decode(frame []byte) (e Event, problems []string, err error)
}

func wireOf(codec string) wire {
	if codec == "msgpack" {
		return msgpackWire{}
	}
	return jsonWire{}
}

type jsonWire struct{}

func (jsonWire) name() string { return "json" }
func (jsonWire) binary() bool { return false }

func (jsonWire) encode(e Event) []byte {
	text, err := json.Marshal(envelopeOf(e))
	if err != nil {
		return nil
	}
	return text
}

func (jsonWire) decode(frame []byte) (Event, []string, error) {
	var v any
	if err := json.Unmarshal(frame, &v); err != nil {
		return Event{}, nil, err
	}
	return eventOf(v)
}

// msgpackWire reads and writes the subset of MessagePack that the SDK's msgpackr reads and writes.
type msgpackWire struct{}

func (msgpackWire) name() string { return "msgpack" }
func (msgpackWire) binary() bool { return true }

func (msgpackWire) encode(e Event) []byte { return appendPacked(nil, envelopeOf(e)) }

func (msgpackWire) decode(frame []byte) (Event, []string, error) {
	u := unpacker{input: frame}
	v, err := u.readValue()
	if err == nil && len(u.input) > 0 {
		err = fmt.Errorf("%d bytes behind the frame", len(u.input))
	}
	if err != nil {
		return Event{}, nil, err
	}
	e, problems, err := eventOf(v)
	return e, append(problems, u.problems...), err
}

// envelopeOf leaves out what is empty, as the SDK does.
func envelopeOf(e Event) map[string]any {
	m := map[string]any{"v": float64(1), "t": e.Type}
	if e.RID != "" {
		m["rid"] = e.RID
	}
	if e.Room != "" {
		m["room"] = e.Room
	}
	if e.P != nil {
		m["p"] = e.P
	}
	return m
}

// eventOf reads an envelope. A null where a field may be absent is a problem.
func eventOf(v any) (e Event, problems []string, err error) {
	fields, isObject := v.(map[string]any)
	if !isObject {
		return e, nil, errors.New("the frame is not an object")
	}
	if fields["v"] != float64(1) {
		problems = append(problems, fmt.Sprintf("v is %v", fields["v"]))
	}
	for name, to := range map[string]*string{"t": &e.Type, "rid": &e.RID, "room": &e.Room} {
		field, has := fields[name]
		text, isText := field.(string)
		if has && !isText {
			problems = append(problems, name+" is no string")
		}
		*to = text
	}
	p, has := fields["p"]
	e.P, isObject = p.(map[string]any)
	// echo sends back whatever the client has sent.
	if has && !isObject && e.Type != "echo" {
		problems = append(problems, "p is no object")
	}
	return e, problems, nil
}
