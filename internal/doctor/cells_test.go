package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/db/query"
)

// Pins a doctor that does not say where game servers are sent that are registered here.
func TestDoctorJudgesCells(t *testing.T) {
	t.Parallel()
	cells := []opsview.Cell{{Cell: "us", Address: "https://us.example", Regions: []string{"us-east", "us-west"}}}
	good := judgeCells(cells, nil)
	require.Equal(t, OK, good.State)
	require.Equal(t, "other cells: us at https://us.example (us-east, us-west)", good.Says)
	strays := judgeCells(cells, []query.DoctorCellsRow{{Region: "us-west", Cell: "us", Address: "https://us.example", Servers: 9}})
	require.Equal(t, Warn, strays.State)
	require.Contains(t, strays.Says, "9 game servers of region us-west are registered here, and cell us serves it")
	require.Contains(t, strays.Do, "https://us.example")
}
