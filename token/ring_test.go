package token

import (
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwk"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/internal/testkit/must"
)

func kidsOf(t *testing.T, document []byte) []string {
	t.Helper()
	set := must.Get(jwk.Parse(document))(t)
	var kids []string
	for i := range set.Len() {
		key, _ := set.Key(i)
		kids = append(kids, key.KeyID())
	}
	return kids
}

// turns makes three keys that sign for an hour each, one after the other, and are published from an hour before to an
// hour after that.
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

// The signing key changes exactly at the times in the rows, to the nanosecond, for any order of the rows.
func TestRingSwitchesByTheTimesOfTheRows(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	k := turns(t, sealer)
	ring, err := NewRing([]Key{k[1], k[2], k[0]}, sealer, start, 24*time.Hour)
	require.NoError(t, err)
	for at, want := range map[time.Duration]Key{
		0: k[0], time.Hour - 1: k[0], time.Hour: k[1], 2*time.Hour - 1: k[1], 2 * time.Hour: k[2],
		3*time.Hour - 1: k[2],
	} {
		c := someClaims()
		c.IssuedAt, c.Expires = start.Add(at), start.Add(at+2*time.Minute)
		raw, err := ring.Sign(start, c)
		require.NoError(t, err)
		require.Equal(t, want.Material.KID, must.Get(splitToken(raw))(t).header.keyID.stringValue, at)
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
		-time.Hour:      {k[0].Material.KID},
		0:               {k[0].Material.KID, k[1].Material.KID},
		time.Hour:       {k[0].Material.KID, k[1].Material.KID, k[2].Material.KID},
		2*time.Hour - 1: {k[0].Material.KID, k[1].Material.KID, k[2].Material.KID},
		2 * time.Hour:   {k[1].Material.KID, k[2].Material.KID},
		4 * time.Hour:   nil,
	} {
		document, _ := ring.JWKS(start.Add(at))
		require.Equal(t, want, kidsOf(t, document), at)
	}
}

// The key of a stale ring may have been tainted, so it does not sign. It still publishes its keys, because game servers
// must be able to verify existing tokens.
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
	require.Error(t, err, "zero must not mean a ring that is never stale")
}

// A tainted key neither signs nor is published, even if it cannot be unsealed. Another key signs if its time has come.
func TestTaintedKeyNeitherSignsNorIsPublished(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	old, fresh := mint(t, sealer, AlgEdDSA), mint(t, sealer, AlgEdDSA)
	fresh.SignFrom = old.SignFrom.Add(-time.Hour)
	kid, err := newRing(t, sealer, old, fresh).Signer(start)
	require.NoError(t, err)
	require.Equal(t, old.Material.KID, kid, "the key with the latest SignFrom signs")

	old.Tainted, old.Material.Sealed = true, nil
	ring := newRing(t, sealer, old, fresh)
	kid, err = ring.Signer(start)
	require.NoError(t, err)
	require.Equal(t, fresh.Material.KID, kid)
	document, _ := ring.JWKS(start)
	require.Equal(t, []string{fresh.Material.KID}, kidsOf(t, document))

	fresh.Tainted = true
	ring = newRing(t, sealer, old, fresh)
	_, err = ring.Signer(start)
	require.ErrorIs(t, err, ErrNoKey)
	document, _ = ring.JWKS(start)
	require.JSONEq(t, `{"keys":[]}`, string(document))
}

// An attacker who can write to the table but has no key-encryption key cannot have a key published. The published JWK
// is that of the sealed key, whatever the JWK column holds.
func TestRingPublishesOnlyWhatWasSealed(t *testing.T) {
	t.Parallel()
	sealer, theirs := newSealer(t), newSealer(t)
	good, slipped := mint(t, sealer, AlgEdDSA), mint(t, theirs, AlgEdDSA)
	slipped.SignUntil = slipped.SignFrom // verifies only
	_, err := NewRing([]Key{good, slipped}, sealer, start, time.Minute)
	require.ErrorIs(t, err, ErrSealed)

	swapped := good
	swapped.Material.PublicJWK = slipped.Material.PublicJWK
	document, _ := newRing(t, sealer, swapped).JWKS(start)
	require.Equal(t, []string{good.Material.KID}, kidsOf(t, document))
	require.Contains(t, string(document), string(good.Material.PublicJWK))
}

func TestRingRefusesRepeatedKidAndForeignAlg(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	key := mint(t, sealer, AlgEdDSA)
	_, err := NewRing([]Key{key, key}, sealer, start, time.Minute)
	require.ErrorContains(t, err, "twice")
	key.Material.Alg = "HS256"
	_, err = NewRing([]Key{key}, sealer, start, time.Minute)
	require.ErrorContains(t, err, "HS256")
}

// The entity tag depends on the content only, so that every replica can answer 304 for the tag of another.
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
	require.Regexp(t, `^"[A-Za-z0-9_-]{22}"$`, tagA, "a strong tag, without W/")
	_, later := a.JWKS(start.Add(time.Hour))
	require.NotEqual(t, tagA, later)
}

// Sign refuses the claims that Verify would refuse.
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

// The signature is plain Ed25519: it is deterministic, and the standard library verifies it over header and payload.
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
