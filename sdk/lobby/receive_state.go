package lobby

import (
	"encoding/json"
	"fmt"
)

// takeState takes a snapshot or a patch, and returns what the director must get: the acknowledgement, or a request for
// a snapshot where a patch is missing.
func (c *Client) takeState(f frame) (answer frame, ok bool) {
	var next stateChange
	if json.Unmarshal(f.Payload, &next) != nil {
		return frame{}, false
	}
	resync := frame{Version: protocolVersion, Type: "state.resync", Room: f.Room, Payload: json.RawMessage("{}")}
	outcome := c.replaceState(f, next)
	if outcome == patchIsAhead {
		return resync, true
	}
	if outcome == patchIsOld {
		return frame{}, false
	}
	c.publishEvent(StateChanged{f.Room})
	seq := fmt.Appendf(nil, `{"seq":%d}`, next.Seq)
	return frame{Version: protocolVersion, Type: "state.ack", Room: f.Room, Payload: seq}, true
}

// stateOutcome is what became of a snapshot or a patch.
type stateOutcome int

const (
	stateReplaced stateOutcome = iota
	patchIsAhead               // a patch before it is missing
	patchIsOld                 // a snapshot had it already
)

// replaceState replaces the state of a room, if the change is a snapshot or the next patch.
func (c *Client) replaceState(f frame, next stateChange) stateOutcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.memberships[f.Room]
	if f.Type == "state.snapshot" {
		if m == nil {
			m = &membership{}
			c.memberships[f.Room] = m
		}
		m.lastState.Seq, m.lastState.Values, m.hasState, m.isLent = next.Seq, next.Values, true, false
		return stateReplaced
	}
	if m == nil || !m.hasState || next.Seq > m.lastState.Seq+1 {
		c.status.Resyncs++
		return patchIsAhead
	}
	if next.Seq <= m.lastState.Seq {
		return patchIsOld
	}
	m.applyPatch(next)
	return stateReplaced
}
