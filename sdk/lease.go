package sdk

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"
)

// maxTakeovers bounds how often a registration is repeated in the place of the incarnation that a refusal names: one names the
// process before this one, others come only from own attempts whose answers were lost.
const maxTakeovers = 5

// heartbeats keeps the lease alive for the server's life.
func (s *GameServer) heartbeats() {
	for s.sleep(jittered(s.opts.HeartbeatEvery)) {
		if err := s.heartbeat(); err != nil && s.life.Err() == nil {
			s.log.LogAttrs(s.life, slog.LevelError, "heartbeat refused", slog.Any("error", err))
		}
	}
}

func (s *GameServer) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.life.Done():
		return false
	}
}

// jittered shortens d by up to a fifth; longer pauses would eat into the lease.
func jittered(d time.Duration) time.Duration {
	return d - time.Duration(rand.Float64()*float64(d)/5)
}

// heartbeat is repeated through an outage of any length: the director's amnesty waits for it.
func (s *GameServer) heartbeat() error {
	load := s.load()
	err := s.fenced(s.life, "/fleet/heartbeat", false, func(ref instanceRef) any {
		return heartbeatRequest{instanceRef: ref, Load: load}
	}, nil)
	if errors.Is(err, ErrUnknownInstance) {
		return nil // fenced has registered anew, which counts as a heartbeat.
	}
	return err
}

// fenced sends a request in the name of the current incarnation and acts on what a refusal says about it. Unknown: the
// server is registered anew, and ErrUnknownInstance returned, since what the request spoke of is gone. Superseded: the
// server ends.
func (s *GameServer) fenced(ctx context.Context, path string, once bool, body func(instanceRef) any, out any) error {
	ref := s.ref()
	err := s.call(ctx, path, once, body(ref), out)
	switch {
	case errors.Is(err, ErrUnknownInstance):
		if again := s.registerAgain(ctx, ref.Incarnation); again != nil {
			return again
		}
	case errors.Is(err, ErrSuperseded):
		return s.superseded(ctx, ref.Incarnation, err)
	}
	return err
}

// superseded ends the server, unless the request merely crossed a new registration of our own: that is waited for
// before incarnations are compared, and the request counts as one of a life that is over.
func (s *GameServer) superseded(ctx context.Context, used string, err error) error {
	if lockErr := s.lockRegistration(ctx); lockErr != nil {
		return lockErr
	}
	defer s.unlockRegistration()
	if s.ref().Incarnation != used {
		return ErrUnknownInstance
	}
	s.endSuperseded(err)
	return err
}

func (s *GameServer) endSuperseded(err error) {
	s.log.LogAttrs(s.life, slog.LevelError, "superseded: another process has this instance id", slog.Any("error", err))
	s.end(err)
}

// registerAgain replaces the incarnation that the director no longer knows; of several who found out, one does it.
func (s *GameServer) registerAgain(ctx context.Context, unknown string) error {
	if err := s.lockRegistration(ctx); err != nil {
		return err
	}
	defer s.unlockRegistration()
	if s.ref().Incarnation != unknown || s.isClosing() {
		return nil
	}
	if err := s.registerLocked(ctx); err != nil {
		return err
	}
	if s.isDraining() { // Asked now: the wish may have come while the registration was under way.
		return s.call(ctx, "/fleet/drain", false, drainRequest{instanceRef: s.ref(), Drain: true}, nil)
	}
	return nil
}

func (s *GameServer) register(ctx context.Context) error {
	if err := s.lockRegistration(ctx); err != nil {
		return err
	}
	defer s.unlockRegistration()
	return s.registerLocked(ctx)
}

// registerLocked ends the server if even the registration is refused as superseded. A new incarnation has none of the
// old one's sessions.
func (s *GameServer) registerLocked(ctx context.Context) error {
	answer, err := s.takePlace(ctx)
	if errors.Is(err, ErrSuperseded) {
		s.endSuperseded(err)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	renewed := s.incarnation != answer.Incarnation || answer.Incarnation == ""
	s.incarnation = answer.Incarnation
	s.mu.Unlock()
	lost := 0
	if renewed {
		lost = s.seats.forget()
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "registered",
		slog.String("endpoint", s.opts.Endpoint), slog.Int("sessions_lost", lost))
	return nil
}

// takePlace registers in the place of the incarnation that this process had, so that a registration which is delivered
// late, after another process has registered, is refused. A process that never had one learns from the first refusal
// whose place it takes.
func (s *GameServer) takePlace(ctx context.Context) (answer registerAnswer, err error) {
	replaces := cmp.Or(s.ref().Incarnation, noIncarnation)
	for range maxTakeovers {
		err = s.call(ctx, "/fleet/register", false, s.registration(replaces), &answer)
		refusal, refused := errors.AsType[*Error](err)
		if !refused || refusal.incarnation == "" {
			break
		}
		replaces = refusal.incarnation
	}
	return answer, err
}

func (s *GameServer) registration(replaces string) registerRequest {
	return registerRequest{
		InstanceID: s.opts.InstanceID, Endpoint: s.opts.Endpoint, Region: s.opts.Region, Modes: s.opts.Modes,
		Capacity: s.opts.Capacity, MaxSessions: s.opts.MaxSessions, Labels: s.opts.Labels, Version: s.opts.Version,
		Load: s.load(), ReportsSeats: true, BootID: s.bootID, Replaces: replaces,
	}
}

func (s *GameServer) lockRegistration(ctx context.Context) error {
	select {
	case s.registering <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *GameServer) unlockRegistration() { <-s.registering }
