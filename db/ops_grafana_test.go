package db_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

type grafanaQuery struct {
	Format string `json:"format"`
	RawSQL string `json:"rawSql"`
	Expr   string `json:"expr"` // of Prometheus: package main of cmd/director tests these
}

type grafanaDashboard struct {
	Panels []struct {
		ID      int                      `json:"id"`
		Type    string                   `json:"type"`
		Title   string                   `json:"title"`
		Targets []grafanaQuery           `json:"targets"`
		GridPos struct{ X, Y, W, H int } `json:"gridPos"`
	} `json:"panels"`
	Templating struct {
		List []struct{ Name, Type, Query string } `json:"list"`
	} `json:"templating"`
	Annotations struct {
		List []struct {
			Target grafanaQuery `json:"target"`
		} `json:"list"`
	} `json:"annotations"`
}

func readDashboard(t *testing.T, name string) (d grafanaDashboard, text string) {
	t.Helper()
	file := must.Get(os.ReadFile("../ops/grafana/" + name))(t)
	require.NoError(t, json.Unmarshal(file, &d))
	return d, string(file)
}

// Every query of the dashboard runs with the rights and limits of its role, and returns rows for a working fleet. A
// changed view or a filter that matches nothing fails here.
func TestGrafanaDashboardQueriesRun(t *testing.T) {
	t.Parallel()
	d := newFleetAtWork(t)
	d.Exec(`SELECT ops.drain('arena')`)
	d.Exec(`SELECT ops.close_session($1, 'cheating')`, d.session("eu", "arena", "duel", "fay"))
	reader := d.roles().reader
	// It replaces macros and variables as Grafana's data source of Postgres does.
	run := func(title, sql string, regions ...string) []string {
		quoted := make([]string, len(regions))
		for i, r := range regions {
			quoted[i] = "'" + strings.ReplaceAll(r, "'", "''") + "'"
		}
		sql = strings.ReplaceAll(sql, "${region:sqlstring}", strings.Join(quoted, ","))
		sql = timeFilter.ReplaceAllString(sql, "$1 BETWEEN '2020-01-01T00:00:00Z' AND '2120-01-01T00:00:00Z'")
		sql = timeGroup.ReplaceAllStringFunc(sql, func(macro string) string {
			arg := timeGroup.FindStringSubmatch(macro)
			interval := must.Get(time.ParseDuration(arg[2]))(t)
			return fmt.Sprintf(`floor(extract(epoch from %s)/%v)*%[2]v AS "time"`, arg[1], interval.Seconds())
		})
		require.NotContains(t, sql, "$")
		rows, err := storetest.RowsOf(reader, sql)
		require.NoError(t, err, "%s: %s", title, sql)
		return rows
	}

	dashboard, _ := readDashboard(t, "director.json")
	queries := 0
	for _, p := range dashboard.Panels {
		for _, q := range p.Targets {
			if q.Expr != "" {
				continue
			}
			queries++
			require.NotEmpty(t, run(p.Title, q.RawSQL, "eu", "global", "o'region"), p.Title)
			run(p.Title, q.RawSQL, "eu")
			run(p.Title, q.RawSQL) // no region yet: the fleet is empty
			if q.Format == "time_series" {
				require.Contains(t, q.RawSQL, "SELECT $__timeGroupAlias(", p.Title)
				require.Contains(t, q.RawSQL, "ORDER BY 1", p.Title)
			}
		}
	}
	require.Greater(t, queries, 20)
	for _, v := range dashboard.Templating.List {
		if v.Type == "query" {
			require.Equal(t, []string{"eu", "global"}, run(v.Name, v.Query), "that of Rivalis game servers too")
		}
	}
	for _, a := range dashboard.Annotations.List {
		require.Len(t, run("annotation", a.Target.RawSQL), 2) // the drain and the closed session
	}
}

// Grafana moves a panel that overlaps another one, and confuses panels with the same id. A data source of the author's
// Grafana does not exist in another one.
func TestGrafanaDashboardCanBeImported(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"director.json", "rivalis.json"} {
		dashboard, text := readDashboard(t, name)
		ids, cells := map[int]bool{}, map[[2]int]string{}
		for _, p := range dashboard.Panels {
			require.False(t, ids[p.ID], p.Title)
			ids[p.ID] = true
			require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					require.Empty(t, cells[[2]int{x, y}], p.Title)
					cells[[2]int{x, y}] = p.Title
				}
			}
		}
		for _, uid := range regexp.MustCompile(`"uid": "([^"]*)"`).FindAllStringSubmatch(text, -1) {
			require.Contains(t, []string{"lattice-director", "lattice-director-rivalis", "${datasource}", "${prometheus}"}, uid[1])
		}
	}
}

var (
	timeFilter = regexp.MustCompile(`\$__timeFilter\(([^)]*)\)`)
	timeGroup  = regexp.MustCompile(`\$__timeGroupAlias\(([^,)]*), '([^']*)'(, [^)]*)?\)`)
)
