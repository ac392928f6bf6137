package lobby

import "maps"

const maxTopic = 500 // bytes

// chatLogic relays every message. The state of a room is the configured one, and a topic if the room was made with one.
type chatLogic struct {
	memberless

	initialState State
}

// OpenState returns the configured state, with the topic that the maker of the room gives it, if any. Errors: code
// invalid.
func (c chatLogic) OpenState(o Opening) (State, error) {
	state := State{}
	// A copy: the rooms of a type must not share one state.
	maps.Copy(state, c.initialState)
	topic, err := o.Options.fieldsOf().textField("topic", maxTopic)
	if err != nil {
		return nil, err
	}
	if topic != "" {
		state["topic"] = encodeJSON(topic)
	}
	return state, nil
}

func (chatLogic) OnMessage(r *Room, _ Member, m Message) error {
	r.RelayMessage(m)
	return nil
}
