package sdk

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"
)

// shutdownCallTimeout bounds Shutdown's drain and, separately, its Close, which runs also when ctx has ended.
const shutdownCallTimeout = 5 * time.Second

// Start registers a game server and keeps it registered until Close, Shutdown or [ErrSuperseded]. ctx bounds only the
// first registration, which is retried while the director is unreachable. Invalid options and a wrong token fail at
// once.
func Start(ctx context.Context, client *Client, opts ServerOptions) (*GameServer, error) {
	s, err := newGameServer(client, opts)
	if err != nil {
		return nil, err
	}
	if err := s.register(ctx); err != nil {
		s.endLife(err)
		return nil, err
	}
	s.runningLoops.Go(s.runHeartbeats)
	// Read now, so that the first player need not wait. On failure, the first Admit reads them.
	_, _ = s.keysOfCell().Keys(ctx)
	return s, nil
}

func newGameServer(client *Client, opts ServerOptions) (*GameServer, error) {
	opts.HeartbeatEvery = positiveOr(opts.HeartbeatEvery, DefaultHeartbeatEvery)
	s := &GameServer{
		serverOptions: opts, client: client, bootID: rand.Text(), spentTokens: newSpentTokens(),
		log:          client.clientOptions.Logger.With(slog.String("instance_id", opts.InstanceID)),
		registerLock: make(chan struct{}, 1), endpoint: opts.Endpoint, unwantedSignal: make(chan struct{}),
	}
	if err := s.renewKeySource(); err != nil {
		return nil, err
	}
	s.lifeContext, s.endLife = context.WithCancelCause(context.Background())
	s.seatReports = newSeatReporter(s.lifeContext, client.clientOptions, s.reportSeats)
	return s, nil
}

// Drain stops (true) or resumes (false) the placement of players on this server. Running sessions and heartbeats
// continue. The setting survives a new registration.
func (s *GameServer) Drain(ctx context.Context, drain bool) error {
	s.mu.Lock()
	s.draining = drain
	s.mu.Unlock()
	err := s.sendDrain(ctx, drain)
	if errors.Is(err, ErrUnknownInstance) {
		return nil // The server has registered again meanwhile, and reported its draining with that.
	}
	return err
}

// Offer changes what the server offers: its modes, capacity, limit of sessions, labels, version and certificate. The
// other options stay. Running sessions and the drain stay, too. If it fails, the change may be registered later.
// Errors: those of Start; [ErrClosed].
func (s *GameServer) Offer(ctx context.Context, o ServerOptions) error {
	if err := s.lockRegistration(ctx); err != nil {
		return err
	}
	defer s.unlockRegistration()
	if s.isClosing() {
		return ErrClosed
	}
	s.mu.Lock()
	s.serverOptions.Modes, s.serverOptions.Capacity, s.serverOptions.MaxSessions = o.Modes, o.Capacity, o.MaxSessions
	s.serverOptions.Labels, s.serverOptions.Version, s.serverOptions.CertDigest = o.Labels, o.Version, o.CertDigest
	s.mu.Unlock()
	return s.registerLocked(ctx)
}

func (s *GameServer) sendDrain(ctx context.Context, drain bool) error {
	return s.callFenced(ctx, "/fleet/drain", func(ref instanceRef) any {
		return drainRequestOf(ref, drain)
	}, nil)
}

// Close sends the remaining reports, deregisters and ends the server. If ctx ends first, Close ends the server anyway
// and returns why it could not deregister; the director then notices when the lease expires. The director closes the
// sessions that are still open. A second call waits for the first and returns the same.
func (s *GameServer) Close(ctx context.Context) error {
	s.closeOnce.Do(func() {
		s.mu.Lock()
		s.closing = true
		s.mu.Unlock()
		if s.lifeContext.Err() == nil {
			s.closeErr = errors.Join(s.seatReports.flushReports(ctx), s.deregisterOnce(ctx))
		}
		s.finishRun(ctx)
	})
	return s.closeErr
}

func (s *GameServer) finishRun(ctx context.Context) {
	s.endLife(ErrClosed)
	s.runningLoops.Wait()
	// Waits for the workers only: reports in flight end with s.lifeContext.
	_ = s.seatReports.flushReports(context.WithoutCancel(ctx))
}

// deregisterOnce waits for a registration in flight, which could otherwise arrive later and register a server that has
// ended.
func (s *GameServer) deregisterOnce(ctx context.Context) error {
	if err := s.lockRegistration(ctx); err != nil {
		return err
	}
	defer s.unlockRegistration()
	err := s.callFleet(ctx, "/fleet/deregister", s.ownRef(), nil)
	if errors.Is(err, ErrUnknownInstance) || errors.Is(err, ErrSuperseded) {
		return nil // The answer to an earlier attempt was lost, or the registration had ended already.
	}
	return err
}

// Shutdown drains, waits until the last player has left or ctx ends, and then closes, for which it takes up to 5 s
// more. It returns [ErrSuperseded] early if another process registers with this instance id meanwhile.
func (s *GameServer) Shutdown(ctx context.Context) error {
	drainCtx, cancel := context.WithTimeout(ctx, shutdownCallTimeout)
	defer cancel()
	if err := s.Drain(drainCtx, true); err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "could not drain", slog.Any("error", err))
	}
	_ = s.seatReports.waitUntilEmpty(ctx) // The next steps are the same after an early return.
	if errors.Is(s.Err(), ErrSuperseded) {
		s.finishRun(ctx)
		return s.Err()
	}
	closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownCallTimeout)
	defer cancel()
	return s.Close(closeCtx)
}
