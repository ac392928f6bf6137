package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/storetest"
)

// lobby inserts a room of the region "eu" with members and invited sessions.
func (b *bundle) lobby(id string, grace time.Duration, members, invited int) {
	b.t.Helper()
	b.Exec(`INSERT INTO lobbies (region, uid, project, id, type, state, members, joins, max_members, grace, closes_at)
		VALUES ('eu', md5($1)::uuid, 'p', $1, 'chat', '{}', $2::int, $2::int, 10, $3, CASE WHEN $2::int + $4::int = 0 THEN now() + $3::interval END)`, id, members, grace, invited)
	b.Exec(`INSERT INTO realtime_sessions (region, id, project, player, authenticated, ttl, owner)
		SELECT 'eu', $1 || n, 'p', 'p', true, '30 seconds', gen_random_uuid() FROM generate_series(1, $2::int) n`, id, members)
	b.Exec(`INSERT INTO lobby_members (region, lobby, session, player, state, join_order)
		SELECT 'eu', md5($1)::uuid, $1 || n, 'p', 'joined', n FROM generate_series(1, $2::int) n`, id, members)
	b.Exec(`INSERT INTO lobby_members (region, lobby, session, player, state, expires_at)
		SELECT 'eu', md5($1)::uuid, 'i' || n, 'p', 'invited', now() + interval '5 minutes' FROM generate_series(1, $2::int) n`, id, invited)
}

func TestEmptyRoomsCloseAfterTheirGrace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := loopOf(t, b.options(), "lobby")
	require.Empty(t, once(t, l))
	b.lobby("over", 0, 0, 0)
	b.lobby("in its grace", time.Minute, 0, 0)
	b.lobby("with a member", 0, 1, 0)
	b.lobby("with an invitation", 0, 0, 1)
	b.lobby("joined meanwhile", 0, 1, 0)
	b.Exec("UPDATE lobbies SET closes_at = now() WHERE id = 'joined meanwhile'")
	require.Equal(t, Done{"rooms_closed": 1}, b.race(3, "lobby", b.options()))
	require.Equal(t, []string{"in its grace", "joined meanwhile", "with a member", "with an invitation"},
		storetest.One[[]string](b.DB, "SELECT array_agg(id ORDER BY id) FROM lobbies"))
	require.Equal(t, "in its grace", storetest.One[string](b.DB, "SELECT id FROM lobbies WHERE closes_at IS NOT NULL"))

	b.Exec("UPDATE lobby_members SET expires_at = now() WHERE expires_at IS NOT NULL")
	require.Equal(t, Done{"rooms_with_expired_invitations": 1, "rooms_closed": 1}, once(t, l))
	b.Exec("UPDATE lobbies SET closes_at = now() WHERE id = 'in its grace'")
	require.Equal(t, Done{"rooms_closed": 1}, once(t, l))
	require.Equal(t, 2, storetest.One[int](b.DB, "SELECT count(*) FROM lobby_members"))
	b.RequireInvariants()
}

// Pins two workers that close a room twice, or wait for each other.
func TestManyRoomsCloseOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exec(`INSERT INTO lobbies (region, uid, project, id, type, state, max_members, grace, closes_at)
		SELECT 'eu', md5(n::text)::uuid, 'p', n::text, 'chat', '{}', 10, '0', now() - interval '1 week' FROM generate_series(1, 2 * $1::int + 1) n`, lobbyBatch)
	b.Exec(`INSERT INTO lobby_members (region, lobby, session, player, state, expires_at)
		SELECT 'eu', md5(n::text)::uuid, 'i' || k, 'p', 'invited', now() - interval '1 week' FROM generate_series(1, 2 * $1::int + 1) n, generate_series(1, 2) k`, lobbyBatch)
	require.Equal(t, 2*lobbyBatch+1, b.race(3, "lobby", b.options())["rooms_closed"])
	require.Zero(t, storetest.One[int](b.DB, "SELECT count(*) FROM lobbies")+
		storetest.One[int](b.DB, "SELECT count(*) FROM lobby_members"))
}

// Pins rooms that stay open for ever since the worker that closed them was killed, and a worker that waits for one that
// is frozen.
func TestAWorkerThatIsKilledHoldsNoRoom(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := loopOf(t, b.options(), "lobby")
	b.lobby("first", 0, 0, 0)
	b.lobby("second", 0, 0, 0)
	frozen, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	_, err = frozen.Exec(t.Context(), "DELETE FROM lobbies WHERE id = 'first'")
	require.NoError(t, err)
	require.Equal(t, Done{"rooms_closed": 1}, once(t, l))
	require.Equal(t, "first", storetest.One[string](b.DB, "SELECT id FROM lobbies"))
	require.NoError(t, frozen.Rollback(t.Context()))
	require.Equal(t, Done{"rooms_closed": 1}, once(t, l))
}

// Pins rows that stay for ever since the mark has passed them.
func TestLogsOfRoomsArePruned(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := &lobbyCleaner{store: b.Store}
	run := func() Done {
		done, err := c.runOnce(t.Context())
		require.NoError(t, err)
		return done
	}
	write := func(from, to int, age string) {
		b.Exec(`INSERT INTO lobby_log (region, lobby, pos, at, body) SELECT 'eu', md5('r')::uuid, n, now() - $3::interval + n * interval '1 us', '{}'
			FROM generate_series($1::int, $2::int) n`, from, to, age)
	}
	write(1, 12_000, "61 s")
	write(20_001, 20_010, "30 s")
	require.Equal(t, Done{"lobby_log_rows": 12_000}, run())
	require.Empty(t, run())
	write(12_001, 12_002, "2 minutes")
	require.Empty(t, run(), "it starts at its mark")
	c.marksResetAt = time.Now().Add(-wholeLogEvery)
	require.Equal(t, Done{"lobby_log_rows": 2}, run(), "and every ten minutes at the first row")
	require.Equal(t, 10, storetest.One[int](b.DB, "SELECT count(*) FROM lobby_log"))
}
