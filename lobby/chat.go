package lobby

import "maps"

const maxTopic = 500 // bytes

// chat relays everything. Its state is that of its configuration, and a topic if the room was made with one.
type chat struct {
	plain

	state State
}

func (c chat) Open(o Opening) (State, error) {
	state := State{}
	maps.Copy(state, c.state)
	topic, err := o.Options.fields().text("topic", maxTopic)
	if topic != "" {
		state["topic"] = encode(topic)
	}
	return state, err
}

func (chat) Message(r *Room, _ Member, m Message) error {
	r.Relay(m)
	return nil
}

// plain is the part of a logic to which it does not matter who is a member.
type plain struct{}

func (plain) Join(*Room, Member, Options) error { return nil }
func (plain) Leave(*Room, Member) error         { return nil }
func (plain) Away(*Room, Member) error          { return nil }
func (plain) Back(*Room, Member) error          { return nil }
