package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// The order of locks is the one in the header of migrations/00017_director_loop.sql. Each of these rows is held by a
// transaction of its own: a commit must wait for them one after the other, in this order.
func TestACommitLocksInOrder(t *testing.T) {
	t.Parallel()
	m := setupMatches(t, func(c *db.Config) { c.MaxConns = 16 })
	_, p := m.playing(4, "zoe", "yan")
	unused := m.place(request("ann", 8))
	d := m.newcomers(p, nil, "ann")
	d.Accepted = true
	m.Exec(`INSERT INTO matches (region, id, universe, profile, version, state, deadline, roster, tickets, decision)
		VALUES ('global', $1, 'global', 'duels', 3, 'accepted', now() + interval '1 minute', '[]', '{}', '{}')`, d.ID)
	m.Exec("INSERT INTO demand (region, mode, key, matches, players) VALUES ('eu', 'duel', 'duels/4', 1, 1)")
	d.Demand = db.DemandKey{Mode: "duel", Key: "duels/4"}
	order := []struct{ table, row string }{
		{"profile_owners", "profile = 'duels'"},
		{"tickets", "id = '" + d.Tickets[0].ID + "'"},
		{"ticket_players", "ticket_id = '" + d.Tickets[0].ID + "'"},
		{"matches", "state = 'accepted'"},
		{"sessions", "'" + unused.SessionID + "' = region || '.' || id OR '" + p.SessionID + "' = region || '.' || id"},
		{"instances", "true"},
		{"demand", "true"},
	}
	holders := map[uint32]string{}
	held := make([]pgx.Tx, len(order))
	for i, o := range order {
		tx, err := m.Pool().Begin(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
		_, err = tx.Exec(t.Context(), "SELECT FROM "+o.table+" WHERE "+o.row+" FOR UPDATE")
		require.NoError(t, err)
		held[i], holders[tx.Conn().PgConn().PID()] = tx, o.table
	}
	done := make(chan db.MatchOutcome, 1)
	go func() {
		done <- m.commitBy(m.Replica(func(c *db.Config) { c.LockWait = 25 * time.Second }), m.owner, d)[0]
	}()
	for i, o := range order {
		m.AwaitBlocked(1)
		by := one[uint32](m.bundle, "SELECT (pg_blocking_pids(pid))[1] FROM pg_stat_activity WHERE datname = current_database() AND pg_blocking_pids(pid) <> '{}'")
		require.Equal(t, o.table, holders[by])
		require.NoError(t, held[i].Rollback(t.Context()))
		require.Eventually(t, func() bool {
			return one[int](m.bundle, "SELECT count(*) FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))", by) == 0
		}, 30*time.Second, 5*time.Millisecond)
	}
	m.requireCommitted(<-done)
	m.RequireInvariants()
}
