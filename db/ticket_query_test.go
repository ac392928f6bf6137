package db_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match"
)

// found reads a query to its end.
func (b *bundle) found(q *db.PoolQuery[db.QueriedTicket]) (all []db.QueriedTicket) {
	b.t.Helper()
	for {
		part := must.Get(q.Next(b.t.Context()))(b.t)
		if len(part) == 0 {
			return all
		}
		all = append(all, part...)
	}
}

// fill puts n tickets of that many bytes into the queue, whose ids are t00001 and so on. All have the tag "all", and
// every hundredth has "some".
func (b *bundle) fill(n, bytes int) {
	b.t.Helper()
	tagged := func(tags ...string) any {
		row := match.Fields{Tags: tags}.Row()
		return row.Terms
	}
	b.Exec(`INSERT INTO tickets (region, id, created, terms, double_keys, doubles, body)
		SELECT $1, 't' || lpad(n::text, 5, '0'), n, CASE n % 100 WHEN 0 THEN $4::uuid[] ELSE $3::uuid[] END, '{}', '{}', decode(repeat('ab', $5), 'hex')
		FROM generate_series(1, $2::int) n`, universe, n, tagged("all"), tagged("all", "some"), bytes)
}

// requireEach requires the tickets from t00001 to tn, each once.
func requireEach(t *testing.T, n int, got []db.QueriedTicket) {
	t.Helper()
	times := map[string]int{}
	for _, f := range got {
		times[f.ID]++
	}
	for i := 1; i <= n; i++ {
		require.Equal(t, 1, times[fmt.Sprintf("t%05d", i)], i)
	}
	require.Len(t, times, n)
}

// Pins a query whose whole result is in memory, and parts that overlap or leave a gap.
func TestLargePoolsAreReadInParts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n, size = 900, 40_000
	b.fill(n, size)
	for name, pool := range map[string]match.Pool{"by the queue": {}, "by a term that all have": {Tags: []string{"all"}}} {
		query := b.QueryTickets(universe, pool, true)
		var all []db.QueriedTicket
		parts := 0
		for {
			part, err := query.Next(t.Context())
			require.NoError(t, err)
			if len(part) == 0 {
				break
			}
			parts++
			require.LessOrEqual(t, len(part)*(size+db.QueryRowBytes), db.QueryBytes, name)
			all = append(all, part...)
		}
		require.Greater(t, parts, n*size/db.QueryBytes, name)
		requireEach(t, n, all)
		for _, f := range all {
			require.Len(t, f.Body, size)
		}
	}
	require.Len(t, b.found(b.QueryTickets(universe, match.Pool{Tags: []string{"some"}}, true)), n/100)
	requireEach(t, n, b.found(b.QueryTickets(universe, match.Pool{}, false)))
}

// Pins a query that continues by the physical position of rows: an update moves a row, which is then missed or returned
// twice.
func TestTicketsThatMoveAreFoundOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n = 600
	b.fill(n, 40_000)
	query := b.QueryTickets(universe, match.Pool{}, true)
	var all []db.QueriedTicket
	for {
		part, err := query.Next(t.Context())
		require.NoError(t, err)
		if len(part) == 0 {
			break
		}
		all = append(all, part...)
		b.Exec("UPDATE tickets SET expires_at = now() + interval '1 hour'")
	}
	requireEach(t, n, all)
}

// Pins a query that keeps a connection, or a snapshot that stops vacuum, while its client is slow.
func TestQueriesHoldNothingBetweenParts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n = 300
	b.fill(n, 40_000)
	queries := make([]*db.PoolQuery[db.QueriedTicket], 20) // far more than there are connections
	for i := range queries {
		queries[i] = b.QueryTickets(universe, match.Pool{}, true)
		part, err := queries[i].Next(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, part)
	}
	require.Zero(t, one[int](b, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND (xact_start IS NOT NULL OR backend_xmin IS NOT NULL) AND backend_type = 'client backend'`))
	for _, q := range queries {
		require.NotEmpty(t, b.found(q))
	}
}
