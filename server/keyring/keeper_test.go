package keyring_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/server/keyring"
	"github.com/lattice-director/director/token"
)

// bundle is a key table and a Keeper of its keys.
type bundle struct {
	*keyring.Keeper
	t     *testing.T
	store *storetest.DB
}

func setup(t *testing.T) *bundle {
	t.Helper()
	store := storetest.New(t)
	return &bundle{keyring.New(store.Store, keytest.Sealer(t, 1), token.AlgEdDSA, keyring.Schedule{}), t, store}
}

func (b *bundle) refresh() {
	b.t.Helper()
	require.NoError(b.t, b.Refresh(b.t.Context()))
}

// claims makes claims of a token that is issued some time from now, by the database's clock.
func (b *bundle) claims(from time.Duration) token.SessionClaims {
	b.t.Helper()
	issued := storetest.One[time.Time](b.store, "SELECT now()").Add(from).Truncate(time.Second)
	return token.SessionClaims{
		Subject: "alice", SessionID: "eu.1", Handle: "eu.h", Endpoint: "a:1", Region: "eu", ID: "jti",
		IssuedAt: issued, Expires: issued.Add(2 * time.Minute),
	}
}

// published returns the kids of the key set.
func (b *bundle) published() (kids []string) {
	b.t.Helper()
	document, etag, err := b.JWKS()
	require.NoError(b.t, err)
	require.NotEmpty(b.t, etag)
	var set struct{ Keys []struct{ Kid string } }
	require.NoError(b.t, json.Unmarshal(document, &set))
	for _, k := range set.Keys {
		kids = append(kids, k.Kid)
	}
	return kids
}

// Replicas that start on an empty table make the first keys without a worker, and together make only one pair.
func TestTheFirstReplicasMakeTheFirstKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Error(t, b.Usable())
	_, _, err := b.JWKS()
	require.True(t, fault.Is(err, fault.Unavailable))
	_, known := b.CurrentState()
	require.False(t, known)

	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			k := keyring.New(b.store.Store, keytest.Sealer(t, 1), token.AlgEdDSA, keyring.Schedule{})
			if err := k.Refresh(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	b.refresh()
	require.Equal(t, 2, storetest.One[int](b.store, "SELECT count(*) FROM signing_keys"),
		"the signing key and the next one")
	require.NoError(t, b.Usable())
	require.Len(t, b.published(), 2)
}

// Tokens hold whole seconds, so a key must sign from the start of the second in which its signing time begins.
func TestAKeySignsFromItsFirstSecondOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refresh()
	c := b.claims(0)
	c.IssuedAt = storetest.One[time.Time](b.store, "SELECT min(sign_from) FROM signing_keys").Truncate(time.Second)
	_, err := b.Sign(c)
	require.NoError(t, err)
}

// Without a worker, a replica makes the next key before the last one stops signing.
func TestLastKeyWithoutSuccessor(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]string{"is about to end": "8 seconds", "has ended": "-1 hour"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.refresh()
			b.store.Exec("DELETE FROM signing_keys WHERE sign_from > now()")
			b.store.Exec("UPDATE signing_keys SET publish_at = now() - interval '2 days', sign_from = now() - interval '1 day', sign_until = now() + $1::interval", left)
			b.refresh()
			require.NoError(t, b.Usable())
			for _, from := range []time.Duration{0, 8 * time.Second, time.Minute} {
				_, err := b.Sign(b.claims(from))
				require.NoError(t, err, from)
			}
		})
	}
}

// During an outage a replica signs with the keys that it has read, but not beyond the lead: another key may have taken
// over, or the key may have been tainted.
func TestKeysDuringAnOutage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refresh()
	before := b.published()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	lead := keyring.Schedule{}.Policy().Lead
	within, beyond := b.claims(lead-10*time.Second), b.claims(lead+10*time.Second)

	require.Error(t, b.Refresh(gone))
	require.Equal(t, before, b.published())
	require.NoError(t, b.Usable())
	_, err := b.Sign(within)
	require.NoError(t, err)
	_, err = b.Sign(beyond)
	require.True(t, fault.Is(err, fault.Unavailable))
	require.ErrorIs(t, err, token.ErrStale)
	<-b.RefreshRequests() // The refresh loop is woken.
}

// A new key that this replica cannot open does not replace the keys that it has.
func TestAKeyUnderAnotherKeyEncryptionKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refresh()
	before := b.published()
	foreign, err := keytest.Sealer(t, 2).Mint(token.AlgEdDSA)
	require.NoError(t, err)
	b.store.Exec(`INSERT INTO signing_keys (kid, alg, public_jwk, sealed_private, sealed_by, publish_at, sign_from, sign_until, verify_until, lead, overlap)
		SELECT $1, $2, $3, $4, $5, now(), max(sign_until), max(sign_until) + interval '1 day', max(verify_until) + interval '2 days', lead, max(overlap)
		FROM signing_keys WHERE lead > interval '0' GROUP BY lead`, foreign.KID, foreign.Alg, foreign.PublicJWK, foreign.Sealed, foreign.SealedBy)
	require.ErrorIs(t, b.Refresh(t.Context()), token.ErrSealed)
	require.Equal(t, before, b.published())
	require.NoError(t, b.Usable())

	started := keyring.New(b.store.Store, keytest.Sealer(t, 1), token.AlgEdDSA, keyring.Schedule{})
	require.ErrorIs(t, started.Refresh(t.Context()), token.ErrSealed)
	require.ErrorContains(t, started.Usable(), foreign.KID, "readyz says why")
}

// From the next reading on, a tainted key neither signs nor is published.
func TestATaintedKeyIsNotPublished(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refresh()
	kid := storetest.One[string](b.store, "SELECT kid FROM ops.keys WHERE state = 'signing'")
	require.NoError(t, b.store.TaintKey(t.Context(), kid))
	b.refresh()
	require.NotContains(t, b.published(), kid)
}

// State reports the values of the metrics.
func TestState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refresh()
	s, known := b.CurrentState()
	require.True(t, known)
	require.Equal(t, 2, s.PublishedKeys)
	require.InDelta(t, 24*time.Hour, s.TurnLeft, float64(time.Minute))
	require.Less(t, s.ReadingAge, time.Minute)
	require.Equal(t, 5*time.Minute, b.MaxAge())
	require.Equal(t, 5*time.Second, b.RefreshInterval())
}

// The lead and overlap of a schedule cover the delays between the key table and a game server.
func TestTheScheduleCoversItsDelays(t *testing.T) {
	t.Parallel()
	p := keyring.Schedule{}.Policy()
	require.Equal(t, db.KeyPolicy{Period: 24 * time.Hour, Lead: 5*time.Minute + 10*time.Second + 30*time.Second,
		Overlap: 2*time.Minute + p.Lead + 30*time.Second}, p)
	short := keyring.Schedule{MaxAge: time.Second, RefreshEvery: time.Second, TokenTTL: time.Second,
		ClockSkew: time.Second, KeyPeriod: time.Minute}.Policy()
	require.Equal(t, db.KeyPolicy{Period: time.Minute, Lead: 4 * time.Second, Overlap: 6 * time.Second}, short)
}
