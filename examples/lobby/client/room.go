package client

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
)

// Room is the state of a room: a JSON object whose values change as a whole.
type Room struct {
	Seq   int64 // counts the changes
	State map[string]json.RawMessage
}

// Decode decodes a value of the state. It returns false if the state has none of this key and type.
func (r Room) Decode(key string, into any) bool {
	return json.Unmarshal(r.State[key], into) == nil
}

// Text returns a value that is a string, otherwise "".
func (r Room) Text(key string) (text string) {
	r.Decode(key, &text)
	return text
}

// Equal reports whether two states are the same after the same changes. Values are compared as they were sent.
func (r Room) Equal(other Room) bool {
	same := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
	return r.Seq == other.Seq && maps.EqualFunc(r.State, other.State, same)
}

func (r Room) clone() Room { return Room{r.Seq, maps.Clone(r.State)} }

// change is a snapshot or a patch of a state.
type change struct {
	Seq   int64                      `json:"seq"`
	State map[string]json.RawMessage `json:"state"` // of a snapshot
	Ops   []struct {
		Op    string          `json:"op"`   // set or del
		Path  string          `json:"path"` // "/" and the key
		Value json.RawMessage `json:"value"`
	} `json:"ops"`
}

// state takes a snapshot or a patch, and returns what the server must get: the acknowledgement, or a request for a
// snapshot where a patch is missing.
func (c *Client) state(f frame) (answer frame, ok bool) {
	var next change
	if json.Unmarshal(f.P, &next) != nil {
		return frame{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known, member := c.rooms[f.Room]
	switch {
	case f.Type == "state.snapshot":
		c.rooms[f.Room] = Room{next.Seq, next.State}
	case !member || next.Seq > known.Seq+1:
		return about(f.Room, "state.resync", map[string]any{}), true
	case next.Seq <= known.Seq:
		return frame{}, false // a snapshot had it
	default:
		c.rooms[f.Room] = known.apply(next)
	}
	c.signal()
	return about(f.Room, "state.ack", map[string]any{"seq": next.Seq}), true
}

func about(room, kind string, p map[string]any) frame {
	body, _ := json.Marshal(p) // numbers and texts never fail
	return frame{Version: 1, Type: kind, Room: room, P: body}
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// apply returns the room after a patch. It changes the state of the former one.
func (r Room) apply(next change) Room {
	r.Seq = next.Seq
	for _, op := range next.Ops {
		key := unescape.Replace(strings.TrimPrefix(op.Path, "/"))
		if op.Op == "del" {
			delete(r.State, key)
		} else {
			r.State[key] = op.Value
		}
	}
	return r
}

// presence forgets a room that the session has left, or from which it was removed.
func (c *Client) presence(f frame) {
	var p struct {
		Client string `json:"client_id"`
	}
	if f.Type != "room.left" || json.Unmarshal(f.P, &p) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.Client == c.status.Session {
		delete(c.rooms, f.Room)
	}
}
