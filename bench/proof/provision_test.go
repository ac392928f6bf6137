package proof

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// Pins statements that no longer fit the schema, and players or servers that are counted twice or not at all.
func TestProvisionStatements(t *testing.T) {
	t.Parallel()
	b := &testbed{pool: dbtest.Connect(t)}
	exec := func(sql string) {
		_, err := b.pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	require.NoError(t, b.sql(t.Context(), "provision_pool.sql", serverCapacity, poolBuffer))
	require.NoError(t, b.sql(t.Context(), "provision_servers.sql", 3, serverCapacity))
	exec(`UPDATE deployments SET created_at = now() - interval '2 seconds'`)
	exec(`INSERT INTO sessions (region, id, handle, mode, instance_id, incarnation, player_count, max_players)
	      SELECT region, gen_random_uuid(), 'h' || tag, 'bench', id::text, incarnation, 1, 8 FROM deployments`)
	exec(`INSERT INTO seats (region, session_id, sub, mode, party, reserved_by, expires_at, reserved_at)
	      SELECT s.region, s.id, s.handle, 'bench', s.id, s.handle, now(), d.ready_at + interval '0.1 seconds' FROM sessions s JOIN deployments d ON d.id::text = s.instance_id`)
	rows, err := b.pool.Query(t.Context(), seatedText)
	require.NoError(t, err)
	got, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[seated])
	require.NoError(t, err)
	require.Equal(t, 3, got.Players)
	require.Equal(t, 3, got.Servers)
	require.InDelta(t, 100, got.WaitP99, 0.01)
	require.InDelta(t, 2000, got.Deployed, 1000)

	var late float64
	require.NoError(t, b.sql(t.Context(), "provision_dies.sql"))
	require.ErrorIs(t, b.pool.QueryRow(t.Context(), foundText).Scan(&late), pgx.ErrNoRows)
	exec(`INSERT INTO events (region, kind, instance_id, at) SELECT region, 'instance.ended', instance_id, at + interval '16 seconds' FROM bench_died`)
	require.NoError(t, b.pool.QueryRow(t.Context(), foundText).Scan(&late))
	require.InDelta(t, 1, late, 0.01)
}

// Pins targets that are reported as met although they are missed.
func TestProvisionFindings(t *testing.T) {
	t.Parallel()
	c, err := newCloud()
	require.NoError(t, err)
	defer func() { require.NoError(t, c.close()) }()
	r := rush{players: 20, most: 21, seated: seated{Players: 19, Servers: 6, WaitP99: 501}}
	_, missed := values(r.findings())
	require.Equal(t, []int{0, 1, 2, 3}, missed)
	r.most, r.seated = 20, seated{Players: 20, Servers: 5, WaitP99: 500}
	_, missed = values(r.findings())
	require.Empty(t, missed)
	q := quiet{cloud: c, over: 10 * time.Second, found: 2001 * time.Millisecond, used: bench.Reading{ServerCPU: time.Second, PostgresCPU: 1100 * time.Millisecond}}
	_, missed = values(q.findings())
	require.Equal(t, []int{0, 1}, missed)
}
