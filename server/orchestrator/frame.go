package orchestrator

import (
	"github.com/coder/websocket"
	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of an outer frame.
const (
	fieldTopic   = 1
	fieldPayload = 2
)

// The codes that the director closes an agent's socket with, beside those of RFC 6455.
const (
	closeKey     websocket.StatusCode = 4001 // the key is wrong, or was revoked
	closeText    websocket.StatusCode = 4002 // a text message
	closeInvalid websocket.StatusCode = 4003 // any other end that the director decides on
)

// violation is a message that ends the connection.
type violation struct {
	closeCode   websocket.StatusCode
	closeReason string // of the close frame
	cause       string // for the log; it quotes nothing that the agent sent
}

func (v *violation) Error() string { return v.cause }

func invalidError(cause string) error {
	return &violation{closeCode: closeInvalid, closeReason: "invalid_message", cause: cause}
}

// dropped is a message that is logged and ignored. A poll that it should have answered counts as missed.
type dropped struct {
	topic     string // empty if the message has none
	cause     string // quotes nothing that the agent sent
	byteCount int    // of the message
}

func (d *dropped) Error() string { return d.cause }

// decodeFrame decodes a message of an agent into a state or an ack. Each error is a *violation or a *dropped.
func decodeFrame(kind websocket.MessageType, message []byte) (any, error) {
	if kind != websocket.MessageBinary {
		return nil, &violation{closeCode: closeText, cause: "text message"}
	}
	decoded, err := decodeMessage(message)
	if d, is := err.(*dropped); is { //nolint:errorlint // never wrapped
		d.byteCount = len(message)
	}
	return decoded, err
}

func decodeMessage(message []byte) (any, error) {
	topic, payload, err := openFrame(message)
	if err != nil {
		return nil, err
	}
	switch topic {
	case topicState:
		return decodeBody(topic, payload, readState)
	case topicAck:
		return decodeBody(topic, payload, readAck)
	}
	return nil, invalidError("topic that agents do not send")
}

// openFrame reads an outer frame. Unknown fields are skipped; of a repeated one the last counts.
func openFrame(message []byte) (topic string, payload []byte, err error) {
	hasTopic := false
	in := fields{unreadBytes: message}
	for in.nextField() {
		switch {
		case in.kind != protowire.VarintType && in.kind != protowire.BytesType:
			return "", nil, invalidError("frame with a wire type other than 0 and 2")
		case in.number == fieldTopic:
			topic, hasTopic = in.text(), true
		case in.number == fieldPayload:
			payload = in.bytes()
		}
	}
	switch {
	case in.err != nil:
		return "", nil, invalidError("frame that does not decode: " + in.err.Error())
	case !hasTopic:
		return "", nil, &dropped{cause: "message without a topic"}
	case isLongerThan(topic, maxTopicUnits):
		return "", nil, invalidError("topic that is too long")
	}
	return topic, payload, nil
}

// decodeBody checks the version of a payload and reads what follows it.
func decodeBody[T any](topic string, payload []byte, read func(*fields) T) (any, error) {
	if len(payload) < versionBytes {
		return nil, &dropped{topic: topic, cause: "payload without a version"}
	}
	if payload[0] != protocolMajor {
		return nil, &dropped{topic: topic, cause: "payload of another major version"}
	}
	in := &fields{unreadBytes: payload[versionBytes:]}
	message := read(in)
	if in.err != nil {
		return nil, &dropped{topic: topic, cause: "body that does not decode: " + in.err.Error()}
	}
	return message, nil
}
