// Package play is the face that players call: matchmake, resolve and a look at a session, as api/openapi.yaml describes
// them. It translates JSON into calls of the store and has keyring sign session tokens. Where a party is seated is
// decided in db; whose access token is believed, and how often somebody may call, is said where server mounts it.
package play

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// Store is what of db.Store this face calls.
type Store interface {
	Place(ctx context.Context, r db.PlaceRequest) (db.Placement, error)
	Resolve(ctx context.Context, handle, sub string) (db.Resolved, error)
	Session(ctx context.Context, id string) (db.Placement, error)
}

// Signer makes session tokens; keyring.Keeper does.
type Signer interface {
	Sign(c token.SessionClaims) (string, error)
}

type face struct {
	store Store
	keys  Signer
	modes Modes
}

// Mount adds the routes of this face. They belong behind rest.Bearer: the player is rest.Caller.
func Mount(r gin.IRouter, store Store, keys Signer, modes Modes) {
	f := face{store, keys, modes}
	r.POST("/matchmake", rest.Handle(http.StatusOK, f.matchmake))
	r.POST("/resolve", rest.Handle(http.StatusOK, f.resolve))
	r.GET("/sessions/:id", rest.Handle(http.StatusOK, f.session))
}

// note has the access log name the session that was found, if one was. What callers send is not logged: it may be a handle.
func note(ctx context.Context, sessionID string) {
	if sessionID != "" {
		rest.AddLogAttrs(ctx, slog.String("session_id", sessionID))
	}
}

// Serves tells whether a path belongs to this face.
func Serves(path string) bool {
	return path == "/matchmake" || path == "/resolve" || strings.HasPrefix(path, "/sessions/")
}

type resolveRequest struct {
	SessionHandle *string `json:"session_handle"`
}

// Validate implements rest.Validator. Of the handle itself nothing is asked: what does not parse is unknown.
func (r *resolveRequest) Validate(c *rest.Check) {
	c.That(r.SessionHandle != nil, "session_handle", "is required and must be a string")
}

type resolveAnswer struct {
	Endpoint     string `json:"endpoint"`
	SessionToken string `json:"session_token"`
	SessionID    string `json:"session_id"`
}

func (f face) resolve(ctx context.Context, in rest.In[resolveRequest]) (resolveAnswer, error) {
	sub := rest.Caller(ctx)
	r, err := f.store.Resolve(ctx, *in.Body.SessionHandle, sub)
	note(ctx, r.SessionID)
	if err != nil {
		return resolveAnswer{}, err
	}
	signed, err := f.keys.Sign(token.SessionClaims{
		Subject: sub, SessionID: r.SessionID, Handle: r.SessionHandle, Endpoint: r.Endpoint, Region: r.Region,
		ID: rand.Text(), IssuedAt: r.IssuedAt, Expires: r.ExpiresAt,
		Mode: r.Mode, MaxPlayers: r.MaxPlayers, Party: r.Party.String(),
	})
	return resolveAnswer{r.Endpoint, signed, r.SessionID}, err
}

func (f face) session(ctx context.Context, in rest.In[rest.None]) (placement, error) {
	p, err := f.store.Session(ctx, in.Param("id"))
	note(ctx, p.SessionID)
	return placement(p), err
}
