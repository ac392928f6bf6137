package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/lattice-director/director/db/opsview"
)

func (d Doctor) checkViolations(ctx context.Context) (Finding, error) {
	all, err := opsview.Invariants.Read(ctx, d.Store.Pool(), opsview.Any{}, opsview.Page{})
	if err != nil {
		return Finding{}, err
	}
	var names []string
	for _, i := range all {
		if i.Violations > 0 {
			names = append(names, fmt.Sprintf("%s (%d)", i.Name, i.Violations))
		}
	}
	// The number says that the view was read: none at all would look as good.
	if names == nil {
		return goodFinding("all %d hold", len(all)), nil
	}
	return failureFinding("director invariants, and again after ten seconds", "violated: %s",
		strings.Join(names, ", ")), nil
}
