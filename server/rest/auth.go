package rest

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/db"
)

const (
	headerFleetToken = "X-Fleet-Token"
	fleetChallenge   = `FleetToken realm="director"`
	bearerChallenge  = `Bearer realm="director"`

	// maxToken bounds, in bytes, an access token; larger ones are not worth a look.
	maxToken = 8 << 10
)

// FleetToken lets game servers in that send one of the secrets as X-Fleet-Token; several are for rotation. With no
// secrets everybody is let in if open, nobody otherwise. Failures are charged to the caller's address; nil sets them free.
func FleetToken(secrets []string, open bool, failures *Limiter) gin.HandlerFunc {
	if len(secrets) == 0 && open {
		return func(*gin.Context) {}
	}
	hashes := make([][sha256.Size]byte, len(secrets))
	for i, secret := range secrets {
		hashes[i] = sha256.Sum256([]byte(secret))
	}
	return func(c *gin.Context) {
		got := c.GetHeader(headerFleetToken)
		switch {
		case got == "": // also if the configuration has an empty secret
			refuse(c, failures, fleetChallenge, "The X-Fleet-Token header is missing.")
		case !anyMatches(hashes, got):
			refuse(c, failures, fleetChallenge, "The X-Fleet-Token header is wrong.")
		}
	}
}

// anyMatches takes the same time whichever secret matches, and of hashes, so that lengths do not show either.
func anyMatches(hashes [][sha256.Size]byte, got string) bool {
	hash := sha256.Sum256([]byte(got))
	found := 0
	for i := range hashes {
		found |= subtle.ConstantTimeCompare(hashes[i][:], hash[:])
	}
	return found == 1
}

// Bearer lets callers in whose access token verify accepts (RFC 6750); [Caller] is the sub it returns, which has to have
// the form of a [Sub]. The text of verify's error is shown to the caller, so it has to be short and without secrets,
// unless it is a *db.Error or an ended context: those say that the token could not be judged and answer as they do
// anywhere. Failures are charged to the caller's address; nil sets them free.
func Bearer(verify func(ctx context.Context, raw string) (sub string, err error), failures *Limiter) gin.HandlerFunc {
	return func(c *gin.Context) {
		raw, ok := bearerToken(c.GetHeader("Authorization"))
		if !ok {
			refuse(c, failures, bearerChallenge, "An access token is required: Authorization: Bearer <token>.")
			return
		}
		if len(raw) > maxToken {
			refuseToken(c, failures, "the token is too long")
			return
		}
		sub, err := verify(c.Request.Context(), raw)
		switch {
		case err != nil && undecided(err):
			Fail(c, err)
		case err != nil:
			refuseToken(c, failures, err.Error())
		case !Sub.Valid(sub):
			refuseToken(c, failures, "sub must be "+Sub.Allowed)
		default:
			scopeOf(c).caller = sub
		}
	}
}

// Caller is who [Bearer] let in, "" on routes without it.
func Caller(ctx context.Context) string {
	if s, ok := scopeIn(ctx); ok {
		return s.caller
	}
	return ""
}

// bearerToken reads "Bearer <token>"; the scheme is matched in any case (RFC 9110 section 11.1).
func bearerToken(header string) (token string, ok bool) {
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.Trim(token, " ")
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// undecided tells an error that says nothing about the token.
func undecided(err error) bool {
	var stored *db.Error
	return errors.As(err, &stored) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func refuseToken(c *gin.Context, failures *Limiter, why string) {
	why = quotable(why)
	challenge := bearerChallenge + `, error="invalid_token", error_description="` + why + `"`
	refuse(c, failures, challenge, "The access token was refused: "+why+".")
}

// refuse answers 401, or 429 to an address that has failed too often, and has the log say why and from where. Only failures
// come here: whoever has a good token is let in, whatever others behind the same address do.
func refuse(c *gin.Context, failures *Limiter, challenge, detail string) {
	Note(c.Request.Context(), slog.String("reason", detail), slog.String("client", c.ClientIP()))
	if wait := failures.Take(address(c)); wait > 0 {
		Fail(c, rateLimited(wait))
		return
	}
	c.Header("WWW-Authenticate", challenge)
	Fail(c, unauthorized(detail))
}

// quotable leaves what may stand in an error_description (RFC 6750 section 3), and not too much of it.
func quotable(text string) string {
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
