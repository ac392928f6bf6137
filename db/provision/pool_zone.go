package provision

import (
	"context"
	"fmt"
	"slices"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/nearest"
)

// checkZones refuses time zones that the database does not know: it decides when a schedule holds.
func (d *declared) checkZones(ctx context.Context, q *query.Queries) error {
	named := d.zonePaths()
	if len(named) == 0 {
		return nil
	}
	known, err := q.ListTimeZones(ctx)
	if err != nil {
		return err
	}
	for _, zone := range named {
		if slices.Contains(known, zone.name) {
			// One problem is enough: a misspelt zone is misspelt in all schedules.
			continue
		}
		hint := ""
		// At a distance of three edits at most, whatever the case.
		if similar := nearest.NameFold(zone.name, known, 3); similar != "" {
			hint = fmt.Sprintf(": did you mean %q?", similar)
		}
		return problemError(fault.Invalid, "invalid", PoolProblem{Path: zone.path,
			Text: fmt.Sprintf("%.60q must be a time zone that Postgres knows, such as Europe/Berlin%s", zone.name,
				hint)})
	}
	return nil
}

// namedZone is a time zone, and where a declaration names it.
type namedZone struct{ name, path string }

// zonePaths returns the time zones of the declared pools except the default one, which every Postgres knows.
func (d *declared) zonePaths() (all []namedZone) {
	for i, p := range d.pools {
		if p.Zone != defaultZone {
			all = append(all, namedZone{p.Zone, fmt.Sprintf("pools[%d].zone", i)})
		}
		for j, s := range p.Schedule {
			// A schedule that names none has that of its pool by now.
			if s.Zone != p.Zone {
				all = append(all, namedZone{s.Zone, fmt.Sprintf("pools[%d].schedule[%d].at", i, j)})
			}
		}
	}
	return all
}
