package db

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
)

// The tests of plans require that hot statements read the rows they use, never a whole table or region, whatever the
// sizes.

// explainer is a database that does not run statements, but explains their generic plans.
type explainer struct {
	pool   *pgxpool.Pool
	values string // of the parameters, in SQL; empty: all are NULL
	plan   json.RawMessage
	err    error
}

var errExplained = errors.New("explained, not run")

func (e *explainer) explain(ctx context.Context, sql string, args []any) {
	e.err = e.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		if _, err := conn.Exec(ctx, "DEALLOCATE ALL", pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, "PREPARE hot AS "+sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		execute := "EXECUTE hot (" + cmp.Or(e.values, strings.TrimSuffix(strings.Repeat("NULL,", len(args)), ",")) + ")"
		if len(args) == 0 {
			execute = "EXECUTE hot"
		}
		if err := conn.QueryRow(ctx, "EXPLAIN (FORMAT JSON) "+execute, pgx.QueryExecModeSimpleProtocol).Scan(&e.plan); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, "DEALLOCATE hot", pgx.QueryExecModeSimpleProtocol)
		return err
	})
}

func (e *explainer) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	e.explain(ctx, sql, args)
	return pgconn.CommandTag{}, errExplained
}

func (e *explainer) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	e.explain(ctx, sql, args)
	return nil, errExplained
}

func (e *explainer) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	e.explain(ctx, sql, args)
	return e
}

// Scan implements pgx.Row.
func (e *explainer) Scan(...any) error { return errExplained }

// openStore opens a store until the test ends.
func openStore(t *testing.T, cfg Config) *Store {
	t.Helper()
	s := must.Get(Open(t.Context(), cfg))(t)
	t.Cleanup(s.Close)
	return s
}

// storeWith opens a store on a database of its own, whose rows the statements of state insert.
func storeWith(t *testing.T, state string) *Store {
	t.Helper()
	store := openStore(t, Config{URL: dbtest.New(t)})
	must.Get(store.pool.Exec(t.Context(), state, pgx.QueryExecModeSimpleProtocol))(t)
	return store
}

func second[T any](_ T, err error) error { return err }

// smallTables have one row, one row a region, or one for each replica, or for each app version.
var smallTables = []string{"fleet_clock", "one_cycle_runs_at_a_time", "replicas", "replicas_pkey", "app_versions", "app_versions_pkey", "installation"}

// readWhatTheyTake requires that the plans of statements, on connections of the pool, scan no whole table and no whole
// region.
func readWhatTheyTake(t *testing.T, pool *pgxpool.Pool, statements map[string]func(context.Context, *query.Queries) error) {
	t.Helper()
	for name, run := range statements {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &explainer{pool: pool}
			require.ErrorIs(t, run(t.Context(), query.New(e)), errExplained)
			require.NoError(t, e.err)
			require.NotEmpty(t, e.plan)
			for _, scan := range wholeScans(t, e.plan) {
				if name == "ForgetSettled" && scan == "settled_tickets_in_commit_order" {
					continue // it reads a page of the index
				}
				require.Contains(t, smallTables, scan, "%s", e.plan)
			}
		})
	}
}

// planNode is a node of a plan, as EXPLAIN shows it.
type planNode struct {
	Type      string     `json:"Node Type"`
	Table     string     `json:"Relation Name"`
	Index     string     `json:"Index Name"`
	IndexCond string     `json:"Index Cond"`
	Rows      float64    `json:"Plan Rows"`
	Plans     []planNode `json:"Plans"`
}

// nodesOf returns all nodes of a plan.
func nodesOf(t *testing.T, plan json.RawMessage) (nodes []planNode) {
	t.Helper()
	var roots []struct{ Plan planNode }
	require.NoError(t, json.Unmarshal(plan, &roots))
	for _, root := range roots {
		nodes = append(nodes, root.Plan)
	}
	require.NotEmpty(t, nodes)
	for i := 0; i < len(nodes); i++ {
		nodes = append(nodes, nodes[i].Plans...)
	}
	return nodes
}

// wholeScans returns the tables that a plan scans, and the indexes of which it scans a whole region. It leaves out
// history partitions, which are empty here.
func wholeScans(t *testing.T, plan json.RawMessage) (scans []string) {
	t.Helper()
	for _, n := range nodesOf(t, plan) {
		if n.Type == "Seq Scan" && !strings.Contains(n.Table, "_history_") {
			scans = append(scans, n.Table)
		}
		if n.Index != "" && (n.IndexCond == "" || regionOnly.MatchString(n.IndexCond)) {
			scans = append(scans, n.Index)
		}
	}
	return scans
}

var regionOnly = regexp.MustCompile(`^\(region = [^)]+\)$`)
