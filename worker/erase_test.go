package worker

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Pins an erasure that an operator asked for in SQL and no worker carries out, one that stops after its first batch, and
// a player who stays in a table because a process wrote it while it was erased.
func TestPlayersAreErased(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exec(`INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, left_at, reason)
		SELECT 'eu', md5(n::text)::uuid, p.sub, 'duel', md5('p' || n % 7)::uuid, 'zoe', now() - n * interval '1 minute', now() - n * interval '30 s', 'left'
		FROM generate_series(1, 5000) n, (VALUES ('zoe'), ('mate')) p(sub)`)
	b.Exec(`SELECT ops.erase_player('zoe', 'asked')`)
	b.Exec(`SELECT ops.erase_player('zoe', 'asked again')`)
	b.Exec(`UPDATE erasures SET requested_at = now() + interval '1 hour'`) // however slow this machine is
	e := eraser{b.Store}
	done, err := e.runOnce(t.Context())
	require.NoError(t, err)
	require.Empty(t, done, "the first pass is over, and not the last")
	require.Zero(t, b.Count(`SELECT count(*) FROM seat_history WHERE sub = 'zoe' OR reserved_by = 'zoe' OR party IN (SELECT md5('p' || n)::uuid FROM generate_series(0, 6) n)`))
	require.Equal(t, 1, b.Count(`SELECT count(DISTINCT sub) FROM seat_history WHERE sub <> 'mate'`))
	require.Equal(t, 5000, b.Count(`SELECT count(*) FROM seat_history o JOIN seat_history m ON m.session_id = o.session_id AND m.party = o.party AND m.reserved_by = o.sub WHERE o.sub <> 'mate' AND m.sub = 'mate'`))
	require.Equal(t, 1, b.Count(`SELECT count(*) FROM ops.erasures WHERE rows = 5000 AND erased_at IS NOT NULL AND finished_at IS NULL`))

	b.Exec(`INSERT INTO player_refusals (sub, hour, call, code, region, mode, detail, request_id, times, first_at, last_at)
		VALUES ('zoe', date_trunc('hour', now()), 'POST /matchmake', 'no_capacity', 'eu', 'duel', '', '', 1, now(), now())`) // what a replica had in memory
	done, err = e.runOnce(t.Context())
	require.NoError(t, err)
	require.Empty(t, done, "the last pass is not due")
	b.Exec(`UPDATE erasures SET requested_at = now() - interval '5 seconds'`)
	done, err = e.runOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, Done{"players_erased": 1}, done)
	require.Zero(t, b.Count(`SELECT count(*) FROM player_refusals`))
	require.Equal(t, 1, b.Count(`SELECT count(*) FROM events WHERE kind = 'player.erased' AND detail ->> 'reason' = 'asked' AND detail ->> 'rows' = '5001'`))
	require.Zero(t, b.Count(`SELECT count(*) FROM erasures WHERE subs IS NOT NULL OR key IS NOT NULL OR salt IS NOT NULL`))
	done, err = e.runOnce(t.Context())
	require.NoError(t, err)
	require.Empty(t, done)
	b.Exec(`UPDATE erasures SET finished_at = now() - interval '31 days'`)
	require.Equal(t, Done{"erasures": 1}, once(t, loopOf(t, b.options(), "prune")))
}
