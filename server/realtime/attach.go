package realtime

import (
	"context"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/realtime/delivery"
	"github.com/lattice-director/director/server/realtime/wire"
)

// maxSessionID bounds the id that a client wants to resume; a longer one is not ours.
const maxSessionID = 64

// attach opens or resumes the session of a client that may have one.
func (h *handshake) attach(ctx context.Context, who identity, chosen wire.Codec, resume string) (*conn, *refusal) {
	r, refused := h.replicaOf(ctx, who)
	if refused != nil {
		return nil, refused
	}
	// It cannot name a session, so the client gets a new one, as with an id that has expired.
	if len(resume) > maxSessionID {
		resume = ""
	}
	opened, err := h.server.store.OpenRealtime(ctx, h.opening(who, r, resume))
	if err != nil {
		// The call may have opened the session although its answer was lost: then this replica owns a session that has
		// no connection.
		r.unattended.suspect(err)
		return nil, h.refusalOf(ctx, who, err)
	}
	if opened.TookOver {
		h.server.metrics.takeovers.Inc()
	}
	c := newConn(r, h, who, chosen, opened)
	if !r.conns.Add(c, c) { // others have ended this id, or the server stops
		// The store has recorded this replica as the owner of the session. Nobody else would notice that its client is
		// gone, so it is suspended here.
		h.server.rates.leave(c.playerName())
		r.suspend(c.session, 0)
		return nil, refuseUnavailable
	}
	h.greet(c, who, opened)
	return c, nil
}

// replicaOf returns the id of this replica in the region of a project. A client without a token may name a project that
// does not exist.
func (h *handshake) replicaOf(ctx context.Context, who identity) (*replica, *refusal) {
	name, err := h.server.store.ProjectRegion(ctx, who.project)
	if fault.Is(err, fault.NotFound) {
		// Such a project has no region of its own.
		name, err = h.server.options.Region, nil
	}
	if err != nil {
		return nil, h.refusalOf(ctx, who, err)
	}
	in := h.server.regionOf(name)
	if in == nil {
		return nil, refuseUnavailable
	}
	if r := in.await(ctx); r != nil {
		return r, nil
	}
	return nil, refuseUnavailable
}

// greet queues handshake.ok, which goes out at once, and what the hub sends to a new connection, which waits: the SDK
// loses frames that arrive right behind handshake.ok.
func (h *handshake) greet(c *conn, who identity, opened db.OpenedRealtime) {
	ok := c.codec.Encode(wire.Outgoing{Type: "handshake.ok", P: map[string]any{
		"codec": c.codec.Name(), "session_id": opened.ID, "resumed": opened.Resumed,
		"auth_mode": string(h.server.options.Auth), "authenticated": who.authenticated, "project_id": who.project,
	}})
	h.server.metrics.sent.Inc()
	// Written here and not through the outbox, which holds what the hub pushes until the client has sent a frame, or
	// until the timer below.
	if c.ws.Write(c.messageKind(), ok) != nil {
		c.cutOff()
		return
	}
	// The session that the client had is over: it must not go on with what it knows of its rooms.
	if !opened.Resumed && opened.Previous != "" {
		c.send(delivery.PushEvent, wire.Outgoing{Type: "session.replaced",
			P: map[string]any{"session_id": opened.ID, "previous": opened.Previous}})
	}
	c.hub.Attach(c, opened)
	time.AfterFunc(h.server.options.timing.hold, c.releasePushes)
}

// run serves the connection until it ends, and then suspends the session.
func (c *conn) run() {
	stopPings := c.ws.KeepAlive(c.pings(), c.onSilence)
	c.endReading(c.server.guard.Do("realtime reader", c.read))
	stopPings()
	// Actions that were begun are completed, and their news reaches the members of the rooms, before the hub forgets
	// this connection.
	c.running.Wait()
	c.hub.Detach(c)
	c.server.lists.forget(c)
	c.server.presences.forget(c)
	if !c.isDisowned() {
		// Before the connection leaves the set: a replica that stops renews its lease until the set is empty. Without
		// the lease, workers would suspend the session, and later.
		c.replica.suspend(c.session, c.silence())
	}
	c.server.rates.leave(c.playerName())
	c.replica.conns.Remove(c)
}

// silence returns for how long the client may not have been heard when its connection ended.
func (c *conn) silence() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wasSilent {
		return c.server.options.timing.silence()
	}
	return 0
}

func (c *conn) isDisowned() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessionTaken
}
