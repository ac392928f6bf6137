package lobby

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

const maxMessageType = 128 // bytes

// checkForm returns a message as members get it. Errors: code invalid, [ErrTooLarge].
func (m Message) checkForm() (Message, error) {
	// Every member gets it in JSON, which has no other text.
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
