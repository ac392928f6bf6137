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

// attachSession opens or resumes the session of a client that may have one.
func (h *handshake) attachSession(ctx context.Context, who identity, chosen wire.Codec,
	resume string) (*conn, *refusal) {
	r, refused := h.replicaOf(ctx, who)
	if refused != nil {
		return nil, refused
	}
	// Such an id cannot name a session, so the client gets a new one, as with an id that has expired.
	if len(resume) > maxSessionID {
		resume = ""
	}
	opened, err := h.server.store.OpenRealtime(ctx, h.openRequest(who, r, resume))
	if err != nil {
		// The call may have opened the session although its answer was lost: then this replica owns a session that has
		// no connection.
		r.unattended.noteFailedCall(err)
		return nil, h.refusalOf(ctx, who, err)
	}
	if opened.TookOver {
		h.server.metrics.takeovers.Inc()
	}
	c := newConn(r, h, who, chosen, opened)
	if !r.conns.Add(c, c) { // others have ended this id, or the server stops
		// The store has recorded this replica as the owner of the session. Nobody else would notice that its client is
		// gone, so it is suspended here.
		h.server.playerRates.leave(c.rateKey())
		r.suspendSession(c.sessionEpoch, 0)
		return nil, refuseUnavailable
	}
	h.greetClient(c, who, opened)
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
	projectRegion := h.server.ensureRegion(name)
	if projectRegion == nil { // the server stops
		return nil, refuseUnavailable
	}
	r := projectRegion.awaitReplica(ctx)
	if r == nil { // the database could not be reached in the time of a call
		return nil, refuseUnavailable
	}
	return r, nil
}

// greetClient queues handshake.ok, which goes out at once, and what the hub sends to a new connection, which waits: the
// SDK loses frames that arrive right behind handshake.ok.
func (h *handshake) greetClient(c *conn, who identity, opened db.OpenedRealtime) {
	ok := c.codec.Encode(wire.Outgoing{Type: "handshake.ok", P: map[string]any{
		"codec": c.codec.Name(), "session_id": opened.SessionID, "resumed": opened.IsResumed,
		"auth_mode": string(h.server.options.AuthMode), "authenticated": who.isAuthenticated, "project_id": who.project,
	}})
	h.server.metrics.sentFrames.Inc()
	// Written here and not through the outbox, which holds what the hub pushes until the client has sent a frame, or
	// until the timer below.
	if err := c.socket.WriteMessage(c.messageKind(), ok); err != nil {
		c.cutOff()
		return
	}
	// The client's former session is over, so what the client knows of its rooms does not hold any more.
	if !opened.IsResumed && opened.PreviousSession != "" {
		c.sendFrame(delivery.PushEvent, wire.Outgoing{Type: "session.replaced",
			P: map[string]any{"session_id": opened.SessionID, "previous": opened.PreviousSession}})
	}
	c.hub.AttachConn(c, opened)
	time.AfterFunc(h.server.options.timing.pushDelay, c.releasePushes)
}

// serveSession serves the connection until it ends, and then suspends the session.
func (c *conn) serveSession() {
	// Deferred, also for a panic: a replica that stops waits until the set is empty.
	defer c.replica.conns.Remove(c)
	defer c.server.playerRates.leave(c.rateKey())
	stopPings := c.socket.KeepAlive(c.pingOptions(), c.onSilence)
	c.endReading(c.server.guard.Do("realtime reader", c.readFrames))
	stopPings()
	// Actions that were begun are completed, and their news reaches the members of the rooms, before the hub forgets
	// this connection.
	c.running.Wait()
	c.hub.DetachConn(c)
	c.server.roomLists.forgetConn(c)
	c.server.presences.forgetConn(c)
	if !c.isDisowned() {
		// Before the connection leaves the set: a replica that stops renews its lease until the set is empty. Without
		// the lease, workers would suspend the session, and later.
		c.replica.suspendSession(c.sessionEpoch, c.silenceAtEnd())
	}
}

// silenceAtEnd returns for how long the client may have been silent when its connection ended.
func (c *conn) silenceAtEnd() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	// The client may have been gone since its last sign of life, and the session's time to live counts from then.
	if c.wasSilent {
		return c.server.options.timing.silenceLimit()
	}
	return 0
}

// openRequest returns what the store is asked for.
func (h *handshake) openRequest(who identity, r *replica, resume string) db.RealtimeRequest {
	return db.RealtimeRequest{
		Region: r.region.name, ProjectID: who.project, PlayerSub: who.player, IsAuthenticated: who.isAuthenticated,
		KeyID: who.keyID, KeyRequired: h.server.options.RequireKey, KeyScope: db.ScopeMint,
		TokenDigest: who.tokenDigest, TokenExpires: who.tokenExpires,
		ResumeTTL: h.server.options.SessionTTL, ResumedSession: resume, ResumeByKey: h.server.options.ResumeByKey,
		ReplicaID:  r.id,
		BackAction: h.server.options.RoomTypes.MarkBack,
	}
}
