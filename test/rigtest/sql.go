package rigtest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

// ExecSQL runs a statement.
func (r *Rig) ExecSQL(sql string, args ...any) {
	r.T.Helper()
	_, err := r.SQLPool.Exec(r.T.Context(), sql, args...)
	require.NoError(r.T, err)
}

// QueryOne returns the one value of a query.
func QueryOne[V any](r *Rig, sql string, args ...any) (v V) {
	r.T.Helper()
	// Also in cleanups, when the context of the test has ended.
	require.NoError(r.T, r.SQLPool.QueryRow(context.WithoutCancel(r.T.Context()), sql, args...).Scan(&v), sql)
	return v
}

// AwaitTrue waits until a query returns true, within a minute.
func (r *Rig) AwaitTrue(query string, args ...any) {
	r.T.Helper()
	var holds bool
	// After an error it waits on: the fault may be that Postgres is restarting.
	require.Eventually(r.T, func() bool {
		return r.SQLPool.QueryRow(r.T.Context(), query, args...).Scan(&holds) == nil && holds
	}, time.Minute, 20*time.Millisecond, query)
}

// Violations returns the invariants that are violated.
func (r *Rig) Violations() (violated []string, err error) {
	err = r.SQLPool.QueryRow(context.WithoutCancel(r.T.Context()), `
		SELECT coalesce(array_agg(name || ': ' || violations), '{}')
		FROM ops.invariants WHERE violations > 0`).Scan(&violated)
	return violated, err
}

// RequireInvariants asserts that no invariant is violated.
func (r *Rig) RequireInvariants() {
	r.T.Helper()
	require.Empty(r.T, must.Get(r.Violations())(r.T))
}
