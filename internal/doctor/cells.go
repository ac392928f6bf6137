package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/db/query"
)

func (d Doctor) checkCells(ctx context.Context) (Finding, error) {
	cells, err := opsview.Cells.Read(ctx, d.Store.Pool(), opsview.Any{}, opsview.Page{})
	if err != nil || len(cells) == 0 {
		return goodFinding("this cell serves every region"), err
	}
	strays, err := d.newQueries().DoctorCells(ctx)
	if err != nil {
		return Finding{}, err
	}
	return judgeCells(cells, strays), nil
}

// judgeCells warns of game servers that the director itself sends away.
func judgeCells(cells []opsview.Cell, strays []query.DoctorCellsRow) Finding {
	if len(strays) > 0 {
		s := strays[0]
		return warningFinding(fmt.Sprintf("if cell %s is right, wait for their heartbeats, or restart them with "+
			"its address %s; if not: director cells set", s.Cell, s.Address),
			"%d game servers of region %s are registered here, and cell %s serves it: their calls, and those of "+
				"players, are answered 421",
			s.Servers, s.Region, s.Cell)
	}
	var others []string
	for _, c := range cells {
		others = append(others, fmt.Sprintf("%s at %s (%s)", c.Cell, c.Address, strings.Join(c.Regions, ", ")))
	}
	return goodFinding("other cells: %s", strings.Join(others, "; "))
}
