package provision

import (
	"context"
	"fmt"
	"slices"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/nearest"
)

// checkZones refuses the first time zone that the database does not know, since the database decides when a schedule
// holds.
func (d *declared) checkZones(ctx context.Context, q *query.Queries) error {
	named := d.namedZones()
	if len(named) == 0 {
		return nil
	}
	known, err := q.ListTimeZones(ctx)
	if err != nil {
		return err
	}
	for _, zone := range named {
		if !slices.Contains(known, zone.name) {
			return zone.unknown(known)
		}
	}
	return nil
}

// unknown returns the error of a zone that is not among the known ones.
func (z namedZone) unknown(known []string) error {
	const mostEdits = 3 // of a name that was probably meant
	hint := ""
	if similar := nearest.NameFold(z.name, known, mostEdits); similar != "" {
		hint = fmt.Sprintf(": did you mean %q?", similar)
	}
	return problemError(fault.Invalid, "invalid", PoolProblem{Path: z.path,
		Text: fmt.Sprintf("%.60q must be a time zone that Postgres knows, such as Europe/Berlin%s", z.name, hint)})
}

// namedZone is a time zone, and where a declaration names it.
type namedZone struct{ name, path string }

// namedZones returns the time zones of the pools of the document except the default one, which every Postgres knows.
func (d *declared) namedZones() (all []namedZone) {
	for i, p := range d.pools {
		if p.Zone != defaultZone {
			all = append(all, namedZone{p.Zone, fmt.Sprintf("pools[%d].zone", i)})
		}
		for j, s := range p.Schedule {
			// A schedule that names none has got the zone of its pool.
			if s.Zone != p.Zone {
				all = append(all, namedZone{s.Zone, fmt.Sprintf("pools[%d].schedule[%d].at", i, j)})
			}
		}
	}
	return all
}
