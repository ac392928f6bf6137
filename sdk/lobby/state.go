package lobby

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// State is what a client knows of a room: a JSON object whose values change as a whole, and its members. It never
// changes: take it again from [Room.State].
type State struct {
	Seq      int64 // counts the changes; 0: the client is no member
	Values   map[string]json.RawMessage
	Sessions []string // of the members, sorted
}

// Decode decodes a value. It returns false if the state has none of this key and type.
func (s State) Decode(key string, into any) bool {
	return json.Unmarshal(s.Values[key], into) == nil
}

// Text returns a value that is a string, such as that of "phase", otherwise "".
func (s State) Text(key string) (text string) {
	s.Decode(key, &text)
	return text
}

// Member is a member of a party, a lobby or a match.
type Member struct {
	Name   string         `json:"name"`
	Player string         `json:"player"` // in a match
	Team   any            `json:"team"`   // in a lobby: a string, a number or nil
	Ready  bool           `json:"ready"`  // in a lobby
	Away   bool           `json:"away"`   // its connection has ended, and its session has not
	Data   map[string]any `json:"data"`   // what it shows of itself
}

// memberPrefix is that of the keys of members.
const memberPrefix = "m:"

// Members returns the members of a party, a lobby or a match, by session.
func (s State) Members() map[string]Member {
	members := map[string]Member{}
	for key := range s.Values {
		var m Member
		if session, is := strings.CutPrefix(key, memberPrefix); is && s.Decode(key, &m) {
			members[session] = m
		}
	}
	return members
}

// Equal returns whether two states are the same after the same changes. Values are compared as they were sent.
func (s State) Equal(other State) bool {
	same := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
	return s.Seq == other.Seq && maps.EqualFunc(s.Values, other.Values, same)
}

// change is a snapshot or a patch of a state.
type change struct {
	Seq    int64                      `json:"seq"`
	Values map[string]json.RawMessage `json:"state"` // of a snapshot
	Ops    []struct {
		Op    string          `json:"op"`   // set or del
		Path  string          `json:"path"` // "/" and the key
		Value json.RawMessage `json:"value"`
	} `json:"ops"`
}

// takeState takes a snapshot or a patch, and returns what the director must get: the acknowledgement, or a request for
// a snapshot where a patch is missing.
func (c *Client) takeState(f frame) (answer frame, ok bool) {
	var next change
	if json.Unmarshal(f.Payload, &next) != nil {
		return frame{}, false
	}
	resync := frame{Version: protocolVersion, Type: "state.resync", Room: f.Room, Payload: json.RawMessage("{}")}
	m, known := c.replaceState(f, next)
	switch {
	case !known:
		return resync, true
	case m == nil:
		return frame{}, false // a snapshot had it
	}
	c.publishEvent(StateChanged{f.Room})
	seq := fmt.Appendf(nil, `{"seq":%d}`, next.Seq)
	return frame{Version: protocolVersion, Type: "state.ack", Room: f.Room, Payload: seq}, true
}

// replaceState replaces the state of a room. known is false for a patch whose predecessor is missing; the membership is
// nil for one that is old.
func (c *Client) replaceState(f frame, next change) (m *membership, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m = c.memberships[f.Room]
	if f.Type == "state.snapshot" {
		if m == nil {
			m = &membership{}
			c.memberships[f.Room] = m
		}
		m.lastState.Seq, m.lastState.Values, m.hasState, m.isLent = next.Seq, next.Values, true, false
		return m, true
	}
	if m == nil || !m.hasState || next.Seq > m.lastState.Seq+1 {
		c.status.Resyncs++
		return nil, false
	}
	if next.Seq <= m.lastState.Seq {
		return nil, true
	}
	m.applyPatch(next)
	return m, true
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// applyPatch changes the values of a room in a map that no caller has.
func (m *membership) applyPatch(next change) {
	if m.isLent {
		m.lastState.Values, m.isLent = maps.Clone(m.lastState.Values), false
	}
	if m.lastState.Values == nil {
		m.lastState.Values = map[string]json.RawMessage{}
	}
	for _, op := range next.Ops {
		key := unescape.Replace(strings.TrimPrefix(op.Path, "/"))
		if op.Op == "del" {
			delete(m.lastState.Values, key)
		} else {
			m.lastState.Values[key] = op.Value
		}
	}
	m.lastState.Seq = next.Seq
}
