package db_test

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
)

var statementName = regexp.MustCompile(`^-- name: (\w+)`)

// prepared returns the statements that each idle connection of a store has prepared.
func prepared(t *testing.T, s *db.Store) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, conn := range s.Pool().AcquireAllIdle(t.Context()) {
		rows := must.Get(conn.Query(t.Context(), "SELECT statement FROM pg_prepared_statements",
			pgx.QueryExecModeSimpleProtocol))(t)
		statements := must.Get(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
		for _, statement := range statements {
			if name := statementName.FindStringSubmatch(statement); name != nil {
				all[fmt.Sprint(conn.Conn().PgConn().PID(), " ", name[1])] = true
			}
		}
		conn.Release()
	}
	return all
}

// Pins a replica that is ready before its first calls are: the first create and the first placement after a start took
// half a second, in which they opened connections and prepared statements. This is about statements, because times
// depend on the machine.
func TestTheFirstCallsFindAllPrepared(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	f.agent(1)
	f.AddServer("a", 8)
	s := f.Replica()
	require.NoError(t, s.WarmUp(t.Context()))
	warm, opened := prepared(t, s), s.Pool().Stat().NewConnsCount()
	require.NotEmpty(t, warm)

	_, err := s.CreateRoom(t.Context(), f.newRoom("first"))
	require.NoError(t, err)
	_, err = s.Place(t.Context(), request("ann", 4))
	require.NoError(t, err)
	require.Equal(t, opened, s.Pool().Stat().NewConnsCount(), "connections")
	cold := prepared(t, s)
	maps.DeleteFunc(cold, func(statement string, _ bool) bool {
		return warm[statement] || strings.HasSuffix(statement, " SendNotification") // after the answer
	})
	require.Empty(t, cold, "statements that the calls prepared")
}
