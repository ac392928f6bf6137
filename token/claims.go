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
	iss, sub text
	aud      audience
	times    times
}

func (r *registered) member(name string) member {
	switch name {
	case "iss":
		return &r.iss
	case "sub":
		return &r.sub
	case "aud":
		return &r.aud
	case "exp":
		return &r.times.exp
	case "nbf":
		return &r.times.nbf
	case "iat":
		return &r.times.iat
	}
	return nil
}

// check returns an Invalid if a claim is wrong. An empty iss or aud accepts any value.
func (r *registered) check(now time.Time, skew time.Duration, iss, aud string) error {
	switch {
	case !r.sub.set:
		return MissingClaim
	case !ValidSubject(r.sub.value):
		return BadClaim
	case iss != "" && r.iss.value != iss:
		return WrongIssuer
	case aud != "" && !r.aud.holds(aud):
		return WrongAudience
	}
	return r.times.check(now, skew)
}

// times holds the claims that bound a token's validity; exp is required.
type times struct{ exp, nbf, iat date }

func (t *times) check(now time.Time, skew time.Duration) error {
	switch {
	case !t.exp.set:
		return MissingClaim
	case !now.Before(t.exp.time().Add(skew)):
		return Expired
	case t.nbf.isAfter(now, skew), t.iat.isAfter(now, skew):
		return NotYetValid
	}
	return nil
}

func (d *date) time() time.Time { return time.Unix(d.unix, 0).UTC() }

func (d *date) isAfter(now time.Time, skew time.Duration) bool {
	return d.set && d.time().After(now.Add(skew))
}
