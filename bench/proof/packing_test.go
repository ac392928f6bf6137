package proof

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// Pins sessions that are counted for another run or not at all, and the last session of each shape counted as badly
// filled.
func TestFullness(t *testing.T) {
	t.Parallel()
	b := &testbed{pool: dbtest.Connect(t)}
	exec := func(sql string) {
		_, err := b.pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	exec(`INSERT INTO instances (region, id, incarnation, endpoint, modes, capacity, seat_ceiling)
	      VALUES ('bench-one-0', 'i', gen_random_uuid(), 'x:1', '{duel}', 100, 100), ('bench-one-10', 'i', gen_random_uuid(), 'x:1', '{duel}', 100, 100)`)
	// One shape has two sessions that are not full, one of them still open; the other shape has two full ones; the
	// third session belongs to another run.
	exec(`INSERT INTO sessions (region, id, handle, mode, instance_id, incarnation, player_count, max_players)
	      VALUES ('bench-one-0', gen_random_uuid(), 'a', 'duel', 'i', gen_random_uuid(), 3, 8)`)
	exec(`INSERT INTO session_history (region, id, handle, mode, instance_id, incarnation, player_count, max_players, opened_at, reason)
	      SELECT r.region, gen_random_uuid(), 'h', 'duel', 'i', gen_random_uuid(), r.players, r.size, now(), 'test'
	      FROM (VALUES ('bench-one-0', 8, 8), ('bench-one-0', 8, 8), ('bench-one-0', 1, 8), ('bench-one-10', 4, 4), ('bench-one-10', 4, 4),
	                   ('bench-onetwo-0', 1, 8)) r(region, players, size)`)
	f, err := b.fullness(t.Context(), "one")
	require.NoError(t, err)
	require.Equal(t, fullness{Opened: 6, Filled: 4, Counted: 5, Least: 5}, f)

	p := packer{b, map[string][]fullness{matchmake: {f, {100, 99, 99, 100}, {100, 99, 99, 100}}, naiveMatchmake: {f}}}
	got, missed := values(p.findings())
	require.Equal(t, []string{"100.0 %", "1.00 ×"}, got)
	require.Empty(t, missed)
	require.Contains(t, p.findings()[0].Note, "80.0 %")
	p.found[matchmake] = []fullness{f}
	_, missed = values(p.findings())
	require.Equal(t, []int{0, 1}, missed)
}
