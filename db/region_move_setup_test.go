package db_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// replicatingCluster is a Postgres for tests that move regions between its databases.
type replicatingCluster struct {
	*pglocal.Cluster

	order *pgxpool.Pool
}

func newReplicatingCluster(t *testing.T) *replicatingCluster {
	t.Helper()
	c := dbtest.NewMigratedCluster(t, pglocal.Options{Settings: map[string]string{"wal_level": "logical",
		"max_wal_senders":       "40",
		"max_replication_slots": "40", "max_logical_replication_workers": "40", "max_worker_processes": "60"}})
	order, err := pgxpool.New(t.Context(), c.URL("template1"))
	require.NoError(t, err)
	t.Cleanup(order.Close)
	return &replicatingCluster{c, order}
}

// twoCells are the cell europe, which has region eu with players, and the cell america, to which it can move.
type twoCells struct {
	t        *testing.T
	from, to *bundle
	terms    db.MoveTerms
	steps    []string // that were reported
	dieAt    string   // the step at whose report the command is killed
}

// cells makes two databases, with names that begin with the given one.
func (c *replicatingCluster) cells(t *testing.T, name string) *twoCells {
	t.Helper()
	cell := func(suffix string) *bundle {
		_, err := c.order.Exec(t.Context(), "CREATE DATABASE "+name+suffix+" TEMPLATE postgres STRATEGY file_copy")
		require.NoError(t, err)
		return &bundle{storetest.OnDatabase(t, c.URL(name+suffix), func(cfg *db.Config) { cfg.Universe = "eu" }), t}
	}
	m := &twoCells{t: t, from: cell("_from"), to: cell("_to")}
	m.terms = db.MoveTerms{Region: "eu", Cell: "america", Address: "https://us.example", Here: "europe",
		HereAddress: "https://eu.example",
		Connection:  m.from.URL, Reason: "data leaves"}
	return m
}

func (m *twoCells) move() *db.RegionMove {
	return db.NewRegionMove(m.from.Store, m.to.Store, "console:ada", m.terms, func(p db.MoveProgress) {
		if len(m.steps) == 0 || m.steps[len(m.steps)-1] != p.Step {
			m.steps = append(m.steps, p.Step)
		}
		if p.Step == m.dieAt {
			runtime.Goexit()
		}
	})
}

// dies runs a move whose command is killed at a step.
func (m *twoCells) dies(step string) {
	m.t.Helper()
	m.dieAt = step
	died := make(chan error, 1)
	go func() {
		defer close(died)
		_, err := m.move().Run(m.t.Context())
		died <- err
	}()
	require.NoError(m.t, <-died)
	m.dieAt = ""
	require.Equal(m.t, step, m.steps[len(m.steps)-1])
}

func (m *twoCells) run() db.MoveReport {
	m.t.Helper()
	report, err := m.move().Run(m.t.Context())
	require.NoError(m.t, err)
	m.readCells()
	return report
}

func (m *twoCells) readCells() {
	m.t.Helper()
	require.NoError(m.t, m.from.ReadCells(m.t.Context()))
	require.NoError(m.t, m.to.ReadCells(m.t.Context()))
}

// contents returns the rows of region eu in all tables that move, without numbers of transactions and leases.
func (m *twoCells) contents(b *bundle) map[string][]string {
	m.t.Helper()
	all := map[string][]string{}
	for _, table := range b.Rows("SELECT name FROM region_tables() WHERE fate IN ('moves', 'past') ORDER BY place") {
		rows := b.Rows(`SELECT (to_jsonb(t) - 'tx' - 'heartbeat_at')::text FROM ` + table + ` t WHERE region = 'eu' ORDER BY 1`)
		if len(rows) > 0 {
			all[table] = rows
		}
	}
	return all
}

// requireShown requires that operators of a cell see the last progress of the copy, and nothing in the way.
func (m *twoCells) requireShown(b *bundle, want string) {
	m.t.Helper()
	require.Equal(m.t, []string{want}, b.Rows(`SELECT direction || ' ' || step || ' undoable=' || undoable FROM ops.region_moves
		WHERE tables > 20 AND copied_tables = tables AND failures = 0 AND in_the_way = ''`))
}

// requireNoRemains requires that nothing of a move is left in either database.
func (m *twoCells) requireNoRemains() {
	m.t.Helper()
	for _, b := range []*bundle{m.from, m.to} {
		require.Empty(m.t, b.Rows(`SELECT slot_name FROM pg_replication_slots WHERE database = current_database()
			UNION ALL SELECT pubname FROM pg_publication
			UNION ALL SELECT subname FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid WHERE d.datname = current_database()
			UNION ALL SELECT tgname FROM pg_trigger WHERE tgname ~ '^region_.*_(moves|stays)$'
			UNION ALL SELECT fence::text FROM region_move_marks
			UNION ALL SELECT region FROM region_moves WHERE ended_at IS NULL`))
		b.RequireInvariants()
	}
}

// fill registers game servers, seats players, lets some play and leave, and queues tickets.
func (m *twoCells) fill() (kept db.PlaceRequest, seat db.Placement) {
	m.t.Helper()
	f := m.from
	f.AddServer("a", 64)
	f.AddServer("b", 64)
	f.AddServer("us-1", 64, func(r *db.Registration) { r.Region = "us" })
	kept = request("keep", 4)
	kept.IdempotencyKey, kept.RequestHash = strings.Repeat("k", 16), []byte("hash")
	seat = f.place(kept)
	for _, sub := range []string{"ann", "bob", "cat"} {
		p := f.place(request(sub, 4))
		server := one[string](f, "SELECT instance_id FROM sessions WHERE handle = $1", p.SessionHandle)
		f.connect(server, p, sub)
		if sub == "cat" {
			f.left(server, p.SessionID, sub)
		}
	}
	f.AddProfileTo("eu", "duel", storetest.Duel)
	f.QueuePlayerIn("eu", "dan", 0, "duel")
	f.Exec("INSERT INTO settled_tickets (region, id) VALUES ('eu', 'settled')")
	f.Exec("INSERT INTO region_beacons (region, url, set_by) VALUES ('eu', 'https://ping.example', 'ada')")
	return kept, seat
}
