package keyring

import (
	"crypto/rand"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/token"
)

// ClaimsFor returns what a new session token says about a seat of a player. Each call returns another token id.
func ClaimsFor(r db.Resolved, sub string) token.SessionClaims {
	claims := token.SessionClaims{
		Subject: sub, SessionID: r.SessionID, Handle: r.SessionHandle, Endpoint: r.Endpoint, Region: r.Region,
		ID: rand.Text(), IssuedAt: r.IssuedAt, Expires: r.ExpiresAt,
		Mode: r.Mode, MaxPlayers: r.MaxPlayers, Party: r.PartyID.String(), Team: r.TeamName,
	}
	if r.MatchID != uuid.Nil {
		claims.Match = r.MatchID.String()
	}
	return claims
}
