package token

import (
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwk"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func kidOf(t *testing.T, raw string) string {
	t.Helper()
	c, err := split(raw)
	require.NoError(t, err)
	return c.header.kid.value
}

func kidsOf(t *testing.T, document []byte) []string {
	t.Helper()
	set, err := jwk.Parse(document)
	require.NoError(t, err)
	var kids []string
	for i := range set.Len() {
		key, _ := set.Key(i)
		kids = append(kids, key.KeyID())
	}
	return kids
}

// turns are three keys that follow each other every hour, published an hour ahead and an hour behind.
func turns(t *testing.T, sealer *Sealer) []Key {
	t.Helper()
	keys := make([]Key, 3)
	for i := range keys {
		keys[i] = mint(t, sealer, AlgEdDSA)
		keys[i].SignFrom = start.Add(time.Duration(i) * time.Hour)
		keys[i].SignUntil = keys[i].SignFrom.Add(time.Hour)
		keys[i].PublishAt, keys[i].VerifyUntil = keys[i].SignFrom.Add(-time.Hour), keys[i].SignUntil.Add(time.Hour)
	}
	return keys
}

// The turn changes at the row's time to the nanosecond, in whatever order the rows came.
func TestRingSwitchesByTheTimesOfTheRows(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	k := turns(t, sealer)
	ring, err := NewRing([]Key{k[1], k[2], k[0]}, sealer, start, 24*time.Hour)
	require.NoError(t, err)
	for at, want := range map[time.Duration]Key{
		0: k[0], time.Hour - 1: k[0], time.Hour: k[1], 2*time.Hour - 1: k[1], 2 * time.Hour: k[2], 3*time.Hour - 1: k[2],
	} {
		c := someClaims()
		c.IssuedAt, c.Expires = start.Add(at), start.Add(at+2*time.Minute)
		raw, err := ring.Sign(start, c)
		require.NoError(t, err)
		require.Equal(t, want.KID, kidOf(t, raw), at)
	}
	for _, at := range []time.Duration{-1, 3 * time.Hour} {
		c := someClaims()
		c.IssuedAt, c.Expires = start.Add(at), start.Add(at+2*time.Minute)
		_, err := ring.Sign(start, c)
		require.ErrorIs(t, err, ErrNoKey)
	}
}

func TestRingPublishesNextCurrentAndRetiring(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	k := turns(t, sealer)
	ring, err := NewRing(k, sealer, start, 24*time.Hour)
	require.NoError(t, err)
	for at, want := range map[time.Duration][]string{
		-time.Hour - 1:  nil,
		-time.Hour:      {k[0].KID},
		0:               {k[0].KID, k[1].KID},
		time.Hour:       {k[0].KID, k[1].KID, k[2].KID},
		2*time.Hour - 1: {k[0].KID, k[1].KID, k[2].KID},
		2 * time.Hour:   {k[1].KID, k[2].KID},
		4 * time.Hour:   nil,
	} {
		document, _ := ring.JWKS(start.Add(at))
		require.Equal(t, want, kidsOf(t, document), at)
	}
}

// A ring that does not hear from the database may have missed that its key was withdrawn; it goes on publishing,
// since game servers must still judge the tokens that are out.
func TestStaleRingRefusesToSignButPublishes(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	ring := newRing(t, sealer, mint(t, sealer, AlgEdDSA))
	_, err := ring.Sign(start.Add(time.Minute), someClaims())
	require.NoError(t, err)
	late := start.Add(time.Minute + 1)
	_, err = ring.Sign(late, someClaims())
	require.ErrorIs(t, err, ErrStale)
	_, err = ring.Signer(late)
	require.ErrorIs(t, err, ErrStale)
	document, _ := ring.JWKS(late)
	require.Len(t, kidsOf(t, document), 1)
	require.Equal(t, start, ring.LoadedAt())

	_, err = NewRing(nil, sealer, start, 0)
	require.Error(t, err, "a ring that never goes stale would be the zero value's trap")
}

// A tainted key is gone at once; the next one takes over if it is its turn. It need not even open.
func TestTaintedKeyNeitherSignsNorIsPublished(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	old, fresh := mint(t, sealer, AlgEdDSA), mint(t, sealer, AlgEdDSA)
	fresh.SignFrom = old.SignFrom.Add(-time.Hour)
	kid, err := newRing(t, sealer, old, fresh).Signer(start)
	require.NoError(t, err)
	require.Equal(t, old.KID, kid, "the key whose turn began last signs")

	old.Tainted, old.Sealed = true, nil
	ring := newRing(t, sealer, old, fresh)
	kid, err = ring.Signer(start)
	require.NoError(t, err)
	require.Equal(t, fresh.KID, kid)
	document, _ := ring.JWKS(start)
	require.Equal(t, []string{fresh.KID}, kidsOf(t, document))

	fresh.Tainted = true
	ring = newRing(t, sealer, old, fresh)
	_, err = ring.Signer(start)
	require.ErrorIs(t, err, ErrNoKey)
	document, _ = ring.JWKS(start)
	require.JSONEq(t, `{"keys":[]}`, string(document))
}

