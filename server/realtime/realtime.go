package realtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/server/realtime/texts"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/server/ws"
)

// New makes a Server that is not started. It makes no database call. Errors: an option is missing or invalid; the
// metrics are already registered.
func New(store *db.Store, options Options) (*Server, error) {
	if store == nil {
		return nil, errors.New("realtime: a store is required")
	}
	o, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	trusted, err := rest.ParseProxies(o.TrustedProxies)
	if err != nil {
		return nil, fmt.Errorf("realtime: trusted proxies: %w", err)
	}
	s := &Server{
		store: store, options: o, secrets: newSecrets(store, o), trustedProxies: trusted,
		failureLimiter: rest.NewLimiter(o.FailureRate), codeLimiter: rest.NewLimiter(codeRate),
		outageLog: outage.New(o.Log), connSlots: ws.NewSlots(o.MaxConnections), playerRates: newPlayerRates(),
		messageReader: ws.NewReader(messageLimits),
		regionsByName: map[string]*region{}, connsClosed: make(chan struct{}), runEnded: make(chan struct{}),
	}
	s.handshakeContext, s.endHandshakes = context.WithCancel(context.Background())
	s.metrics = newMetrics(func() float64 { return float64(s.connSlots.Count()) })
	if o.Metrics != nil {
		if err := s.metrics.register(o.Metrics); err != nil {
			return nil, fmt.Errorf("realtime: %w", err)
		}
	}
	s.guard = panics.New(o.Log, s.metrics.panics)
	s.rpcs = s.allRPCs()
	s.roomLists = newRoomLists(s)
	s.presences = newPresences(s)
	s.textHook = texts.New(o.TextHook, o.TextHookFailOpen, s.outageLog.Call("check texts").Report)
	s.http = rest.NewHTTPServer(rest.HTTPOptions{Handler: s, Addr: o.Addr, Listener: o.Listener, TLS: o.TLS,
		HTTP1: true, Log: o.Log})
	return s, nil
}

// Run keeps the leases of this replica, delivers what happens in rooms and pings clients, until [Server.Stop] has
// closed all connections. If ctx ends before that, connections are cut, and workers suspend their sessions when the
// lease expires. Upgrades get 503 until Run has reached the database.
func (s *Server) Run(ctx context.Context) {
	defer close(s.runEnded)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.runContext = ctx
	s.mu.Unlock()
	s.runningLoops.Go(func() { s.ensureProfiles(ctx) })
	// The region of the cell is begun at once, since IsReady needs it; others begin with their first client.
	s.ensureRegion(s.options.Region)
	select {
	case <-s.connsClosed:
	case <-ctx.Done():
	}
	// The list is complete: ensureRegion begins no region while the server drains, or after ctx has ended.
	for _, r := range s.allRegions() {
		<-r.hasEnded
	}
	// Ends the loops that follow lists and players: connections that were cut may not have ended them.
	cancel()
	s.runningLoops.Wait()
}
