package realtime

import (
	"context"
	"strings"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/delivery"
	"github.com/lattice-director/director/server/realtime/texts"
	"github.com/lattice-director/director/server/realtime/wire"
	"github.com/lattice-director/director/token"
)

const (
	// maxDirectData is how many bytes the data of a message to a player may have.
	maxDirectData = 4 << 10
	// maxMessageNumber bounds the numbers of messages, which begin with 1: JavaScript has whole numbers up to 2^53.
	maxMessageNumber = 1 << 53
)

// messageRPCs returns the RPCs of players who are in no room together: messages and presence.
func messageRPCs() map[string]rpc {
	return map[string]rpc{
		"player.message": runInOrder(messagePlayer),
		"player.history": runInOrder(listPlayerMessages),
		"player.read":    runInOrder(markMessagesRead),
		"presence.watch": runInOrder(watchPresence),
	}
}

// messagePlayer sends a message to another player.
func messagePlayer(ctx context.Context, c *conn, e wire.Envelope) (rpcAnswer, error) {
	p := e.PayloadFields()
	to, is := p["player"].(string)
	if !is || !token.ValidSubject(to) {
		return rpcAnswer{}, wire.InvalidField("player", "has to be the name of a player")
	}
	kind, failed := messageType(e)
	if failed != nil {
		return rpcAnswer{}, failed
	}
	// The type is stored as text, and PostgreSQL refuses U+0000 in text.
	if strings.ContainsRune(kind, 0) {
		return rpcAnswer{}, wire.InvalidField("type", "has to be without U+0000")
	}
	data := wire.RawJSON(p["data"])
	if len(data) > maxDirectData {
		return rpcAnswer{}, lobby.ErrTooLarge
	}
	// Only what people read is checked; other types carry data of the game.
	if kind == lobby.MessageSay && c.server.textHook != nil {
		checked, err := c.checkText(ctx, texts.Message{To: to, Data: data})
		if err != nil {
			return rpcAnswer{}, err
		}
		data = checked
	}
	reached, err := c.server.store.SendToPlayer(ctx,
		db.NewPlayerMessage{Region: c.region, ProjectID: c.project, Recipient: to,
			FromSession: c.sessionEpoch.ID, FromPlayer: c.player, Type: kind, Data: data})
	return rpcAnswer{P: map[string]any{"reached": reached}}, err
}

// listPlayerMessages answers with the last messages to the player, also those that it has read.
func listPlayerMessages(ctx context.Context, c *conn, e wire.Envelope) (rpcAnswer, error) {
	after := wire.ClampInteger(e.PayloadFields()["after"], 0, 0, maxMessageNumber)
	found, err := c.server.store.PlayerMessages(ctx, c.region, c.sessionEpoch.ID, int64(after))
	if err != nil {
		return rpcAnswer{}, err
	}
	messages := make([]any, len(found))
	for i, m := range found {
		messages[i] = delivery.PlayerMessagePayload(m)
	}
	return rpcAnswer{P: map[string]any{"messages": messages}, EventType: "player.history"}, nil
}

// markMessagesRead notes up to which message the player has read, so that its next sessions are not sent those again.
func markMessagesRead(ctx context.Context, c *conn, e wire.Envelope) (rpcAnswer, error) {
	number, is := e.PayloadFields()["number"].(float64)
	if !is || number < 1 || number > maxMessageNumber {
		return rpcAnswer{}, wire.InvalidField("number", "has to be that of a message")
	}
	return rpcAnswer{}, c.server.store.MarkMessagesRead(ctx, c.region, c.project, c.player, int64(number))
}
