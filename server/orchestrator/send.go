package orchestrator

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// A FleetAgent ends its process when it receives a frame that it cannot parse. So frames are only built here, whole,
// and tests hold each of them against the strict decoder of internal/testkit/agents/wire. The numbers in encodeFrame are
// those of the fields of upstream's messages.

// hello opens a conversation.
type hello struct {
	instanceID string // 16 lower-case hex digits, new for each connection
	heartbeat  time.Duration
}

func (h hello) encodeFrame() []byte {
	body := appendText(nil, 1, h.instanceID)
	body = appendNumber(body, 2, protocolMajor)
	body = appendNumber(body, 3, uint64(h.heartbeat.Milliseconds()))
	return frameAround(topicHello, body)
}

// poll asks for the state of an agent.
type poll struct {
	reqID     string
	knownHash *string // nil asks for a full state
	status    string  // as last recorded in the database
}

func (p poll) encodeFrame() []byte {
	body := appendText(nil, 1, p.reqID)
	// An empty hash is one that the agent has reported: only an absent field asks for a full state.
	if p.knownHash != nil {
		body = appendText(body, 2, *p.knownHash)
	}
	return frameAround(topicPoll, appendText(body, 3, p.status))
}

// command asks an agent to act.
type command struct {
	id       string
	op       string
	roomID   string // of create, and the raw id of destroy
	roomType string // of create
}

func (c command) encodeFrame() []byte {
	body := appendText(nil, 1, c.id)
	body = appendText(body, 2, c.op)
	// A drain has no room: a field that is set would be written even if it is empty.
	if c.op == opCreate || c.op == opDestroy {
		body = appendText(body, 3, c.roomID)
	}
	if c.op == opCreate {
		body = appendText(body, 4, c.roomType)
	}
	return frameAround(topicCmd, body)
}

// frameAround is the outer message around a body: the topic, then version and body.
func frameAround(topic string, body []byte) []byte {
	payload := versionBytes + len(body)
	b := make([]byte, 0, 2+protowire.SizeBytes(len(topic))+protowire.SizeBytes(payload))
	b = appendText(b, fieldTopic, topic)
	b = protowire.AppendTag(b, fieldPayload, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(payload))
	// The payload begins with its version, before the protobuf body.
	b = append(b, protocolMajor, protocolMinor)
	return append(b, body...)
}

func appendText(b []byte, field protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), text)
}

func appendNumber(b []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), n)
}
