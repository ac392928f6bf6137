package realtime

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/token"
)

const (
	anonymousProject = "anonymous" // of a client that names none
	// resumableFor is how long after its expiry a token still resumes the session that it opened: a client cannot
	// change its token. The store checks that the token opened that session.
	resumableFor = 24 * time.Hour
)

// identity is who a client is, before its key was judged.
type identity struct {
	project, player string // player is empty for a client without a name
	keyID           string // that its token names; "": none
	isAuthenticated bool
	tokenDigest     []byte // of the token; nil: none was presented
	tokenExpires    time.Time
}

// judgeToken judges the token. A token that has expired less than a day ago is good enough here, if the client names
// a session to resume.
func (h *handshake) judgeToken(ctx context.Context, a requestedSession) (identity, *refusal) {
	who := identity{project: a.ProjectID, tokenDigest: digestText(a.Token)}
	if who.project == "" {
		who.project = anonymousProject
	}
	if h.server.options.AuthMode == AuthDisabled || h.server.options.AuthMode == AuthOptional && a.Token == "" {
		// VerifyProject checks the name in a token; this one is the client's word.
		if !token.ValidProjectName(who.project) {
			return who, refuseToken("invalid project id")
		}
		return who, nil
	}
	now := h.server.store.Now()
	if a.SessionID != "" {
		// The statement that opens the session judges by the real time: a token that has expired resumes the session
		// that it once opened, and opens no other.
		now = now.Add(-resumableFor)
	}
	claims, err := token.VerifyProject(a.Token, h.server.secrets.forRequest(ctx), now)
	if why := token.ProjectRefusal(""); errors.As(err, &why) {
		return who, refuseToken(string(why))
	}
	if err != nil {
		h.logUnexpected(ctx, "the secret of a key cannot be read", err)
		return who, refuseUnavailable
	}
	return identity{
		project: claims.ProjectID, player: claims.Subject, keyID: claims.KeyID, isAuthenticated: true,
		tokenDigest: who.tokenDigest, tokenExpires: claims.Expires,
	}, nil
}

// logUnexpected logs an error of the store, unless it is one that callers expect.
func (h *handshake) logUnexpected(ctx context.Context, what string, err error) {
	if fault.Is(err, fault.Unavailable) {
		return // the lease reports outages
	}
	h.server.options.Log.LogAttrs(ctx, slog.LevelError, "a handshake failed", slog.String("what", what),
		slog.Any("error", err))
}

// digestText returns the digest by which the store recognizes a token, so that no token is stored; nil without one.
func digestText(text string) []byte {
	if text == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// keyRefusal returns what a client gets for an error with which the store refuses a session, or nil for any other
// error.
func keyRefusal(code, key string) *refusal {
	switch code {
	case "token_expired":
		return refuseToken(string(token.ProjectTokenExpired))
	case "key_required":
		return refuseKey("token missing key_id claim")
	case "key_unknown":
		return refuseKey("unknown key id '" + key + "'")
	case "key_revoked":
		return refuseKey("key '" + key + "' revoked")
	case "key_scope":
		return refuseKey("key '" + key + "' missing required scope '" + db.ScopeMint + "'")
	}
	return nil
}

// refusalOf turns an error of the store into what the client gets.
func (h *handshake) refusalOf(ctx context.Context, who identity, err error) *refusal {
	var e *fault.Error
	if !errors.As(err, &e) {
		h.logUnexpected(ctx, "a session was not opened", err)
		return refuseUnavailable
	}
	if refused := keyRefusal(e.Code, who.keyID); refused != nil {
		return refused
	}
	switch {
	// Not charged, like the two below: the client has guessed nothing.
	case e.Cell != nil:
		return &refusal{closeCode: closeBadRequest, code: e.Code, reason: e.Detail, otherCell: e.Cell}
	case e.Code == "too_many_sessions":
		return &refusal{closeCode: closeTryLater, code: e.Code, reason: "too many sessions: " + e.Detail}
	case e.Kind == fault.TooMany:
		return refuseTakeovers
	}
	h.logUnexpected(ctx, "a session was not opened", err)
	return refuseUnavailable
}

// judgeKey judges the key of a client that gets no session anyway. The key of any other client is judged by the
// statement that opens its session.
func (h *handshake) judgeKey(ctx context.Context, who identity) *refusal {
	switch {
	case !who.isAuthenticated || who.keyID == "" && !h.server.options.RequireKey:
		return nil
	case who.keyID == "":
		return keyRefusal("key_required", who.keyID)
	}
	key, retired, err := h.server.store.ProjectKey(ctx, who.project, who.keyID)
	switch {
	case fault.Is(err, fault.NotFound):
		return keyRefusal("key_unknown", who.keyID)
	case err != nil:
		return refuseUnavailable
	case retired:
		return keyRefusal("key_revoked", who.keyID)
	case !slices.Contains(key.Scopes, db.ScopeMint):
		return keyRefusal("key_scope", who.keyID)
	}
	return nil
}
