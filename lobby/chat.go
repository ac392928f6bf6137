package lobby

import "maps"

const maxTopic = 500 // bytes

// chat relays everything. Its state is that of its configuration, and a topic if the room was made with one.
type chat struct{ initialState State }

// OpenState returns the configured state, with the topic that the maker of the room gives it, if any. Errors: code
// invalid.
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

// Who is a member does not matter to a chat.

func (chat) OnJoin(*Room, Member, Options) error { return nil }
func (chat) OnLeave(*Room, Member) error         { return nil }
func (chat) OnAway(*Room, Member) error          { return nil }
func (chat) OnBack(*Room, Member) error          { return nil }
