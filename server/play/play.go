// Package play is the face that players call: matchmake, resolve, reading a session, and tickets, as specified in
// api/openapi.yaml. It translates JSON into calls of the store and has server/keyring sign session tokens.
// internal/connect mints connect tokens. db decides where a party is seated and what becomes of a ticket;
// internal/matching/watch wakes calls that wait for a ticket; internal/matching/ticketbody knows how tickets are
// stored. Authentication, limits and deadlines are set where server mounts the routes.
package play

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/connect"
	"github.com/lattice-director/director/server/keyring"
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

// Mount adds the routes of this face. They belong behind rest.RequireBearer, because the handlers read the player with
// rest.Caller.
func Mount(r gin.IRouter, store Store, keys Signer, connects Connector, modes Modes, parties Parties) {
	f := face{store, keys, connects, modes, parties}
	r.POST("/matchmake", rest.Handle(http.StatusOK, f.placeParty))
	r.POST("/resolve", rest.Handle(http.StatusOK, f.resolveSeat))
	r.GET("/sessions/:id", rest.Handle(http.StatusOK, f.showSession))
	r.GET("/regions", rest.Handle(http.StatusOK, f.listRegions))
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
	// The gate of players asks before routing: a route that is missing here is refused later, and costs more.
	return path == "/matchmake" || path == "/resolve" || path == "/tickets" || path == "/regions" ||
		path == "/login-queue" || strings.HasPrefix(path, "/login-queue/") || strings.HasPrefix(path, "/sessions/") ||
		strings.HasPrefix(path, "/tickets/")
}

type resolveRequest struct {
	SessionHandle *string `json:"session_handle"`
}

// Validate implements rest.Validator. It does not check the form of the handle: an invalid one is answered like an
// unknown one.
func (r *resolveRequest) Validate(c *rest.Check) {
	c.That(r.SessionHandle != nil, "session_handle", "is required and must be a string")
}

type resolveAnswer struct {
	Endpoint     string `json:"endpoint"`
	SessionToken string `json:"session_token"`
	SessionID    string `json:"session_id"`

	Netcode *netcodeAnswer `json:"netcode,omitempty"` // for games whose servers take connect tokens
}

func (f face) resolveSeat(ctx context.Context, in rest.In[resolveRequest]) (resolveAnswer, error) {
	sub := rest.Caller(ctx)
	r, err := f.store.Resolve(ctx, *in.Body.SessionHandle, sub)
	logSession(ctx, r.SessionID)
	if err != nil {
		return resolveAnswer{}, err
	}
	signed, err := f.tokenSigner.Sign(keyring.ClaimsFor(r, sub))
	if err != nil {
		return resolveAnswer{}, err
	}
	// nil without an error where the server of the seat takes no connect tokens.
	ticket, err := f.connectMinter.Ticket(r)
	return resolveAnswer{r.Endpoint, signed, r.SessionID, netcodeOf(ticket)}, err
}

func (f face) showSession(ctx context.Context, in rest.In[rest.None]) (placement, error) {
	p, err := f.store.Session(ctx, in.Param("id"))
	logSession(ctx, p.SessionID)
	return placement(p), err
}
