package nats

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/wait"
)

// The calls of the database for one game server. Each is bounded, and so is the wait for the one before it: an answer
// that comes too late is a panic of the plugin.

const (
	callTimeout = 3 * time.Second
	retryPause  = 250 * time.Millisecond
)

// endsRegistration reports whether an error says that this process speaks for the deployment no more: it is over,
// another process took its place, it may not register, or another cell serves its region.
func endsRegistration(err error) bool {
	return slices.ContainsFunc([]fault.Kind{fault.Gone, fault.Superseded, fault.Forbidden, fault.Invalid, fault.Elsewhere},
		func(kind fault.Kind) bool { return fault.Is(err, kind) })
}

// inTurn makes a call when the one before it has ended. Errors: the call's; Unavailable if ctx ends before it begins.
func (g *gameServer) inTurn(ctx context.Context, call func(context.Context) error) error {
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return fault.NewUnavailable("an earlier call for this game server has not ended", ctx.Err())
	}
	defer func() { <-g.turn }()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return call(ctx)
}

// settlePending stores what is pending, and tries again while the database is unavailable, within holdWrite. Errors:
// those of a registration and of a list.
func (g *gameServer) settlePending(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, g.options.holdWrite)
	defer cancel()
	for {
		err := g.inTurn(ctx, g.storePending)
		if !fault.Is(err, fault.Unavailable) {
			return err
		}
		if !wait.For(ctx, retryPause) {
			return nil // the next renewal stores it
		}
	}
}

// renewAndStore renews the lease, and stores what is pending.
func (g *gameServer) renewAndStore(ctx context.Context) error {
	if err := g.inTurn(ctx, g.sendHeartbeat); err != nil {
		return err
	}
	return g.inTurn(ctx, g.storePending)
}

// sendHeartbeat renews the lease of a process that is registered.
func (g *gameServer) sendHeartbeat(ctx context.Context) error {
	ref, isRegistered := g.beginRenewal()
	if !isRegistered { // the registration that follows is the heartbeat
		return nil
	}
	_, err := g.store.Heartbeat(ctx, ref, nil)
	if fault.Is(err, fault.NotFound) { // the lease had expired
		g.requestRegistration()
		return nil
	}
	return err
}

// storePending stores what the game server has said and no row has. It is called in turn.
func (g *gameServer) storePending(ctx context.Context) error {
	if !g.hasBegun() {
		return nil
	}
	// The registration comes before the list, which names the incarnation.
	if g.unstored().needsRegistration {
		if err := g.registerProcess(ctx); err != nil {
			return err
		}
	}
	if g.unstored().needsList {
		return g.reportList(ctx)
	}
	return nil
}

// registerProcess registers the process, and then reads what its earlier connections have reported: a list without
// those clients would free their seats.
func (g *gameServer) registerProcess(ctx context.Context) error {
	r := g.registration()
	out, err := g.store.Register(ctx, r)
	g.metrics.countCall("register", err)
	if err != nil {
		if !fault.Is(err, fault.Unavailable) {
			// After an error nothing is lost: the next registration is refused and recorded as well.
			_ = g.store.NoteRefusedRegistration(ctx, g.deployment, err.Error())
		}
		return err
	}
	isNew := g.noteRegistered(r.CertDigest, out.Incarnation)
	if isNew {
		g.log.LogAttrs(ctx, slog.LevelInfo, "game server registered",
			slog.String("incarnation", out.Incarnation.String()))
	}
	return g.recallClients(ctx)
}

// recallClients reads the clients of the process's earlier connections, once, after its registration: another replica
// has acknowledged them, and the process does not report them again.
func (g *gameServer) recallClients(ctx context.Context) error {
	if !g.lacksEarlierClients() {
		return nil
	}
	clients, err := g.store.ConnectedClients(ctx, g.deployment.ID.String())
	if err != nil {
		g.requestRegistration()
		return err
	}
	g.addEarlier(clients)
	return nil
}

// reportList stores the list of clients. It returns nil also where the process has to be registered first, which asks
// for the list again.
func (g *gameServer) reportList(ctx context.Context) error {
	list := g.takeList()
	res, err := g.store.ReportClients(ctx, list)
	g.metrics.countCall("clients", err)
	switch {
	case fault.Is(err, fault.NotFound):
		g.requestRegistration()
		return nil
	case fault.Is(err, fault.Conflict): // the version of the game server has no connect tokens
		g.log.LogAttrs(ctx, slog.LevelWarn, "the clients of a game server cannot be stored", slog.Any("error", err))
	case err != nil:
		return err
	}
	isCurrent := g.noteStored(list, res.RefusedClients)
	// The newer list that is due has refused clients of its own.
	if !isCurrent {
		return nil
	}
	for _, r := range res.RefusedClients {
		g.metrics.refusedClients.WithLabelValues(string(r.SeatResult)).Inc()
		g.log.LogAttrs(ctx, slog.LevelWarn, "a client without a seat is connected to the game server",
			slog.Uint64("client_id", r.ClientID), slog.String("result", string(r.SeatResult)))
	}
	return nil
}

// awaitSession returns the session of a client, "" if it has none, and waits while the database is unavailable, within
// holdRead. Errors: it is still unavailable.
func (g *gameServer) awaitSession(ctx context.Context, client uint64) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, g.options.holdRead)
	defer cancel()
	for {
		// Any error is retried: the client must get its session if that can be read within holdRead.
		session, err := g.readSession(ctx, client)
		g.metrics.countCall("session", err)
		if err == nil || !wait.For(ctx, retryPause) {
			return session, err
		}
	}
}

func (g *gameServer) readSession(ctx context.Context, client uint64) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return g.store.ClientSession(ctx, g.deployment, client)
}
