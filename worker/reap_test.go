package worker

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Pins a reaper that skips a region, closes sessions of instances that are alive, or leaves the seats of dead ones
// taken.
func TestReapEndsInstancesPastTheirLease(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	b.AddServer("us-1", 8, storetest.InRegion("us"))
	b.place("eu", "anna", "ben")
	alive := b.place("us", "carl")
	b.expireLeases("eu")
	b.EndAmnesty()

	reap := loopOf(t, b.options(), "reap")
	require.Equal(t, Done{"instances": 1, "sessions": 1}, once(t, reap))
	require.Empty(t, once(t, reap), "a second run finds nothing to do")

	require.Equal(t, "lease expired", storetest.One[string](b.DB, "SELECT reason FROM session_history"))
	require.Equal(t, 2, storetest.One[int](b.DB, "SELECT count(*) FROM seat_history"))
	require.Equal(t, "gone", storetest.One[string](b.DB, "SELECT status FROM instances WHERE id = 'eu-1'"))
	_, err := b.Session(t.Context(), alive.SessionID)
	require.NoError(t, err)
	b.RequireInvariants()
}

// Pins a reaper that stops after its first batch, and so takes a minute to end the instances that a region lost in a
// second.
func TestReapTakesABacklogInOneRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 2*reapInstances + 1 {
		b.AddServer(fmt.Sprintf("eu-%03d", i), 8)
	}
	b.expireLeases("eu")
	b.EndAmnesty()

	require.Equal(t, Done{"instances": 2*reapInstances + 1}, once(t, loopOf(t, b.options(), "reap")))
}

func TestReapersShareTheWork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 2 * reapInstances {
		b.AddServer(fmt.Sprintf("eu-%03d", i), 2)
		b.place("eu", fmt.Sprintf("player-%03d", i), fmt.Sprintf("friend-%03d", i))
	}
	b.expireLeases("eu")
	b.EndAmnesty()

	require.Equal(t, Done{"instances": 2 * reapInstances, "sessions": 2 * reapInstances}, b.race(10, "reap", b.options()))
	require.Equal(t, 2*reapInstances, storetest.One[int](b.DB, "SELECT count(*) FROM session_history"))
	b.RequireInvariants()
}

// Pins an outage of the director that ends the whole fleet: during it no heartbeat could be received, so no lease
// expires.
func TestReapEndsNothingDuringAnAmnesty(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	b.expireLeases("eu")

	require.Empty(t, once(t, loopOf(t, b.options(), "reap")))
	require.Equal(t, "ready", storetest.One[string](b.DB, "SELECT status FROM instances"))
}

// Pins seats whose players never connected, and which no other player got.
func TestReapFreesSeatsOfPlayersWhoNeverConnected(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	abandoned, kept := b.place("eu", "anna", "ben"), b.place("eu", "carl", "dora")
	b.Exec("UPDATE seats SET expires_at = now() - interval '1 second', look_at = now() WHERE sub IN ('anna', 'ben', 'carl')")

	reap := loopOf(t, b.options(), "reap")
	require.Equal(t, Done{"seats": 3, "sessions": 1}, once(t, reap))
	require.Empty(t, once(t, reap))

	_, err := b.Session(t.Context(), abandoned.SessionID)
	require.Error(t, err)
	left, err := b.Session(t.Context(), kept.SessionID)
	require.NoError(t, err)
	require.Equal(t, 1, left.PlayerCount)
	require.Equal(t, "empty", storetest.One[string](b.DB, "SELECT reason FROM session_history"))
	b.RequireInvariants()
}

// Pins sessions that outlive their instance because another transaction had locked them when it ended.
func TestReapRetriesLockedSessions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	b.place("eu", "anna")
	b.expireLeases("eu")
	b.EndAmnesty()
	holder, err := b.Pool().BeginTx(t.Context(), pgx.TxOptions{})
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), "SELECT FROM sessions FOR UPDATE")
	require.NoError(t, err)

	reap := loopOf(t, b.options(), "reap")
	require.Equal(t, Done{"instances": 1}, once(t, reap))
	require.Empty(t, once(t, reap), "it waits for no lock")

	require.NoError(t, holder.Rollback(t.Context()))
	require.Equal(t, Done{"sessions": 1}, once(t, reap))
	require.Equal(t, "instance gone", storetest.One[string](b.DB, "SELECT reason FROM session_history"))
	b.RequireInvariants()
}

// Pins a region that no worker visits any more because its last instance has moved to another region.
func TestARegionWithoutInstancesIsReapedAndPruned(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("one", 8)
	b.place("eu", "anna")
	tx, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	// as a placement locks it: registration leaves the session to the reaper
	_, err = tx.Exec(t.Context(), "SELECT FROM sessions FOR NO KEY UPDATE")
	require.NoError(t, err)
	b.AddServer("one", 8, storetest.InRegion("us"))
	require.NoError(t, tx.Rollback(t.Context()))
	b.Exec("INSERT INTO redeemed_tokens (region, jti, session_id, sub, expires_at) VALUES ('eu', 'j', gen_random_uuid(), 'anna', now() - interval '1 hour')")
	b.Exec("UPDATE seats SET expires_at = now() - interval '1 hour', look_at = now() - interval '1 hour'")
	b.Exec("UPDATE instances SET ended_at = ended_at - interval '2 days' WHERE region = 'eu'")
	once(t, loopOf(t, b.options(), "reap"))
	once(t, loopOf(t, b.options(), "prune"))
	for _, table := range []string{"sessions", "seats", "redeemed_tokens"} {
		require.Zero(t, storetest.One[int](b.DB, "SELECT count(*) FROM "+table), table)
	}
	require.Equal(t, "us", storetest.One[string](b.DB, "SELECT string_agg(region, ' ') FROM instances"))
}
