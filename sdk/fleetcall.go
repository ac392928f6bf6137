package sdk

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
)

// callFleet makes a call of a fleet route that names no incarnation, or whose refusal needs no other registration.
func (s *GameServer) callFleet(ctx context.Context, path string, body, out any) error {
	_, err := s.client.doAt(ctx, s.fleetCall(path, body), out)
	return err
}

func (s *GameServer) fleetCall(path string, body any) call {
	return call{method: http.MethodPost, path: path, header: s.fleetHeader(), body: body,
		region: s.serverOptions.Region}
}

// callFenced sends a request with the current incarnation; see callAsIncarnation.
func (s *GameServer) callFenced(ctx context.Context, path string, body func(instanceRef) any, out any) error {
	return s.callAsIncarnation(ctx, func(ref instanceRef) (cell string, err error) {
		return s.client.doAt(ctx, s.fleetCall(path, body(ref)), out)
	})
}

// callAsIncarnation makes a call with the current incarnation and handles a refusal of that incarnation. If the
// director does not know the incarnation, callAsIncarnation registers again and returns ErrUnknownInstance, because the
// sessions that the call may concern have ended. It does the same where another cell serves the region by now, which
// may know an incarnation that this process had there before. If the incarnation is superseded, callAsIncarnation ends
// the server. If the credential has expired, it gets another one and repeats the call.
func (s *GameServer) callAsIncarnation(ctx context.Context, send func(instanceRef) (cell string, err error)) error {
	ref, credential, registeredAt := s.ownRef(), s.ownCredential(), s.registeredAt()
	cell, err := send(ref)
	hasMoved := cell != registeredAt
	switch {
	case errors.Is(err, ErrUnauthorized) && credential != "":
		if enrolErr := s.enrolAgain(ctx, credential); enrolErr != nil {
			return errors.Join(err, enrolErr)
		}
		if s.ownRef().Incarnation != ref.Incarnation {
			return ErrUnknownInstance
		}
		_, err = send(ref)
		return err
	case errors.Is(err, ErrUnknownInstance):
		return cmp.Or(s.registerAgain(ctx, ref.Incarnation), err)
	case hasMoved && errors.Is(err, ErrSuperseded):
		return cmp.Or(s.registerAgain(ctx, ref.Incarnation), ErrUnknownInstance)
	case errors.Is(err, ErrSuperseded):
		return s.endSupersededUnlessRenewed(ctx, ref.Incarnation, err)
	case err == nil && hasMoved:
		return s.followRegion(registeredAt, cell)
	default:
		return err
	}
}

// followRegion is for a region that has moved with its sessions: the cell to which it moved knows the incarnation. That
// cell has other keys; those of the former cell still verify the tokens that players got there.
func (s *GameServer) followRegion(from, to string) error {
	s.mu.Lock()
	moved := s.cellAddress == from
	if moved {
		s.cellAddress, s.formerVerifier = to, s.verifier
	}
	s.mu.Unlock()
	if !moved {
		return nil // another call has followed the region
	}
	s.log.LogAttrs(s.lifeContext, slog.LevelInfo, "the region has moved to another cell", slog.String("cell", to))
	return s.renewKeySource()
}

// endSupersededUnlessRenewed ends the server and returns err, unless this process registered again while the request
// was in flight: then the refusal concerns the previous incarnation, and the result is ErrUnknownInstance. A
// registration in flight is awaited first.
func (s *GameServer) endSupersededUnlessRenewed(ctx context.Context, used string, err error) error {
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
