package agents

import (
	"context"
	"errors"
	"fmt"

	"github.com/coder/websocket"

	"github.com/lattice-director/director/internal/testkit/agents/wire"
)

// conversation is one connection.
type conversation struct {
	agent   *Agent
	ws      *websocket.Conn
	greeted bool
	seq     uint32 // of the last state
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
		if err := c.receive(ctx, message); err != nil {
			return err
		}
	}
}

func (c *conversation) receive(ctx context.Context, message []byte) error {
	decoded, err := wire.Decode(message)
	if errors.Is(err, wire.ErrVersion) {
		return fmt.Errorf("%w: %w", ErrIncompatible, err)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrGarbled, err)
	}
	switch m := decoded.(type) {
	case wire.Hello:
		return c.hello(m)
	case wire.Poll:
		c.poll(ctx, m)
	case wire.Command:
		c.command(ctx, m)
	}
	return nil
}

func (c *conversation) hello(h wire.Hello) error {
	if h.ProtocolVersion != wire.Version {
		return fmt.Errorf("%w: %d", ErrIncompatible, h.ProtocolVersion)
	}
	c.greeted, c.seq = true, 0
	c.agent.setInstanceID(h.InstanceID)
	return nil
}

// poll answers in full unless the orchestrator knows the present state.
func (c *conversation) poll(ctx context.Context, p wire.Poll) {
	c.agent.answer(nil, func(e echo) bool { return e.status == p.Status })
	c.seq++
	snapshot, hash := c.agent.game.state()
	s := wire.State{ReqID: p.ReqID, IsFull: p.KnownHash == nil || *p.KnownHash != hash, Seq: c.seq, Hash: hash,
		Snapshot: snapshot}
	c.send(ctx, wire.TopicState, s.Frame())
}

func (c *conversation) command(ctx context.Context, m wire.Command) {
	ack := wire.Ack{CommandID: m.ID, OK: true}
	switch m.Op {
	case wire.Create:
		ack = c.agent.create(m)
	case wire.Destroy:
		ack.AlreadyGone = !c.agent.game.close(m.RoomID)
	case wire.Drain:
		c.agent.game.setStatus(wire.Draining)
	case wire.Undrain:
		c.agent.game.setStatus(wire.Active)
	}
	c.send(ctx, wire.TopicAck, ack.Frame())
}

func (a *Agent) create(m wire.Command) wire.Ack {
	if err := a.game.create(m.RoomID, m.RoomType); err != nil {
		return wire.Ack{CommandID: m.ID, Error: err.Error(), Exists: errors.Is(err, errExists)}
	}
	return wire.Ack{CommandID: m.ID, OK: true, Room: &wire.RoomRef{ID: m.RoomID, Type: m.RoomType}}
}

// send ignores errors, as the original does: the next read says why the connection ended.
func (c *conversation) send(ctx context.Context, topic string, frame []byte) {
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
