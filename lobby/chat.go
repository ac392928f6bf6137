package lobby

import "maps"

const maxTopic = 500 // bytes

// chat relays everything. Its state is that of its configuration, and a topic if the room was made with one.
type chat struct {
	plain

	initialState State
}

func (c chat) OpenState(o Opening) (State, error) {
	state := State{}
	// A copy: the rooms of a type must not share one state.
	maps.Copy(state, c.initialState)
	topic, err := o.Options.fieldsOf().textField("topic", maxTopic)
	if topic != "" {
		state["topic"] = encodeJSON(topic)
	}
	return state, err
}

func (chat) OnMessage(r *Room, _ Member, m Message) error {
	r.RelayMessage(m)
	return nil
}

// plain is the part of a logic to which it does not matter who is a member.
type plain struct{}

func (plain) OnJoin(*Room, Member, Options) error { return nil }
func (plain) OnLeave(*Room, Member) error         { return nil }
func (plain) OnAway(*Room, Member) error          { return nil }
func (plain) OnBack(*Room, Member) error          { return nil }
