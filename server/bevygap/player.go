package bevygap

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// caller is who asks, as far as the request shows it.
type caller struct {
	token   string // of the query or the Authorization header; "" if there is none
	address string // by which limits count
}

// callerOf reads the access token of a request. Browsers cannot set headers of a WebSocket, so it may be in the query.
func callerOf(r *http.Request, address string) caller {
	raw := r.URL.Query().Get("access_token")
	if scheme, credentials, found := strings.Cut(r.Header.Get("Authorization"), " "); found &&
		strings.EqualFold(scheme, "Bearer") {
		// The header counts more: a query may be in a link that somebody else made.
		raw = strings.Trim(credentials, " ")
	}
	return caller{raw, address}
}

// identify returns the player. A guest is a new player each time.
func (f *Face) identify(ctx context.Context, who caller) (sub string, _ *failure) {
	switch {
	case who.token != "":
		return f.verify(ctx, who)
	case !f.options.Guests:
		return "", fail(http.StatusUnauthorized,
			"an access token is required: ?access_token= or the header Authorization")
	case f.guests.Take(who.address) > 0:
		return "", fail(http.StatusTooManyRequests, "too many requests from this address")
	}
	return "guest:" + rand.Text(), nil
}

// verify verifies an access token. Only failures are limited by address, so that a shared address cannot keep players
// out.
func (f *Face) verify(ctx context.Context, who caller) (sub string, _ *failure) {
	if f.options.Verify == nil || len(who.token) > token.MaxTokenBytes {
		return "", f.refuse(who)
	}
	sub, err := f.options.Verify(ctx, who.token)
	switch {
	case fault.Is(err, fault.Unavailable):
		return "", failureOf(err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded): // it says nothing about the token
		return "", databaseAway()
	case err != nil, !rest.Sub.Valid(sub):
		return "", f.refuse(who)
	case f.options.Callers.Take(sub) > 0:
		return "", fail(http.StatusTooManyRequests, "too many requests of this player")
	}
	return sub, nil
}

func (f *Face) refuse(who caller) *failure {
	if f.options.Failures.Take(who.address) > 0 {
		return fail(http.StatusTooManyRequests, "too many failed requests from this address")
	}
	return fail(http.StatusUnauthorized, "the access token was refused")
}
