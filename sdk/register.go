package sdk

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
)

// maxReplaceAttempts bounds the attempts to register with the incarnation that a refusal names. The first refusal names
// the incarnation of the previous process. Later ones come only from this process's own attempts whose answers were
// lost.
const maxReplaceAttempts = 5

// registerAgain replaces an incarnation that the director no longer knows. Of several concurrent calls, the first one
// registers.
func (s *GameServer) registerAgain(ctx context.Context, unknown string) error {
	if err := s.lockRegistration(ctx); err != nil {
		return err
	}
	defer s.unlockRegistration()
	if s.ownRef().Incarnation != unknown || s.isClosing() {
		return nil
	}
	return s.registerDraining(ctx)
}

// enrolAgain replaces a credential that the director has refused, after a time in which it could not be renewed. Of
// several concurrent calls, the first one registers. The refused credential stays until there is another, so that the
// next call tries again if the enrolment has no place now.
func (s *GameServer) enrolAgain(ctx context.Context, refused string) error {
	if err := s.lockRegistration(ctx); err != nil {
		return err
	}
	defer s.unlockRegistration()
	if s.ownCredential() != refused || s.isClosing() {
		return nil
	}
	return s.registerDraining(ctx)
}

// registerDraining registers again, and repeats a drain.
func (s *GameServer) registerDraining(ctx context.Context) error {
	if err := s.registerLocked(ctx); err != nil {
		return err
	}
	if s.isDraining() { // Read after the registration, because Drain may have been called during it.
		return s.callFleet(ctx, "/fleet/drain", drainRequestOf(s.ownRef(), true), nil)
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

// endIfFinal ends the server for a refusal after which this process can never register.
func (s *GameServer) endIfFinal(refusal error) {
	switch {
	case errors.Is(refusal, ErrSuperseded):
		s.endSuperseded(refusal)
	case errors.Is(refusal, ErrDeploymentOver):
		s.log.LogAttrs(s.lifeContext, slog.LevelError, "the deployment is over", slog.Any("error", refusal))
		s.endLife(refusal)
	}
}

// registerLocked registers, and ends the server after a final refusal. With a new incarnation it drops the sessions of
// the old one. The caller holds the registerLock.
func (s *GameServer) registerLocked(ctx context.Context) error {
	answer, cell, err := s.registerReplacing(ctx)
	if err != nil {
		s.endIfFinal(err)
		return err
	}
	s.noteStatus(answer)
	s.mu.Lock()
	// A director that returns no incarnation may have made a new one each time.
	renewed := s.incarnation != answer.Incarnation || answer.Incarnation == ""
	hasMoved := s.cellAddress != cell
	s.incarnation, s.cellAddress = answer.Incarnation, cell
	s.mu.Unlock()
	if hasMoved {
		if err := s.renewKeySource(); err != nil {
			return err
		}
	}
	lost := 0
	if renewed {
		lost = s.seatReports.forgetAll()
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "registered",
		slog.String("endpoint", s.Endpoint()), slog.Int("sessions_lost", lost))
	return nil
}

// registerReplacing names the incarnation that the registration replaces, so that the director refuses one that arrives
// late, after another process has registered. A process without an incarnation learns from the first refusal which one
// it replaces. A process whose credential is refused registers by its enrolment.
func (s *GameServer) registerReplacing(ctx context.Context) (answer statusAnswer, cell string, err error) {
	replaces, secret := cmp.Or(s.ownRef().Incarnation, noIncarnation), s.callSecret()
	for range maxReplaceAttempts {
		cell, err = s.client.doAt(ctx, call{method: http.MethodPost, path: "/fleet/register",
			header: fleetHeader(secret), body: s.registrationFor(replaces), region: s.serverOptions.Region}, &answer)
		refusal, refused := errors.AsType[*Error](err)
		switch {
		case refused && refusal.incarnation != "":
			replaces = refusal.incarnation
		case refused && refusesCredential(refusal) && secret != s.serverOptions.FleetToken:
			secret = s.serverOptions.FleetToken
		default:
			return answer, cell, err
		}
	}
	return answer, cell, err
}

func (s *GameServer) registrationFor(replaces string) registerRequest {
	o := s.offeredState()
	return registerRequest{
		InstanceID: o.InstanceID, Endpoint: o.Endpoint, Region: o.Region, Modes: o.Modes,
		Capacity: o.Capacity, MaxSessions: o.MaxSessions, Labels: o.Labels, Version: o.Version,
		CertDigest: o.CertDigest, ProviderRef: o.ProviderRef,
		Load: s.currentLoad(), ReportsSeats: true, BootID: s.bootID, Replaces: replaces,
	}
}

func (s *GameServer) lockRegistration(ctx context.Context) error {
	select {
	case s.registerLock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *GameServer) unlockRegistration() { <-s.registerLock }
