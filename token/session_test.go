package token

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jwk"
	"github.com/lestrrat-go/jwx/v2/jws"
	"github.com/lestrrat-go/jwx/v2/jwt"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/internal/testkit/must"
)

func drawClaims(t *rapid.T) SessionClaims {
	text := rapid.StringN(1, 40, 200)
	subject := rapid.StringN(1, 40, 255).Filter(ValidSubject)
	issued := start.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "issued")))
	return SessionClaims{
		Subject: subject.Draw(t, "sub"), SessionID: text.Draw(t, "sid"), Handle: text.Draw(t, "hdl"),
		Endpoint: text.Draw(t, "ep"), Region: text.Draw(t, "region"), ID: text.Draw(t, "jti"),
		IssuedAt: issued, Expires: issued.Add(2 * time.Minute),
		Mode: rapid.StringN(0, 40, 64).Draw(t, "mode"), MaxPlayers: rapid.IntRange(0, 1024).Draw(t, "max_players"),
		Party: rapid.StringN(0, 36, 36).Draw(t, "party"), Match: rapid.StringN(0, 36, 36).Draw(t, "mid"),
		Team: rapid.StringN(0, 64, 64).Draw(t, "team"),
	}
}

// inSeconds truncates the times of claims as a token does.
func inSeconds(c SessionClaims) SessionClaims {
	c.IssuedAt, c.Expires = c.IssuedAt.Truncate(time.Second), c.Expires.Truncate(time.Second)
	return c
}

// signing is a ring with one key, and a verifier that uses the key set of the ring.
type signing struct {
	*Ring
	*SessionVerifier
	kid     string
	private ed25519.PrivateKey
}

func setup(t *testing.T, alg string) signing {
	t.Helper()
	sealer := newSealer(t)
	key := mint(t, sealer, alg)
	private := must.Get(sealer.Open(key.Material))(t)
	ring := newRing(t, sealer, key)
	return signing{ring, NewSessionVerifier(published(ring), 0), key.Material.KID, private}
}

func TestVerifyReturnsTheSignedClaims(t *testing.T) {
	t.Parallel()
	for _, alg := range []string{AlgEdDSA, AlgEd25519} {
		s := setup(t, alg)
		rapid.Check(t, func(t *rapid.T) {
			c := drawClaims(t)
			raw, err := s.Sign(start, c)
			require.NoError(t, err)
			got, err := s.Verify(context.Background(), raw, c.IssuedAt)
			require.NoError(t, err)
			require.Equal(t, inSeconds(c), got)
		})
	}
}

// jwx accepts our tokens with our published set and all its checks, and reads the same claims.
func TestJWXVerifiesOurTokens(t *testing.T) {
	t.Parallel()
	s := setup(t, AlgEdDSA)
	document, _ := s.JWKS(start)
	set, err := jwk.Parse(document)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		c := drawClaims(t)
		raw, err := s.Sign(start, c)
		require.NoError(t, err)
		clock := jwt.ClockFunc(func() time.Time { return c.IssuedAt })
		theirs, err := jwt.ParseString(raw, jwt.WithKeySet(set), jwt.WithClock(clock), jwt.WithIssuer(Issuer),
			jwt.WithAudience(Audience), jwt.WithRequiredClaim("exp"), jwt.WithTypedClaim("sid", ""))
		require.NoError(t, err)
		require.Equal(t, []string{Audience}, theirs.Audience())
		claim := func(name string) (text string) {
			if v, ok := theirs.Get(name); ok {
				text = v.(string)
			}
			return text
		}
		got := SessionClaims{
			Subject: theirs.Subject(), ID: theirs.JwtID(), IssuedAt: theirs.IssuedAt(), Expires: theirs.Expiration(),
			SessionID: claim("sid"), Handle: claim("hdl"), Endpoint: claim("ep"), Region: claim("region"),
			Mode: claim("mode"), Party: claim("party"), Match: claim("mid"), Team: claim("team"),
		}
		if n, ok := theirs.Get("max_players"); ok {
			got.MaxPlayers = int(n.(float64))
		}
		require.Equal(t, inSeconds(c), got)
	})
}

// A token with alg Ed25519 (RFC 9864) has the same signature; jwx verifies it when the algorithm is given.
func TestJWXVerifiesOurEd25519Tokens(t *testing.T) {
	t.Parallel()
	s := setup(t, AlgEd25519)
	raw, err := s.Sign(start, someClaims())
	require.NoError(t, err)
	_, err = jws.Verify([]byte(raw), jws.WithKey(jwa.EdDSA, s.private.Public()))
	require.NoError(t, err)
	header, err := b64.DecodeString(raw[:strings.IndexByte(raw, '.')])
	require.NoError(t, err)
	require.JSONEq(t, fmt.Sprintf(`{"alg":"Ed25519","kid":%q,"typ":"JWT"}`, s.kid), string(header))
}

