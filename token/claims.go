package token

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxSubjectBytes bounds a player's id, the claim sub.
const MaxSubjectBytes = 255

// ValidSubject reports whether sub may identify a player: 1 to MaxSubjectBytes bytes of UTF-8 without control
// characters. U+FFFD is not allowed either: decoders replace invalid bytes with it, so that two different ids could
// become equal.
func ValidSubject(sub string) bool {
	invalid := func(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) }
	return sub != "" && len(sub) <= MaxSubjectBytes && !strings.ContainsFunc(sub, invalid)
}

// registered holds the claims of RFC 7519 section 4.1 that both kinds of token have.
type registered struct {
	issuer, subject text
	audienceClaim   audience
	timeClaims      times
}

func (r *registered) memberReader(name string) member {
	switch name {
	case "iss":
		return &r.issuer
	case "sub":
		return &r.subject
	case "aud":
		return &r.audienceClaim
	case "exp":
		return &r.timeClaims.expiry
	case "nbf":
		return &r.timeClaims.notBefore
	case "iat":
		return &r.timeClaims.issuedAt
	}
	return nil
}

// checkClaims returns an Invalid if a claim is wrong. An empty iss or aud accepts any value.
func (r *registered) checkClaims(now time.Time, skew time.Duration, iss, aud string) error {
	switch {
	case !r.subject.isSet:
		return MissingClaim
	case !ValidSubject(r.subject.stringValue):
		return BadClaim
	case iss != "" && r.issuer.stringValue != iss:
		return WrongIssuer
	case aud != "" && !r.audienceClaim.holdsName(aud):
		return WrongAudience
	}
	return r.timeClaims.check(now, skew)
}

// times holds the claims that bound a token's validity; exp is required.
type times struct{ expiry, notBefore, issuedAt date }

func (t *times) check(now time.Time, skew time.Duration) error {
	switch {
	case !t.expiry.isSet:
		return MissingClaim
	case !now.Before(t.expiry.asTime().Add(skew)):
		return Expired
	case t.notBefore.isAfter(now, skew), t.issuedAt.isAfter(now, skew):
		return NotYetValid
	}
	return nil
}

func (d *date) asTime() time.Time { return time.Unix(d.unixSeconds, 0).UTC() }

func (d *date) isAfter(now time.Time, skew time.Duration) bool {
	return d.isSet && d.asTime().After(now.Add(skew))
}
