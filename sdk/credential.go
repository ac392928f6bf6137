package sdk

import (
	"cmp"
	"context"
	"net/http"
)

// The credential that a server gets by an enrolment. It speaks for this instance alone, and the director renews it in
// the answers to heartbeats.

// ownCredential returns the credential, "" before the server has one.
func (s *GameServer) ownCredential() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.credential
}

// callSecret returns what authenticates the server now.
func (s *GameServer) callSecret() string {
	return cmp.Or(s.ownCredential(), s.serverOptions.FleetToken)
}

// refusesCredential reports whether a registration was refused because the credential has expired or was revoked.
func refusesCredential(refusal *Error) bool {
	return refusal.Status == http.StatusUnauthorized || refusal.Code == "credential_revoked"
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