// We accept the tokens that jwx signs with the same key, for any order of members and any escapes.
func TestVerifyTakesTokensOfJWX(t *testing.T) {
	t.Parallel()
	s := setup(t, AlgEdDSA)
	signer, err := jwk.FromRaw(s.private)
	require.NoError(t, err)
	require.NoError(t, signer.Set(jwk.KeyIDKey, s.kid))
	rapid.Check(t, func(t *rapid.T) {
		c := drawClaims(t)
		theirs, err := jwt.NewBuilder().Issuer(Issuer).Audience([]string{"other", Audience}).Subject(c.Subject).
			JwtID(c.ID).IssuedAt(c.IssuedAt).Expiration(c.Expires).Claim("sid", c.SessionID).Claim("hdl", c.Handle).
			Claim("ep", c.Endpoint).Claim("region", c.Region).Claim("mode", c.Mode).
			Claim("max_players", c.MaxPlayers).Claim("party", c.Party).Claim("mid", c.Match).Claim("team",
			c.Team).Claim("more", []int{1}).Build()
		require.NoError(t, err)
		raw, err := jwt.Sign(theirs, jwt.WithKey(jwa.EdDSA, signer))
		require.NoError(t, err)
		got, err := s.Verify(context.Background(), string(raw), c.IssuedAt)
		require.NoError(t, err)
		require.Equal(t, inSeconds(c), got)
	})
}

func TestSessionTokenTimes(t *testing.T) {
	t.Parallel()
	s := setup(t, AlgEdDSA)
	c := someClaims()
	raw, err := s.Sign(start, c)
	require.NoError(t, err)
	for _, at := range []struct {
		now  time.Time
		want error
	}{
		{c.IssuedAt.Add(-5*time.Second - 1), NotYetValid},
		{c.IssuedAt.Add(-5 * time.Second), nil},
		{c.Expires.Add(5*time.Second - 1), nil},
		{c.Expires.Add(5 * time.Second), Expired},
	} {
		_, err := s.Verify(context.Background(), raw, at.now)
		require.ErrorIs(t, err, at.want, at.now)
	}
	strict := NewSessionVerifier(published(s.Ring), -1)
	_, err = strict.Verify(context.Background(), raw, c.Expires.Add(-1))
	require.NoError(t, err)
	_, err = strict.Verify(context.Background(), raw, c.Expires)
	require.ErrorIs(t, err, Expired)
}

// Wrong claims are refused despite a valid signature, which a stolen or misused key, or a bug, could make.
func TestSessionTokenClaims(t *testing.T) {
	t.Parallel()
	s := setup(t, AlgEdDSA)
	header := fmt.Sprintf(`{"alg":"EdDSA","kid":%q}`, s.kid)
	good, err := someClaims().encodeJSON()
	require.NoError(t, err)
	verify := func(payload string) error {
		_, err := s.Verify(context.Background(), forge(s.private, header, payload), start)
		return err
	}
	change := func(name string, value any) error {
		var claims map[string]any
		require.NoError(t, json.Unmarshal(good, &claims))
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
		payload, err := json.Marshal(claims)
		require.NoError(t, err)
		return verify(string(payload))
	}
	require.NoError(t, verify(string(good)))
	for _, name := range []string{"sub", "sid", "hdl", "ep", "region", "jti", "iat", "exp"} {
		require.ErrorIs(t, change(name, nil), MissingClaim, name)
		for _, value := range []any{true, []any{"x"}, map[string]any{}, json.RawMessage("null")} {
			require.ErrorIs(t, change(name, value), BadClaim, name)
		}
		twice := strings.TrimSuffix(string(good), "}") + fmt.Sprintf(",%q:%q}", name, "x")
		require.ErrorIs(t, verify(twice), BadClaim, name)
	}
	for _, c := range []struct {
		name  string
		value any
		want  Invalid
	}{
		{"iss", nil, WrongIssuer}, {"iss", "lattice-directo", WrongIssuer}, {"iss", 1, BadClaim},
		{"aud", nil, WrongAudience}, {"aud", "game", WrongAudience}, {"aud", []string{"game"}, WrongAudience},
		{"aud", 1, BadClaim},
		{"sub", 1, BadClaim}, {"sub", "", BadClaim}, {"sub", "a\nb", BadClaim}, {"sub", "a\u0085", BadClaim},
		{"sub", "a\ufffdb", BadClaim},
		{"exp", "1582977720", BadClaim}, {"exp", -1, BadClaim}, {"exp", 1e300, BadClaim},
		{"nbf", start.Add(time.Minute).Unix(), NotYetValid}, {"nbf", "soon", BadClaim},
		{"mode", nil, ""}, {"mode", 1, BadClaim}, {"party", nil, ""}, {"party", []any{"alice"}, BadClaim},
		{"mid", nil, ""}, {"mid", 1, BadClaim}, {"team", nil, ""}, {"team", []any{"red"}, BadClaim},
		{"max_players", nil, ""}, {"max_players", "8", BadClaim}, {"max_players", -1, BadClaim},
		{"max_players", 1.5, BadClaim},
		{"iat", start.Add(time.Hour).Unix(), NotYetValid}, {"iat", start.Add(3 * time.Second).Unix(), ""},
	} {
		if err := change(c.name, c.value); c.want == "" {
			require.NoError(t, err, c)
		} else {
			require.ErrorIs(t, err, c.want, c)
		}
	}
	lone := strings.Replace(string(good), `"alice"`, `"a\ud800"`, 1)
	require.ErrorIs(t, verify(lone), BadClaim, "an unpaired surrogate would decode as U+FFFD")
}

func TestSubjects(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "Zoë", "auth0|5f7c8ec7", "名前", "👩‍🚀", " ", strings.Repeat("a", 255),
		strings.Repeat("é", 127)} {
		require.True(t, ValidSubject(good), good)
	}
	for _, bad := range []string{"", "\x00", "a\x1f", "\x7f", "\u0085", "\u009f", "a\xff", "\xc0\x80", "\xed\xa0\x80",
		"\ufffd", strings.Repeat("a", 256), strings.Repeat("é", 128)} {
		require.False(t, ValidSubject(bad), bad)
	}
}
