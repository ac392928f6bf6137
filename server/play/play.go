// Package play is the face that players call: matchmake, resolve, reading a session, game regions, tickets, and the
// login queue, as specified in api/openapi.yaml; mount.go has all routes, also those of backends that act for players.
// It translates JSON into calls of the store and has server/keyring sign
// session tokens. internal/connect mints connect tokens. db decides where a party is seated and what becomes of a
// ticket; internal/matching/watch wakes calls that wait for a ticket; internal/matching/ticketbody knows how tickets
// are stored. Authentication, limits and deadlines are set where server mounts the routes.
package play

import (
	"context"
	"log/slog"
	"strings"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/connect"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// Store is the part of db.Store that this face calls.
type Store interface {
	Place(ctx context.Context, r db.PlaceRequest) (db.Placement, error)
	Resolve(ctx context.Context, handle, sub string) (db.Resolved, error)
	Session(ctx context.Context, id string) (db.Placement, error)
	GameRegions(ctx context.Context) ([]db.GameRegion, error)
}

// Signer signs session tokens; keyring.Keeper implements it.
type Signer interface {
	Sign(c token.SessionClaims) (string, error)
}

// Connector mints netcode connect tokens; connect.Minter implements it.
type Connector interface {
	Ticket(r db.Resolved) (*connect.Ticket, error)
}

type face struct {
	store         Store
	tokenSigner   Signer
	connectMinter Connector
	modes         Modes
	parties       Parties
}

// logSession adds the session to the access log line, if one was found. The id is the store's: text from the caller may
// be a session handle and is not logged.
func logSession(ctx context.Context, sessionID string) {
	if sessionID != "" {
		rest.AddLogAttrs(ctx, slog.String("session_id", sessionID))
	}
}

// Serves reports whether a path belongs to this face.
func Serves(path string) bool {
	// The gate of players asks before routing. Calls of a route that is missing here are refused only after more work.
	return path == "/matchmake" || path == "/resolve" || path == "/tickets" || path == "/regions" ||
		path == "/login-queue" || strings.HasPrefix(path, "/login-queue/") || strings.HasPrefix(path, "/sessions/") ||
		strings.HasPrefix(path, "/tickets/")
}

// maxReasons bounds how many an answer names of the profiles that cannot match a ticket, or of the players who may not
// be in a party.
const maxReasons = 3
