package realtime

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/texts"
	"github.com/lattice-director/director/server/realtime/wire"
)

// sayChecked says in a room what the hook of the operator allows. What a connection says stays in its order.
func sayChecked(room string, m lobby.Message) rpc {
	return runInOrder(func(ctx context.Context, c *conn, _ wire.Envelope) (rpcAnswer, error) {
		data, err := c.checkText(ctx, texts.Message{Room: room, Data: m.Data})
		if err != nil {
			return rpcAnswer{}, err
		}
		m.Data = data
		return c.sayInRoom(ctx, room, m)()
	})
}

// checkText returns the data of a message as the hook wants it.
func (c *conn) checkText(ctx context.Context, m texts.Message) (json.RawMessage, error) {
	m.Project, m.Session, m.Player = c.project, c.sessionEpoch.ID, c.player
	data, err := c.server.textHook.Check(ctx, m)
	if refused, is := errors.AsType[*texts.Refused](err); is {
		fail := &wire.Failure{Code: "text_refused", Text: refused.Error()}
		if refused.Reason != "" {
			fail.Text = refused.Reason
		}
		return nil, fail
	}
	if err != nil {
		return nil, wire.FailUnavailable
	}
	return data, nil
}
