package lobby

import (
	"encoding/json"
	"fmt"
)

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
