package lobby

import (
	"encoding/json"
	"fmt"
)

// takeEvent keeps what a frame says about rooms and lists, and publishes its event.
func (c *Client) takeEvent(f frame) {
	if f.Type == "session.replaced" {
		return // Connected says the same
	}
	switch f.Type {
	case "room.members":
		c.takeMembers(f)
	case "room.left":
		c.takeLeft(f)
	case eventRooms, eventFriends:
		c.noteListChange(f)
	case "room.message":
		c.takeMessage(f)
	default:
		if c.options.OnEvent != nil { // decoding it for nobody would be in vain
			c.publishEvent(eventOf(f))
		}
	}
}

func (c *Client) takeMembers(f frame) {
	var p struct {
		Members []string `json:"members"`
	}
	if json.Unmarshal(f.Payload, &p) != nil {
		return
	}
	c.mu.Lock()
	m := c.memberships[f.Room]
	if m == nil { // a new room, whose state follows
		m = &membership{}
		c.memberships[f.Room] = m
	}
	m.lastState.Sessions = p.Members
	c.mu.Unlock()
	c.publishEvent(MembersChanged{f.Room})
}

// takeMessage publishes a message, unless the client has heard it before its connection ended.
func (c *Client) takeMessage(f frame) {
	if c.options.OnEvent == nil { // decoding it for nobody would be in vain
		return
	}
	event := decodeEvent(f, func(e *Message) { e.Room = f.Room })
	if e, is := event.(Message); is {
		wasHeard := c.noteHeard(e)
		// Only a message that is marked as repeated may have been sent before: others are published in any case.
		if wasHeard && e.Repeated {
			return
		}
	}
	c.publishEvent(event)
}

// noteHeard notes a message as the newest of its room, or reports that the client has received it or a newer one.
func (c *Client) noteHeard(e Message) (wasHeard bool) {
	var at heardMessage
	if n, _ := fmt.Sscanf(e.ID, "%d.%d", &at.logPosition, &at.entryIndex); n != 2 { //nolint:mnd // both numbers
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.memberships[e.Room]
	if m == nil {
		return false
	}
	if at.logPosition < m.lastMessage.logPosition ||
		at.logPosition == m.lastMessage.logPosition && at.entryIndex <= m.lastMessage.entryIndex {
		return true
	}
	m.lastMessage = at
	return false
}

// takeLeft forgets a room from which the session was removed.
func (c *Client) takeLeft(f frame) {
	left := Left{Room: f.Room}
	if json.Unmarshal(f.Payload, &left) != nil {
		return
	}
	left.Self = left.Session == c.Status().Session
	if left.Self {
		c.forgetRoom(f.Room)
	}
	c.publishEvent(left)
}

func eventOf(f frame) Event {
	switch f.Type {
	case "room.joined":
		return decodeEvent(f, func(e *Joined) { e.Room = f.Room })
	case "room.dropped":
		return decodeEvent(f, func(e *Dropped) { e.Room = f.Room })
	case "room.reconnected":
		return decodeEvent(f, func(e *Reconnected) { e.Room = f.Room })
	case "room.invited":
		return decodeEvent[Invited](f, nil)
	case "match.found":
		return decodeEvent[MatchFound](f, nil)
	case "match.pending":
		return decodeEvent[MatchPending](f, nil)
	case "player.message":
		return decodeEvent[PlayerMessage](f, nil)
	case "matchmaking.expired":
		return decodeEvent[QueueExpired](f, nil)
	}
	return Unknown{f.Type, f.Room, f.Payload}
}

// decodeEvent returns a frame as an event of type E, completed by complete unless that is nil. A frame that is none is
// an Unknown.
func decodeEvent[E Event](f frame, complete func(*E)) Event {
	var e E
	if json.Unmarshal(f.Payload, &e) != nil {
		return Unknown{f.Type, f.Room, f.Payload}
	}
	if complete != nil {
		complete(&e)
	}
	return e
}
