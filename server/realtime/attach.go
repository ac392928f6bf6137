package realtime

import (
	"context"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// maxSessionID bounds the id that a client wants to resume; a longer one is not ours.
const maxSessionID = 64

// attach opens or resumes the session of a client that may have one.
func (h *handshake) attach(ctx context.Context, who identity, chosen codec, resume string) (*conn, *refusal) {
	l, refused := h.lifeOf(ctx, who)
	if refused != nil {
		return nil, refused
	}
	if len(resume) > maxSessionID {
		resume = ""
	}
	opened, err := h.store.OpenRealtime(ctx, h.opening(who, l, resume))
	if err != nil {
		l.unattended.suspect(err)
		return nil, h.refusalOf(ctx, who, err)
	}
	if opened.TookOver {
		h.metrics.takeovers.Inc()
	}
	c := newConn(l, h, who, chosen, opened)
	if !l.add(c) { // the replica was ended by others, or stops
		l.suspend(c.session)
		return nil, refuseUnavailable
	}
	h.greet(c, who, opened)
	return c, nil
}

// lifeOf returns this replica's life in the region of a project. A client without a token may name a project that does not exist.
func (h *handshake) lifeOf(ctx context.Context, who identity) (*life, *refusal) {
	name, err := h.store.ProjectRegion(ctx, who.project)
	if fault.Is(err, fault.NotFound) {
		name, err = h.options.Region, nil
	}
	if err != nil {
		return nil, h.refusalOf(ctx, who, err)
	}
	r := h.regionOf(name)
	if r == nil {
		return nil, refuseUnavailable
	}
	if l := r.current(ctx); l != nil {
		return l, nil
	}
	return nil, refuseUnavailable
}

// greet queues handshake.ok, which goes out at once, and what the hub sends to a new connection, which waits: the SDK loses frames that arrive right
// behind handshake.ok.
func (h *handshake) greet(c *conn, who identity, opened db.OpenedRealtime) {
	ok := c.codec.Encode(outgoing{Type: "handshake.ok", P: map[string]any{
		"codec": c.codec.Name(), "session_id": opened.ID, "resumed": opened.Resumed,
		"auth_mode": string(h.options.Auth), "authenticated": who.authenticated, "project_id": who.project,
	}})
	ctx, cancel := context.WithTimeout(context.Background(), h.options.timing.write)
	defer cancel()
	if c.writeFrame(ctx, ok) != nil {
		c.cut()
		return
	}
	if !opened.Resumed && opened.Previous != "" {
		c.send(pushEvent, outgoing{Type: "session.replaced", P: map[string]any{"session_id": opened.ID, "previous": opened.Previous}})
	}
	c.hub.attach(c, opened)
	time.AfterFunc(h.options.timing.hold, c.release)
}

// run serves the connection until it ends, and then suspends the session.
func (c *conn) run() {
	c.server.wheel.add(c)
	c.ended(c.server.guard.Do("realtime reader", c.read))
	c.server.wheel.remove(c)
	c.running.Wait()
	c.hub.detach(c)
	if !c.isDisowned() {
		c.life.suspend(c.session)
	}
	c.life.remove(c)
}

func (c *conn) isDisowned() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.disowned
}
