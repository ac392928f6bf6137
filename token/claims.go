package token

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxSubjectBytes bounds a player's name, the claim `sub`.
const MaxSubjectBytes = 255

// ValidSubject tells whether sub may name a player: 1 to MaxSubjectBytes bytes of UTF-8 without control characters.
// The replacement character U+FFFD is refused too: it is what decoders make of anything they cannot read, so two
// players could come to share a name that holds it.
func ValidSubject(sub string) bool {
	unfit := func(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) }
	return sub != "" && len(sub) <= MaxSubjectBytes && !strings.ContainsFunc(sub, unfit)
}

// registered are the claims of RFC 7519 section 4.1 that both kinds of token carry.
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

// check judges the claims; an empty iss or aud is not asked for.
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

// times are the moments between which a token counts; exp is required.
type times struct{ exp, nbf, iat date }

func (t *times) check(now time.Time, skew time.Duration) error {
	switch {
	case !t.exp.set:
		return MissingClaim
	case !now.Before(t.exp.time().Add(skew)):
		return Expired
	case t.nbf.after(now, skew), t.iat.after(now, skew):
		return NotYetValid
	}
	return nil
}

func (d *date) time() time.Time { return time.Unix(d.unix, 0).UTC() }

func (d *date) after(now time.Time, skew time.Duration) bool {
	return d.set && d.time().After(now.Add(skew))
}
