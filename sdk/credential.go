package sdk

import (
	"cmp"
	"net/http"
)

// The credential that a server gets by an enrolment. It speaks for this instance alone, and the director renews it in
// the answers to heartbeats.

// ownCredential returns the credential; "" before the server has got one.
func (s *GameServer) ownCredential() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.credential
}

// callSecret returns what authenticates the server now.
func (s *GameServer) callSecret() string {
	return cmp.Or(s.ownCredential(), s.serverOptions.FleetToken)
}

func (s *GameServer) fleetHeader() http.Header { return fleetHeader(s.callSecret()) }

func fleetHeader(secret string) http.Header {
	header := http.Header{}
	if secret != "" {
		header.Set("X-Fleet-Token", secret)
	}
	return header
}

// refusesCredential reports whether a registration was refused because the credential has expired or was revoked.
func refusesCredential(refusal *Error) bool {
	return refusal.Status == http.StatusUnauthorized || refusal.Code == "credential_revoked"
}
