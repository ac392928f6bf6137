package agents

import (
	"context"
	"errors"
	"fmt"

	"github.com/coder/websocket"

	"github.com/lattice-director/director/internal/testkit/agents/wire"
)

// conversation is one connection, with what the protocol counts anew on each.
type conversation struct {
	agent      *Agent
	ws         *websocket.Conn
	wasGreeted bool
	stateSeq   uint32 // of the last state; 0: none yet
}

// run reads until the connection ends. It returns the error of reading, ErrGarbled or ErrIncompatible.
func (c *conversation) run(ctx context.Context) error {
	for {
		kind, message, err := c.ws.Read(ctx)
		if err != nil {
			return err
		}
		if kind != websocket.MessageBinary {
			return fmt.Errorf("%w: text message", ErrGarbled)
		}
		if err := c.receiveMessage(ctx, message); err != nil {
			return err
		}
	}
}

// receiveMessage handles a message of the orchestrator. It returns ErrIncompatible or ErrGarbled, which end Run.
func (c *conversation) receiveMessage(ctx context.Context, message []byte) error {
	decoded, err := wire.Decode(message)
	if errors.Is(err, wire.ErrVersion) {
		return fmt.Errorf("%w: %w", ErrIncompatible, err)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrGarbled, err)
	}
	switch m := decoded.(type) {
	case wire.Hello:
		return c.handleHello(m)
	case wire.Poll:
		c.answerPoll(ctx, m)
	case wire.Command:
		c.runCommand(ctx, m)
	}
	return nil
}

func (c *conversation) handleHello(h wire.Hello) error {
	if h.ProtocolVersion != wire.Version {
		return fmt.Errorf("%w: %d", ErrIncompatible, h.ProtocolVersion)
	}
	// The states that follow a hello are numbered from 1.
	c.wasGreeted, c.stateSeq = true, 0
	c.agent.setInstanceID(h.InstanceID)
	return nil
}

// answerPoll sends the state of the game server, in full unless the orchestrator knows it.
func (c *conversation) answerPoll(ctx context.Context, p wire.Poll) {
	// The poll says which status the orchestrator has recorded.
	c.agent.endWaits(nil, func(w statusWait) bool { return w.status == p.Status })
	c.stateSeq++
	snapshot, hash := c.agent.game.currentState()
	s := wire.State{ReqID: p.ReqID, IsFull: p.KnownHash == nil || *p.KnownHash != hash, Seq: c.stateSeq, Hash: hash,
		Snapshot: snapshot}
	c.sendFrame(ctx, wire.TopicState, s.Frame())
}

func (c *conversation) runCommand(ctx context.Context, m wire.Command) {
	ack := wire.Ack{CommandID: m.ID, OK: true}
	switch m.Op {
	case wire.Create:
		ack = c.agent.createRoom(m)
	case wire.Destroy:
		ack.AlreadyGone = !c.agent.game.closeRoom(m.RoomID)
	case wire.Drain:
		c.agent.game.setStatus(wire.Draining)
	case wire.Undrain:
		c.agent.game.setStatus(wire.Active)
	}
	c.sendFrame(ctx, wire.TopicAck, ack.Frame())
}

func (a *Agent) createRoom(m wire.Command) wire.Ack {
	if err := a.game.createRoom(m.RoomID, m.RoomType); err != nil {
		return wire.Ack{CommandID: m.ID, Error: err.Error(), Exists: errors.Is(err, errExists)}
	}
	return wire.Ack{CommandID: m.ID, OK: true, Room: &wire.RoomRef{ID: m.RoomID, Type: m.RoomType}}
}

// sendFrame sends a frame, or has Config.Send do so. It ignores errors, as the original does: the next read says why
// the connection ended.
func (c *conversation) sendFrame(ctx context.Context, topic string, frame []byte) {
	send := func() {
		ctx, cancel := context.WithTimeout(ctx, writeTimeout)
		defer cancel()
		_ = c.ws.Write(ctx, websocket.MessageBinary, frame)
	}
	if c.agent.cfg.Send != nil {
		c.agent.cfg.Send(topic, send)
		return
	}
	send()
}
