package worker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Pins tables that grow forever, and rows that are deleted too early.
func TestPruneDeletesExpiredRows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("old", 8)
	b.AddServer("young", 8)
	b.Exec(`INSERT INTO idempotency_keys (caller, key, request_hash, answer, expires_at)
		SELECT 'anna', 'key-' || n, '', '{}', now() + CASE WHEN n <= 2 * $1 THEN interval '-1 second' ELSE interval '1 hour' END
		FROM generate_series(1, 2 * $1 + 3) n`, pruneBatch)
	b.Exec(`INSERT INTO redeemed_tokens (region, jti, session_id, sub, expires_at)
		SELECT 'eu', 'jti-' || n, gen_random_uuid(), 'anna', now() + (n - 2) * interval '1 hour' - interval '1 second' FROM generate_series(1, 3) n`)
	b.Exec(`INSERT INTO netcode_tokens (region, client_id, session_id, sub, deployment_id, expires_at)
		SELECT 'eu', n, gen_random_uuid(), 'anna', gen_random_uuid(), now() + (n - 2) * interval '1 hour' - interval '1 second' FROM generate_series(1, 3) n`)
	b.Exec(`INSERT INTO demand (region, mode, key, matches, players, expires_at)
		SELECT 'eu', 'duel', 'k' || n, 1, 1, now() + (n - 2) * interval '1 hour' - interval '1 second' FROM generate_series(1, 3) n`)
	b.Exec("DELETE FROM instance_leases WHERE instance_id = 'old'")
	b.Exec("UPDATE instances SET status = 'gone', ended_at = now() - interval '25 hours' WHERE id = 'old'")
	once(t, loopOf(t, b.options(), "rotate"))
	b.pass(40 * day)

	o := b.options()
	prune := loopOf(t, o, "prune")
	require.Equal(t, Done{"idempotency_keys": 2 * pruneBatch, "redeemed_tokens": 2, "netcode_tokens": 2, "demand": 2, "instances": 1, "keys": 2}, once(t, prune))
	require.Empty(t, once(t, prune))
	require.Equal(t, 3, storetest.One[int](b.DB, "SELECT count(*) FROM idempotency_keys"))
	require.Equal(t, "young", storetest.One[string](b.DB, "SELECT id FROM instances"))
	require.Equal(t, "young", storetest.One[string](b.DB, "SELECT instance_id FROM instance_directory"))
}

func TestPrunersShareTheWork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exec(`INSERT INTO idempotency_keys (caller, key, request_hash, answer, expires_at)
		SELECT 'anna', 'key-' || n, '', '{}', now() - interval '1 second' FROM generate_series(1, 5 * $1) n`, pruneBatch)

	require.Equal(t, Done{"idempotency_keys": 5 * pruneBatch}, b.race(10, "prune", b.options()))
}
