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
	accessToken string // of the query or the Authorization header; "" if there is none
	addressKey  string // by which limits count
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

// identifyPlayer returns the player.
func (f *Face) identifyPlayer(ctx context.Context, who caller) (sub string, _ *failure) {
	if who.accessToken != "" {
		return f.verifyToken(ctx, who)
	}
	if !f.options.AllowsGuests {
		return "", newFailure(http.StatusUnauthorized,
			"an access token is required: ?access_token= or the header Authorization")
	}
	// A guest is a new player each time, so that only the address can be limited.
	if f.guestLimiter.Take(who.addressKey) > 0 {
		return "", newFailure(http.StatusTooManyRequests, "too many requests from this address")
	}
	return "guest:" + rand.Text(), nil
}

// verifyToken verifies an access token. Only failures are limited by address, so that a shared address cannot keep
// players out.
func (f *Face) verifyToken(ctx context.Context, who caller) (sub string, _ *failure) {
	if f.options.VerifyToken == nil || len(who.accessToken) > token.MaxTokenBytes {
		return "", f.refuseToken(who)
	}
	sub, err := f.options.VerifyToken(ctx, who.accessToken)
	switch {
	case fault.Is(err, fault.Unavailable):
		return "", failureOf(err)
	// The end of the call says nothing about the token.
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "", unavailableFailure()
	case err != nil, !rest.Sub.Valid(sub):
		return "", f.refuseToken(who)
	}
	// The rate counts only after the token was verified: nobody else can use up the rate of a player.
	if f.options.CallerLimiter.Take(sub) > 0 {
		return "", newFailure(http.StatusTooManyRequests, "too many requests of this player")
	}
	return sub, nil
}

// refuseToken returns the failure of a wrong token, and counts it for the address.
func (f *Face) refuseToken(who caller) *failure {
	if f.options.FailureLimiter.Take(who.addressKey) > 0 {
		return newFailure(http.StatusTooManyRequests, "too many failed requests from this address")
	}
	return newFailure(http.StatusUnauthorized, "the access token was refused")
}