// Whoever can write to the table but has no key-encryption key cannot get a key of theirs published, and a JWK column
// that says something else than the sealed key is not what gets published.
func TestRingPublishesOnlyWhatWasSealed(t *testing.T) {
	t.Parallel()
	sealer, theirs := newSealer(t), newSealer(t)
	good, slipped := mint(t, sealer, AlgEdDSA), mint(t, theirs, AlgEdDSA)
	slipped.SignUntil = slipped.SignFrom // verifies only
	_, err := NewRing([]Key{good, slipped}, sealer, start, time.Minute)
	require.ErrorIs(t, err, ErrSealed)

	swapped := good
	swapped.PublicJWK = slipped.PublicJWK
	document, _ := newRing(t, sealer, swapped).JWKS(start)
	require.Equal(t, []string{good.KID}, kidsOf(t, document))
	require.Contains(t, string(document), string(good.PublicJWK))
}

func TestRingRefusesRepeatedKidAndForeignAlg(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	key := mint(t, sealer, AlgEdDSA)
	_, err := NewRing([]Key{key, key}, sealer, start, time.Minute)
	require.ErrorContains(t, err, "twice")
	key.Alg = "HS256"
	_, err = NewRing([]Key{key}, sealer, start, time.Minute)
	require.ErrorContains(t, err, "HS256")
}

// The tag depends on the content alone, so that every replica answers 304 to what another one handed out.
func TestEntityTagFollowsTheContent(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	k := turns(t, sealer)
	a, err := NewRing(k, sealer, start, time.Minute)
	require.NoError(t, err)
	b, err := NewRing([]Key{k[2], k[1], k[0]}, sealer, start.Add(time.Second), time.Hour)
	require.NoError(t, err)
	documentA, tagA := a.JWKS(start)
	documentB, tagB := b.JWKS(start.Add(time.Minute))
	require.Equal(t, documentA, documentB)
	require.Equal(t, tagA, tagB)
	require.Regexp(t, `^"[A-Za-z0-9_-]{22}"$`, tagA, "strong: no W/ before it")
	_, later := a.JWKS(start.Add(time.Hour))
	require.NotEqual(t, tagA, later)
}

// A token that Sign makes is one that Verify takes: claims it would refuse are refused before they are signed.
func TestSignRefusesWhatVerifyWould(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	key := mint(t, sealer, AlgEdDSA)
	key.SignFrom = time.Time{}
	ring := newRing(t, sealer, key)
	for want, spoil := range map[Invalid][]func(*SessionClaims){
		MissingClaim: {
			func(c *SessionClaims) { c.SessionID = "" },
			func(c *SessionClaims) { c.Handle = "" },
			func(c *SessionClaims) { c.Endpoint = "" },
			func(c *SessionClaims) { c.Region = "" },
			func(c *SessionClaims) { c.ID = "" },
		},
		BadClaim: {
			func(c *SessionClaims) { c.Subject = "" },
			func(c *SessionClaims) { c.Subject = "a\x00b" },
			func(c *SessionClaims) { c.Subject = "a\xffb" },
			func(c *SessionClaims) { c.Subject = strings.Repeat("a", 256) },
			func(c *SessionClaims) { c.Endpoint = "\xff" },
			func(c *SessionClaims) { c.Expires = c.IssuedAt },
			func(c *SessionClaims) { c.IssuedAt = time.Unix(-1, 0) },
			func(c *SessionClaims) { c.Expires = time.Unix(lastDate+1, 0) },
		},
		TooLarge: {func(c *SessionClaims) { c.Endpoint = strings.Repeat("a", MaxTokenBytes) }},
	} {
		for i, f := range spoil {
			c := someClaims()
			f(&c)
			_, err := ring.Sign(start, c)
			require.ErrorIs(t, err, want, i)
		}
	}
}

// Signing is Ed25519's own: deterministic, and verified by the standard library over exactly what was sent.
func TestSignatureCoversHeaderAndPayload(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	key := mint(t, sealer, AlgEd25519)
	ring := newRing(t, sealer, key)
	private, err := sealer.Open(key.Material)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		raw, err := ring.Sign(start, drawClaims(t))
		require.NoError(t, err)
		dot := strings.LastIndexByte(raw, '.')
		signature, err := b64.DecodeString(raw[dot+1:])
		require.NoError(t, err)
		require.True(t, ed25519.Verify(private.Public().(ed25519.PublicKey), []byte(raw[:dot]), signature))
	})
}
