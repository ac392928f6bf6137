package poolfile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/provisioning/poolfile"
)

// Pins a diff that shows a declaration otherwise than a file declares it: what is written is read as the same.
func TestWhatIsWrittenIsReadAsTheSame(t *testing.T) {
	t.Parallel()
	f, err := poolfile.Parse([]byte(arena))
	require.NoError(t, err)
	f.Pools[1].Modes = []string{"2v2"}
	f.Pools[1].Zone, f.Pools[1].Forecast = "Europe/Berlin", true
	f.Pools[1].Schedule = []provision.Schedule{{Zone: "UTC", Days: []int{1, 6, 7}, StartAt: "22:00", EndAt: "02:00", Min: 3},
		{Zone: "Europe/Berlin", StartOn: "2026-12-24", StartAt: "18:00", EndOn: "2026-12-26", EndAt: "02:00", Min: 4}}
	var document strings.Builder
	item := func(text string) {
		document.WriteString("  - " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") + "\n")
	}
	document.WriteString("apps:\n")
	for _, v := range f.Apps {
		item(poolfile.AppText(v))
	}
	document.WriteString("pools:\n")
	for _, p := range f.Pools {
		item(poolfile.PoolText(p))
	}
	again, err := poolfile.Parse([]byte(document.String()))
	require.NoError(t, err, document.String())
	require.Equal(t, f.Apps, again.Apps, document.String())
	require.Equal(t, f.Pools, again.Pools, document.String())
}

func TestParseReadsProjects(t *testing.T) {
	t.Parallel()
	f, err := poolfile.Parse([]byte("projects: [{id: arena, name: Arena, region: eu}, {id: 1.10}]\npools: []\n"))
	require.NoError(t, err)
	require.Equal(t, []poolfile.Project{{ID: "arena", Name: "Arena", Region: "eu"}, {ID: "1.10"}}, f.Projects)
	require.Equal(t, []bool{false, true, true}, []bool{f.Declares("apps"), f.Declares("pools"), f.Declares("projects")})
	_, err = poolfile.Parse([]byte("projects: [{id: a, secret: b}]"))
	require.ErrorContains(t, err, `line 1, column 20: unknown field "secret"`)
}
