package worker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Pins measures that every worker writes, that are of no minute, and that are kept for ever.
func TestSamplesAreTakenOnceAMinute(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("one", 8)
	b.AddServer("two", 8)
	b.Exec("DELETE FROM instance_leases WHERE instance_id = 'two'")
	b.Exec("INSERT INTO minute_samples SELECT date_trunc('minute', now()) - h * interval '1 hour', '', 'late_loops', '', 0 FROM unnest('{5,7,9}'::int[]) h")
	first, second := once(t, loopOf(t, b.options(), "sample")), once(t, loopOf(t, b.options(), "sample"))
	require.Equal(t, 2, first["samples_dropped"])
	if second["samples"] == 0 { // else a minute began between the two
		require.Positive(t, first["samples"])
	}
	require.Equal(t, "capacity=8 instances ready=1 instances silent=1 players=0 reserved=0 sessions=0", storetest.One[string](b.DB, `SELECT string_agg(trim(measure || ' ' || subject) || '=' || value, ' ' ORDER BY measure, subject)
		FROM ops.minute_samples WHERE region = 'eu' AND minute = (SELECT min(minute) FROM ops.minute_samples WHERE region = 'eu')`))
	require.Equal(t, 1, storetest.One[int](b.DB, "SELECT count(DISTINCT measure || minute)::int FROM ops.minute_samples WHERE measure = 'oldest_snapshot' AND minute = (SELECT min(minute) FROM ops.minute_samples WHERE region = 'eu')"))
}

// Pins game servers that died and that no plot shows, and a count with those that ended by themselves.
func TestSamplesCountTheGameServersThatDied(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for id, reason := range map[string]string{"died": "lease expired", "too": "lease expired", "left": "deregistered"} {
		b.AddServer(id, 8)
		b.Exec("UPDATE instances SET status = 'gone', ended_at = date_trunc('minute', now()) - interval '5 seconds' WHERE id = $1", id)
		b.Exec(`INSERT INTO events (region, kind, instance_id, at, detail)
			VALUES ('eu', 'instance.ended', $1, date_trunc('minute', now()) - interval '5 seconds', jsonb_build_object('reason', $2::text))`, id, reason)
	}
	once(t, loopOf(t, b.options(), "sample"))
	require.InDelta(t, 2, storetest.One[float64](b.DB, "SELECT coalesce(sum(value), 0) FROM ops.minute_samples WHERE region = 'eu' AND measure = 'lost'"), 0)
}

// Pins a count of matches that is of the present minute, which is not over.
func TestSamplesCountTheMatchesOfTheMinuteBefore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exec("INSERT INTO profiles (region, name, live) VALUES ('global', 'duel', 1)")
	b.Exec(`INSERT INTO match_history (region, id, profile, version, epoch, seed, tickets, players, why, decided_at, committed_at)
		SELECT 'global', gen_random_uuid(), 'duel', 1, 1, 1, '{}', 2, '{}', now(), date_trunc('minute', now()) + m * interval '1 minute' FROM unnest('{-2,-1,-1,-1,0,0}'::int[]) m`)
	once(t, loopOf(t, b.options(), "sample"))
	require.Contains(t, []float64{3, 2}, storetest.One[float64](b.DB, "SELECT value FROM ops.minute_samples WHERE measure = 'matches' AND subject = 'duel'"), "2 where a minute began meanwhile")
	require.Equal(t, 1, storetest.One[int](b.DB, `SELECT count(*)::int FROM ops.minute_samples s WHERE measure = 'matches'
		AND EXISTS (SELECT FROM ops.minute_samples n WHERE n.measure = 'late_loops' AND n.minute = s.minute + interval '1 minute')`))
}
