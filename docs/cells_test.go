package docs_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

var sqlBlock = regexp.MustCompile("(?s)```sql\n(.*?)```")

// The statements of the page about cells work: a database for reporting reads the sessions of two cells.
func TestOneQueryOverSeveralCells(t *testing.T) {
	t.Parallel()
	page := pages(t)["docs/how-to/cells.md"]
	statements := sqlBlock.FindStringSubmatch(page)[1]
	for cell, host := range map[string]string{"eu": "db.eu.internal", "us": "db.us.internal"} {
		at := dbtest.New(t)
		s := storetest.OnDatabase(t, at)
		s.AddServer(cell+"-1", 8)
		s.Exec(`INSERT INTO sessions (region, id, handle, instance_id, incarnation, mode, player_count, max_players)
			SELECT region, gen_random_uuid(), 'h-' || $1::text, id, incarnation, 'duel', 3, 8 FROM instances`, cell)
		parsed, err := url.Parse(at)
		require.NoError(t, err)
		server := regexp.MustCompile(`host '` + regexp.QuoteMeta(host) + `', port '5432', dbname 'director'`)
		require.Regexp(t, server, statements)
		host, port := parsed.Hostname(), parsed.Port()
		if socket := parsed.Query().Get("host"); socket != "" {
			host = socket
		}
		if p := parsed.Query().Get("port"); p != "" {
			port = p
		}
		statements = server.ReplaceAllString(statements, "host '"+host+"', port '"+port+"', dbname '"+strings.TrimPrefix(parsed.Path, "/")+"'")
		password, _ := parsed.User.Password()
		mapping := "SERVER cell_" + cell + " OPTIONS (user 'director_ops', password 'secret')"
		require.Contains(t, statements, mapping)
		statements = strings.ReplaceAll(statements, mapping, "SERVER cell_"+cell+" OPTIONS (user '"+parsed.User.Username()+"', password '"+password+"')")
	}
	reporting := storetest.OnDatabase(t, dbtest.Empty(t))
	before, query, found := strings.Cut(statements, "\n\n")
	require.True(t, found)
	_, err := reporting.Pool().Exec(t.Context(), before)
	require.NoError(t, err)
	rows, err := reporting.Pool().Query(t.Context(), query)
	require.NoError(t, err)
	var seen [][]any
	for rows.Next() {
		values, err := rows.Values()
		require.NoError(t, err)
		seen = append(seen, []any{values[0], values[2], values[3]})
	}
	require.NoError(t, rows.Err())
	require.Equal(t, [][]any{{"eu", int64(1), int64(3)}, {"us", int64(1), int64(3)}}, seen)
}
