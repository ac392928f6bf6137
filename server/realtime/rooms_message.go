package realtime

import (
	"context"
	"encoding/base64"

	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/wire"
)

const (
	maxMessageBytes = 8 << 10 // of a room.message.bytes
	maxMessageType  = 128     // bytes
)

// sendMessage sends a message to a room; a line of chat passes the hook of the operator first, if there is one.
func sendMessage(ctx context.Context, c *conn, e wire.Envelope) (func() (rpcAnswer, error), error) {
	room, failed := e.NeededRoom()
	if failed != nil {
		return nil, failed
	}
	kind, failed := messageType(e)
	if failed != nil {
		return nil, failed
	}
	m := lobby.Message{Type: kind, Data: wire.RawJSON(e.PayloadFields()["data"])}
	if kind == lobby.MessageSay && c.server.textHook != nil {
		// One after the other: the hook may answer a later text first.
		return sayChecked(room, m)(ctx, c, e)
	}
	return c.sayInRoom(ctx, room, m), nil
}

// messageType returns the type of a message; a number becomes text.
func messageType(e wire.Envelope) (string, *wire.Failure) {
	kind := e.PayloadFields()["type"]
	text, is := kind.(string)
	if _, number := kind.(float64); number {
		// 7 is the same type as "7".
		text, is = string(wire.RawJSON(kind)), true
	}
	if !is || text == "" || len(text) > maxMessageType {
		return "", wire.InvalidField("type", "has to be a number or a string of 1 to 128 bytes")
	}
	return text, nil
}

// sendRoomBytes sends bytes to a room, as base64.
func sendRoomBytes(ctx context.Context, c *conn, e wire.Envelope) (func() (rpcAnswer, error), error) {
	room, failed := e.NeededRoom()
	if failed != nil {
		return nil, failed
	}
	kind, failed := messageType(e)
	if failed != nil {
		return nil, failed
	}
	encoded, is := e.PayloadFields()["data_b64"].(string)
	// Strict, since the text is passed on as it is: what decoders judge differently must not reach the members.
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	switch {
	case !is || err != nil:
		return nil, wire.InvalidField("data_b64", "has to be padded standard base64")
	case len(raw) > maxMessageBytes:
		return nil, &wire.Failure{Code: wire.CodeTooLarge, Text: "payload exceeds maximum size", Field: "data_b64"}
	}
	return c.sayInRoom(ctx, room, lobby.Message{Type: kind, Data: wire.RawJSON(encoded), IsBytes: true}), nil
}
