package lobby

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

const maxMessageType = 128 // bytes

// HandleMessage returns the action of a message from a member.
func (t *Types) HandleMessage(m Message) Action {
	// Once, and outside of the action, which may run again after a conflict.
	checked, invalid := m.checkForm()
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
		// After the checks above: a client that is in no room gets that error first.
		if invalid != nil {
			return invalid
		}
		if isSpeech(logic, checked) && r.isSanctioned(m.Player, m.SentAt, func(s Sanction) bool { return s.IsMute }) {
			return ErrMuted
		}
		return logic.OnMessage(r, member, checked)
	})
}

func (m Message) checkForm() (Message, error) {
	m.Type = strings.ToValidUTF8(m.Type, "\uFFFD")
	if m.Type == "" || len(m.Type) > maxMessageType {
		return m, Invalid("type", "must have 1 to %d bytes", maxMessageType)
	}
	if len(m.Data) > maxDataBytes {
		return m, ErrTooLarge
	}
	var err error
	if m.IsBytes {
		m.Data, err = checkBytes(m.Data)
	} else {
		m.Data, err = cleanJSON("data", m.Data)
	}
	return m, err
}

// checkBytes accepts the one form in which bytes are written, so that equal bytes are equal texts.
func checkBytes(data json.RawMessage) (json.RawMessage, error) {
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
