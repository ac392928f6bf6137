package doctor

import (
	"context"
	"fmt"
)

// The check of the realtime lobby.

// lobbySums are sums over ops.realtime and ops.realtime_sessions of a region.
type lobbySums struct {
	Region  string
	Renewed *float64 // seconds since a replica last renewed its lease; nil: there is none
	Lease   float64  // seconds

	Connected, Suspended, Rooms int
	CutOff, Expired             int      // sessions that wait for a worker
	Overdue                     *float64 // seconds for which the oldest of the expired ones has waited; nil: there is none
}

const selectLobbySums = `SELECT r.region, extract(epoch FROM r.lease_age)::float8 AS renewed, extract(epoch FROM a.lease_ttl)::float8 AS lease,
       r.connected::int AS connected, r.suspended::int AS suspended, r.rooms::int AS rooms,
       s.cut_off::int AS cut_off, s.expired::int AS expired, s.overdue
FROM ops.realtime r CROSS JOIN ops.amnesty a CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE o.state = 'cut off') AS cut_off, count(*) FILTER (WHERE o.state = 'expired') AS expired,
           extract(epoch FROM now() - min(o.expires_at) FILTER (WHERE o.state = 'expired'))::float8 AS overdue
    FROM ops.realtime_sessions o WHERE o.region = r.region) s
ORDER BY r.region`

func (d Doctor) checkLobby(ctx context.Context) (Finding, error) {
	regions, err := rows[lobbySums](ctx, d, selectLobbySums)
	if err != nil {
		return Finding{}, err
	}
	return judgeLobbies(regions), nil
}

// judgeLobbies returns the Finding of the region in the worst state.
func judgeLobbies(regions []lobbySums) Finding {
	worst := good("no region has projects")
	for i, r := range regions {
		if found := r.judge(); i == 0 || badness(found.State) > badness(worst.State) {
			worst = found
		}
	}
	return worst
}

// sweptWithin is the time in seconds after which a worker has ended an expired session, with much to spare.
const sweptWithin = 30

func (r lobbySums) judge() Finding {
	says := fmt.Sprintf("region %s: %d sessions connected, %d suspended, %d rooms", r.Region, r.Connected, r.Suspended, r.Rooms)
	served := r.Renewed != nil && *r.Renewed <= r.Lease
	switch {
	case !served && r.Connected+r.Suspended > 0:
		return failure("start 'director serve' with DIRECTOR_REALTIME_ADDR, or check its log", "%s, and no replica serves them", says)
	case !served:
		return good("region %s: no replica serves the realtime lobby, and it has no sessions", r.Region)
	case r.Overdue != nil && *r.Overdue > sweptWithin:
		return failure("start 'director work', or check its log", "%s; %d sessions expired up to %.0f s ago and were not ended", says, r.Expired, *r.Overdue)
	case r.CutOff > r.Connected/2:
		return warning(`docs/operators.md, "Clients of the realtime lobby are refused or lose their connection"`, "%s; the replica of %d of them has ended", says, r.CutOff)
	}
	return good("%s", says)
}
