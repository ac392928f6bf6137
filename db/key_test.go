package db_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
)

var policy = db.KeyPolicy{Period: 24 * time.Hour, Lead: 5 * time.Minute, Overlap: 10 * time.Minute}

// minter makes key material that contains only a number.
func minter() db.MintFunc {
	var n atomic.Int64
	return func([]db.SigningKey) (db.KeyMaterial, error) {
		kid := fmt.Sprintf("key-%d-%p", n.Add(1), &n)
		return db.KeyMaterial{KID: kid, Alg: "EdDSA", PublicJWK: []byte(`{"kid":"` + kid + `"}`), Sealed: []byte("sealed"), SealedBy: "kek"}, nil
	}
}

func (b *bundle) rotate(force bool) []db.SigningKey {
	b.t.Helper()
	return must.Get(b.RotateKeys(b.t.Context(), db.SigningKeyRotation{Policy: policy, Mint: minter(), Force: force}))(b.t)
}

// turns returns the key that signs now, and the next one.
func (b *bundle) turns() (signing, next *db.SigningKey) {
	b.t.Helper()
	keys, now, err := b.Keys(b.t.Context())
	require.NoError(b.t, err)
	for i, k := range keys {
		switch {
		case now.Before(k.SignFrom):
			require.Nil(b.t, next, "one next key")
			next = &keys[i]
		case now.Before(k.SignUntil):
			require.Nil(b.t, signing, "one signing key")
			signing = &keys[i]
		}
	}
	return signing, next
}

func TestTheFirstKeySignsAtOnceAndTheNextIsPublished(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Len(t, b.rotate(false), 2)
	signing, next := b.turns()
	require.Equal(t, signing.SignUntil, next.SignFrom)
	require.GreaterOrEqual(t, next.SignFrom.Sub(next.PublishAt), policy.Lead)
	require.Equal(t, policy.Overlap, next.VerifyUntil.Sub(next.SignUntil))
	require.Empty(t, b.rotate(false), "nothing is due")
	b.RequireInvariants()
}

func TestTenConcurrentRotationsMakeOneKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	race := func() (made int64) {
		var n atomic.Int64
		var wg sync.WaitGroup
		for range 10 {
			s := b.Replica(func(c *db.Config) { c.MaxConns = 2 })
			wg.Go(func() {
				keys, err := s.RotateKeys(t.Context(), db.SigningKeyRotation{Policy: policy, Mint: minter()})
				if err == nil {
					n.Add(int64(len(keys)))
				}
			})
		}
		wg.Wait()
		return n.Load()
	}
	require.Equal(t, int64(2), race())
	b.Exec(`UPDATE signing_keys SET publish_at = publish_at - interval '24 hours 1 second', sign_from = sign_from - interval '24 hours 1 second',
		sign_until = sign_until - interval '24 hours 1 second', verify_until = verify_until - interval '24 hours 1 second'`)
	require.Equal(t, int64(1), race())
	b.RequireInvariants()
}

func TestForcedRotationWaitsForVerifiers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.rotate(false)
	_, next := b.turns()
	require.Empty(t, b.rotate(true), "the next key exists: only its turn moves")
	signing, moved := b.turns()
	require.Equal(t, next.Material.KID, moved.Material.KID)
	require.WithinDuration(t, next.PublishAt.Add(policy.Lead), moved.SignFrom, time.Millisecond)
	require.Equal(t, signing.SignUntil, moved.SignFrom)
	b.Exec("UPDATE signing_keys SET publish_at = publish_at - interval '1 hour'")
	b.rotate(true)
	signing, _ = b.turns()
	require.Equal(t, next.Material.KID, signing.Material.KID, "verifiers know it, so it signs at once")
	require.Empty(t, b.rotate(false))
	b.RequireInvariants()
}

func TestTaintedKeyIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.rotate(false)
	b.Exec("UPDATE signing_keys SET publish_at = publish_at - interval '1 hour'")
	bad, next := b.turns()
	require.NoError(t, b.TaintKey(t.Context(), bad.Material.KID))
	signing, none := b.turns()
	require.Equal(t, next.Material.KID, signing.Material.KID)
	require.Nil(t, none)
	require.Len(t, b.rotate(false), 1, "a new next key is made")
	_, next = b.turns()
	require.NoError(t, b.TaintKey(t.Context(), next.Material.KID))
	require.Len(t, b.rotate(false), 1)
	b.RequireInvariants()
	requireKind(t, fault.NotFound, "key_unknown", b.TaintKey(t.Context(), "no-such-key"))
}

// When the signing key is tainted during the lead of the next one, a key is made that signs until that lead is over.
// Verifiers have to fetch the JWKS again for it, which is better than no tokens at all.
func TestTaintDuringTheLeadOfTheNextKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.rotate(false)
	bad, next := b.turns()
	require.NoError(t, b.TaintKey(t.Context(), bad.Material.KID))
	require.Len(t, b.rotate(false), 1)
	signing, still := b.turns()
	require.Equal(t, next.Material.KID, still.Material.KID)
	require.Equal(t, still.SignFrom, signing.SignUntil)
	b.RequireInvariants()
}

// After a week without workers a key signs again at once, and no constraint prevents it.
func TestRotationAfterAWeekWithoutWorkers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.rotate(false)
	b.Exec(`UPDATE signing_keys SET publish_at = publish_at - interval '7 days', sign_from = sign_from - interval '7 days',
		sign_until = sign_until - interval '7 days', verify_until = verify_until - interval '7 days'`)
	require.Len(t, b.rotate(false), 2)
	b.RequireInvariants()
}

// When the lifetime of tokens is raised, published keys stay for longer.
func TestOverlapGrowsWithTheTokens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.rotate(false)
	longer := policy
	longer.Overlap = time.Hour
	_, err := b.RotateKeys(t.Context(), db.SigningKeyRotation{Policy: longer, Mint: minter()})
	require.NoError(t, err)
	signing, _ := b.turns()
	require.Equal(t, time.Hour, signing.VerifyUntil.Sub(signing.SignUntil))
}

// The table's constraints keep the guarantees to verifiers, also against changes in SQL.
func TestKeyConstraints(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.rotate(false)
	for constraint, sql := range map[string]string{
		"a_key_is_published_before_it_signs": "UPDATE signing_keys SET sign_from = publish_at + lead - interval '1 second'",
		"a_key_outlives_its_tokens":          "UPDATE signing_keys SET verify_until = sign_until",
		"one_key_signs_at_a_time":            "UPDATE signing_keys SET sign_until = sign_until + interval '1 hour', verify_until = verify_until + interval '1 hour'",
	} {
		_, err := b.Pool().Exec(t.Context(), sql)
		require.ErrorContains(t, err, constraint)
	}
}
