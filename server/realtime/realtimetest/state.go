package realtimetest

import (
	"maps"
	"slices"
	"strings"
)

// roomOf returns a room, which may be new to the client: the first message about one is not always the same.
func (c *Client) roomOf(id string) *Room {
	r := c.rooms[id]
	if r == nil {
		r = &Room{}
		c.rooms[id] = r
	}
	return r
}

// takeSnapshot takes any state whose checksum is absent or right. One that is older than the client's is a violation.
func (c *Client) takeSnapshot(e Event) []Event {
	seq, numbered := e.P["seq"].(float64)
	state, isObject := e.P["state"].(map[string]any)
	sent, hasSum := e.P["checksum"]
	sum, isText := sent.(string)
	if e.Room == "" || !numbered || !isObject || (hasSum && !isText) {
		c.violationf("a snapshot that the SDK ignores: %v", e)
		return nil
	}
	r := c.roomOf(e.Room)
	own := checksum(state, c.options.Foreign)
	if sum != "" && sum != own {
		// Of a client whose locale orders keys in another way, a difference is no mistake of the server.
		if !c.options.Foreign {
			c.violationf("the checksum of %v is %s, not %s", state, own, sum)
		}
		return []Event{c.askResync(e.Room, r)}
	}
	if int64(seq) < r.Seq {
		c.violationf("%s steps back from %d to %d", e.Room, r.Seq, int64(seq))
	}
	r.Seq, r.State, r.Gap = int64(seq), state, false
	r.Snapshots++
	return []Event{{Type: "state.ack", Room: e.Room, P: map[string]any{"seq": seq, "checksum": own}}}
}

// askResync asks for a snapshot.
func (c *Client) askResync(id string, r *Room) Event {
	c.resyncs++
	return Event{Type: "state.resync", Room: id, P: map[string]any{"since": float64(r.Seq)}}
}

// takePatch ignores what is old, applies what is next, and asks for a snapshot otherwise.
func (c *Client) takePatch(e Event) []Event {
	seq, numbered := e.P["seq"].(float64)
	ops, isList := e.P["ops"].([]any)
	if e.Room == "" || !numbered || !isList || len(ops) == 0 || seq < 1 {
		c.violationf("a patch that the SDK ignores: %v", e)
		return nil
	}
	if _, has := e.P["checksum"]; has {
		c.violationf("a patch has a checksum")
	}
	r := c.roomOf(e.Room)
	switch {
	case r.Snapshots == 0:
		c.violationf("%s has a patch before its snapshot", e.Room)
		return nil
	// A snapshot had it: the server need not know what is on its way to the client.
	case int64(seq) <= r.Seq:
		return nil
	case int64(seq) > r.Seq+1:
		r.Gap = true
		return []Event{c.askResync(e.Room, r)}
	}
	// A copy: tests keep the states that they have looked at.
	next := maps.Clone(r.State)
	for _, op := range ops {
		c.applyOp(next, op)
	}
	r.Seq, r.State = int64(seq), next
	r.Patches++
	return []Event{{Type: "state.ack", Room: e.Room, P: map[string]any{"seq": seq}}}
}

func (c *Client) applyOp(state map[string]any, op any) {
	fields, _ := op.(map[string]any)
	path, _ := fields["path"].(string)
	key, ok := strings.CutPrefix(path, "/")
	// The SDK ends its process on any other path.
	if !ok || key == "" || strings.Contains(key, "/") {
		c.violationf("the path %q is not one segment", path)
		return
	}
	key = strings.ReplaceAll(strings.ReplaceAll(key, "~1", "/"), "~0", "~")
	switch fields["op"] {
	case "set":
		state[key] = fields["value"]
	case "del":
		delete(state, key)
	default:
		c.violationf("the op %v is neither set nor del", fields["op"])
	}
}

// takePresence keeps the members. Who left a room forgets it.
func (c *Client) takePresence(e Event) {
	switch e.Type {
	case "room.members":
		c.takeMembers(e)
	case "room.left":
		if e.Text("client_id") == c.session {
			delete(c.rooms, e.Room)
		}
	case "match.found":
		c.matchFound(e)
	}
}

// takeMembers keeps the list of a room's members.
func (c *Client) takeMembers(e Event) {
	list, isList := e.P["members"].([]any)
	count, _ := e.P["count"].(float64)
	ids := make([]string, 0, len(list))
	for _, id := range list {
		text, _ := id.(string)
		ids = append(ids, text)
	}
	if !isList || int(count) != len(ids) || !slices.IsSorted(ids) {
		c.violationf("room.members is no sorted list with its count: %v", e)
	}
	c.roomOf(e.Room).Members = ids
}

// matchFound checks what the SDK needs to join the room of a match.
func (c *Client) matchFound(e Event) {
	_, hasSize := e.P["size"].(float64)
	_, hasParticipants := e.P["participants"].([]any)
	if e.Text("room") == "" || e.Text("room") != e.Room || e.Text("room_type") == "" || !hasSize || !hasParticipants {
		c.violationf("a match.found that the SDK ignores: %v", e)
	}
}
