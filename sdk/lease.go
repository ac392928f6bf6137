package sdk

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"
)

// maxReplaceAttempts bounds the attempts to register with the incarnation that a refusal names. The first refusal names
// the incarnation of the previous process. Later ones come only from this process's own attempts whose answers were
// lost.
const maxReplaceAttempts = 5

// runHeartbeats renews the lease until the server ends.
func (s *GameServer) runHeartbeats() {
	for s.sleepOrStop(jitterPause(s.serverOptions.HeartbeatEvery)) {
		if err := s.sendHeartbeat(s.lifeContext); err != nil && s.lifeContext.Err() == nil {
			s.log.LogAttrs(s.lifeContext, slog.LevelError, "heartbeat refused", slog.Any("error", err))
		}
	}
}

func (s *GameServer) sleepOrStop(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.lifeContext.Done():
		return false
	}
}

// jitterPause returns d, shortened by up to a fifth. A longer pause would come too close to the lease's end.
func jitterPause(d time.Duration) time.Duration {
	return d - time.Duration(rand.Float64()*float64(d)/5)
}

// sendHeartbeat retries through an outage of any length. After an outage the director expires no lease until the
// instances had time for a heartbeat.
func (s *GameServer) sendHeartbeat(ctx context.Context) error {
	load := s.currentLoad()
	var answer statusAnswer
	err := s.callFenced(ctx, "/fleet/heartbeat", false, func(ref instanceRef) any {
		return heartbeatRequest{InstanceID: ref.InstanceID, Incarnation: ref.Incarnation, Load: load}
	}, &answer)
	if err == nil {
		s.hearStatus(answer)
	}
	if errors.Is(err, ErrUnknownInstance) {
		return nil // callFenced has registered again, which counts as a heartbeat.
	}
	return err
}

// callFenced sends a request with the current incarnation; see callAsIncarnation.
func (s *GameServer) callFenced(ctx context.Context, path string, once bool, body func(instanceRef) any,
	out any) error {
	return s.callAsIncarnation(ctx, func(ref instanceRef) (cell string, err error) {
		return s.callAt(ctx, path, once, body(ref), out)
	})
}

// callAsIncarnation makes a call with the current incarnation and handles a refusal of that incarnation. If the director
// does not know it, callAsIncarnation registers again and returns ErrUnknownInstance, because the sessions that the call
// may concern have ended. It does the same where another cell serves the region by now, which may know an incarnation that
// this process had there before. If the incarnation is superseded, it ends the server. If the credential has expired,
// it gets another one and repeats the call.
func (s *GameServer) callAsIncarnation(ctx context.Context, send func(instanceRef) (cell string, err error)) error {
	ref, credential, registeredAt := s.ownRef(), s.ownCredential(), s.registeredAt()
	cell, err := send(ref)
	hasMoved := cell != registeredAt
	switch {
	case errors.Is(err, ErrUnauthorized) && credential != "":
		if again := s.enrolAgain(ctx, credential); again != nil {
			return errors.Join(err, again)
		}
		if s.ownRef().Incarnation != ref.Incarnation {
			return ErrUnknownInstance
		}
		_, err = send(ref)
		return err
	case errors.Is(err, ErrUnknownInstance), hasMoved && errors.Is(err, ErrSuperseded):
		if again := s.registerAgain(ctx, ref.Incarnation); again != nil {
			return again
		}
		if !errors.Is(err, ErrUnknownInstance) {
			return ErrUnknownInstance
		}
	case errors.Is(err, ErrSuperseded):
		return s.supersededError(ctx, ref.Incarnation, err)
	case err == nil && hasMoved:
		return s.followRegion(registeredAt, cell)
	}
	return err
}

// followRegion is for a region that has moved with its sessions: the cell to which it moved knows the incarnation. Its
// keys are others; those of the former cell verify the tokens that players have of it.
func (s *GameServer) followRegion(from, to string) error {
	s.mu.Lock()
	moved := s.cellAddress == from
	if moved {
		s.cellAddress, s.formerVerifier = to, s.verifier
	}
	s.mu.Unlock()
	if !moved {
		return nil // another call has noticed it
	}
	s.log.LogAttrs(s.lifeContext, slog.LevelInfo, "the region has moved to another cell", slog.String("cell", to))
	return s.renewKeySource()
}

// supersededError ends the server, unless this process registered again while the request was in flight: then the
// refusal concerns the previous incarnation, and the result is ErrUnknownInstance. It waits for a registration in
// flight before it compares.
func (s *GameServer) supersededError(ctx context.Context, used string, err error) error {
	if lockErr := s.lockRegistration(ctx); lockErr != nil {
		return lockErr
	}
	defer s.unlockRegistration()
	if s.ownRef().Incarnation != used {
		return ErrUnknownInstance
	}
	s.endSuperseded(err)
	return err
}

func (s *GameServer) endSuperseded(err error) {
	s.log.LogAttrs(s.lifeContext, slog.LevelError, "superseded: another process has registered with this instance id",
		slog.Any("error", err))
	s.endLife(err)
}

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
		return s.callFleet(ctx, "/fleet/drain", false, drainRequestOf(s.ownRef(), true), nil)
	}
	return nil
}

func (s *GameServer) registerOnce(ctx context.Context) error {
	if err := s.lockRegistration(ctx); err != nil {
		return err
	}
	defer s.unlockRegistration()
	return s.registerLocked(ctx)
}

// registerLocked registers, and ends the server if the director refuses that as superseded. With a new incarnation it
// drops the sessions of the old one.
func (s *GameServer) registerLocked(ctx context.Context) error {
	answer, cell, err := s.registerReplacing(ctx)
	switch {
	case errors.Is(err, ErrSuperseded):
		s.endSuperseded(err)
	case errors.Is(err, ErrDeploymentOver):
		s.log.LogAttrs(s.lifeContext, slog.LevelError, "the deployment is over", slog.Any("error", err))
		s.endLife(err)
	}
	if err != nil {
		return err
	}
	s.hearStatus(answer)
	s.mu.Lock()
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
// it replaces. One whose credential is refused registers by its enrolment.
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
