package doctor

import (
	"context"
	"fmt"

	"github.com/lattice-director/director/db/query"
)

// reportedTrouble is what processes report of themselves, the same of all that report it.
type reportedTrouble query.DoctorTroublesRow

func (d Doctor) checkKeySets(ctx context.Context) (Finding, error) {
	found, err := d.newQueries().DoctorTroubles(ctx)
	if err != nil {
		return Finding{}, err
	}
	return judgeKeySets(convertRows[reportedTrouble](found,
		func(r query.DoctorTroublesRow) reportedTrouble { return reportedTrouble(r) })), nil
}

// judgeKeySets returns the worst of what replicas report; among equals, what most of them do.
func judgeKeySets(found []reportedTrouble) Finding {
	worst := goodFinding("no replica reports a key set that it cannot use")
	for _, t := range found {
		says := fmt.Sprintf("%s: %s", t.Subject, t.Says)
		if t.Processes > 1 {
			says += fmt.Sprintf(" (%d replicas report it)", t.Processes)
		}
		f := Finding{State: t.State, Says: says, Do: t.Remedy, Section: t.Section}
		// The rows begin with what most replicas report: among equals the first one stays.
		if severityOf(f.State) > severityOf(worst.State) {
			worst = f
		}
	}
	return worst
}
