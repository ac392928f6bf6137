package rest

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/token"
)

const bearerChallenge = `Bearer realm="director"`

// indexOf returns the index of the secret, or -1. It takes the same time whichever secret matches. It compares hashes,
// so that timing does not reveal the length of a secret either.
func indexOf(hashes [][sha256.Size]byte, got string) int {
	hash := sha256.Sum256([]byte(got))
	found := -1
	for i := range hashes {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(hashes[i][:], hash[:]), i, found)
	}
	return found
}

// RequireBearer accepts requests whose access token verify accepts (RFC 6750). The sub that verify returns must be a
// valid [Sub]; handlers read it with [Caller]. The text of verify's error is sent to the caller, so it must be short
// and hold no secret. A *fault.Error or the error of an ended context means that the token could not be verified; it is
// answered by [Fail] and is no failure of the caller. failures limits how often an address may fail; nil sets no limit.
func RequireBearer(verify func(ctx context.Context, raw string) (sub string, err error),
	failures *Limiter) gin.HandlerFunc {
	return func(c *gin.Context) {
		raw, ok := bearerToken(c.GetHeader("Authorization"))
		if !ok {
			refuseCredential(c, failures, bearerChallenge,
				"An access token is required: Authorization: Bearer <token>.")
			return
		}
		// The length is checked before the token is decoded, which costs more the longer the token is.
		if len(raw) > token.MaxTokenBytes {
			refuseToken(c, failures, "the token is too long")
			return
		}
		sub, err := verify(c.Request.Context(), raw)
		switch {
		case err != nil && saysNothingAboutToken(err):
			Fail(c, err)
		case err != nil:
			refuseToken(c, failures, err.Error())
		case !Sub.Valid(sub):
			refuseToken(c, failures, "sub must be "+Sub.Description)
		default:
			s := scopeOf(c)
			s.caller, s.accessToken = sub, raw
		}
	}
}

// Caller returns the player, operator or key that a middleware authenticated, "" on routes without one.
func Caller(ctx context.Context) string {
	if s, ok := scopeIn(ctx); ok {
		return s.caller
	}
	return ""
}

// AccessToken returns the player's access token that [RequireBearer] has verified, "" on other routes. It is a secret.
func AccessToken(ctx context.Context) string {
	if s, ok := scopeIn(ctx); ok {
		return s.accessToken
	}
	return ""
}

// bearerToken reads "Bearer <token>". The scheme is case-insensitive (RFC 9110 section 11.1).
func bearerToken(header string) (raw string, ok bool) {
	scheme, raw, _ := strings.Cut(header, " ")
	raw = strings.Trim(raw, " ")
	return raw, strings.EqualFold(scheme, "Bearer") && raw != ""
}

// saysNothingAboutToken reports whether verification failed for a reason other than the token.
func saysNothingAboutToken(err error) bool {
	var stored *fault.Error
	return errors.As(err, &stored) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// refuseToken answers that an access token was refused, and why.
func refuseToken(c *gin.Context, failures *Limiter, why string) {
	why = errorDescription(why)
	challenge := bearerChallenge + `, error="invalid_token", error_description="` + why + `"`
	refuseCredential(c, failures, challenge, "The access token was refused: "+why+".")
}

// refuseCredential answers 401, or 429 to an address that has failed too often, and logs the reason and the address.
// Only failed authentication is limited: callers with a valid token are served, whatever others behind the same address
// do.
func refuseCredential(c *gin.Context, failures *Limiter, challenge, detail string) {
	AddLogAttrs(c.Request.Context(), slog.String("reason", detail), slog.String("client", c.ClientIP()))
	if wait := failures.Take(FailureKey(c)); wait > 0 {
		Fail(c, rateLimitedProblem(wait))
		return
	}
	c.Header("WWW-Authenticate", challenge)
	Fail(c, unauthorizedProblem(detail))
}

// errorDescription replaces the characters that RFC 6750 section 3 does not allow in an error_description, and cuts the
// text at 200 bytes.
func errorDescription(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '"', r == '\\':
			return '\''
		case r < 0x20, r > 0x7e:
			return ' '
		default:
			return r
		}
	}, text)
	return text[:min(len(text), 200)]
}
