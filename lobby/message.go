package lobby

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

const maxMessageType = 128 // bytes

// cleanMessage checks a message and returns it as members receive it. Errors: code invalid, [ErrTooLarge].
func (m Message) cleanMessage() (Message, error) {
	// JSON, in which every member receives the type, has no invalid UTF-8.
	m.Type = strings.ToValidUTF8(m.Type, "\uFFFD")
	if m.Type == "" || len(m.Type) > maxMessageType {
		return m, Invalid("type", "must have 1 to %d bytes", maxMessageType)
	}
	if len(m.Data) > maxDataBytes {
		return m, ErrTooLarge
	}
	var err error
	if m.IsBytes {
		m.Data, err = cleanBytes(m.Data)
	} else {
		m.Data, err = cleanJSON("data", m.Data)
	}
	return m, err
}

// cleanBytes accepts bytes only as a string of padded base64, so that equal bytes are equal texts.
func cleanBytes(data json.RawMessage) (json.RawMessage, error) {
	var text string
	if json.Unmarshal(data, &text) != nil {
		return nil, Invalid("data_b64", "must be a string")
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	switch {
	// The decoder skips line breaks, which some clients' decoders refuse.
	case err != nil || strings.ContainsAny(text, "\r\n"):
		return nil, Invalid("data_b64", "must be padded standard base64")
	case len(raw) > maxBytesMessage:
		return nil, ErrTooLarge
	}
	return encodeJSON(text), nil
}

// Message is what a member sends to its room.
type Message struct {
	Session, Player string
	Type            string
	Data            json.RawMessage // any JSON; of bytes: a string of base64
	IsBytes         bool
	SentAt          time.Time // for sanctions that end; zero: none has ended
}

// HandleMessage returns the action of a message from a member.
func (t *Types) HandleMessage(m Message) Action {
	// Outside of the action, which may run again after a conflict.
	checked, invalid := m.cleanMessage()
	return boundedAction(func(r *Room) error {
		if r.Type == "" {
			return ErrNotFound
		}
		member, ok := r.Member(m.Session)
		if !ok {
			return ErrNotMember
		}
		logic := t.logicOf(r)
		if logic == nil {
			return ErrWrongType
		}
		// After the checks above: a client that is not in the room receives that error first.
		if invalid != nil {
			return invalid
		}
		if isSpeech(logic, checked) && r.isSanctioned(m.Player, m.SentAt, func(s Sanction) bool { return s.IsMute }) {
			return ErrMuted
		}
		return logic.OnMessage(r, member, checked)
	})
}

// isSpeech reports whether a message is what members say to each other, which a muted member may not.
func isSpeech(logic Logic, m Message) bool {
	if _, grouped := logic.(queuing); grouped {
		return m.Type == MessageSay || strings.HasPrefix(m.Type, customPrefix)
	}
	return true
}
