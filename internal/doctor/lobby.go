package doctor

import (
	"context"
	"fmt"

	"github.com/lattice-director/director/db/query"
)

// The check of the realtime lobby.

// lobbySums are sums over ops.realtime and ops.realtime_sessions of a region. Renewed, Lease and Overdue are seconds:
// since a replica last renewed its lease (nil: there is none), and for how long the oldest expired session has waited
// for a worker (nil: there is none).
type lobbySums query.DoctorLobbiesRow

func (d Doctor) checkLobby(ctx context.Context) (Finding, error) {
	regions, err := d.newQueries().DoctorLobbies(ctx)
	if err != nil {
		return Finding{}, err
	}
	return judgeLobbies(convertRows[lobbySums](regions,
		func(r query.DoctorLobbiesRow) lobbySums { return lobbySums(r) })), nil
}

// judgeLobbies returns the Finding of the region in the worst state.
func judgeLobbies(regions []lobbySums) Finding {
	return worstOf(regions, goodFinding("no region has projects"), lobbySums.judge)
}

// sweptWithin is the time in seconds after which a worker has ended an expired session, with much to spare.
const sweptWithin = 30

func (r lobbySums) judge() Finding {
	says := fmt.Sprintf("region %s: %d sessions connected, %d suspended, %d rooms", r.Region, r.Connected, r.Suspended,
		r.Rooms)
	served := r.Renewed != nil && *r.Renewed <= r.Lease
	switch {
	// Sessions without a replica are players that were cut off.
	case !served && r.Connected+r.Suspended > 0:
		return failureFinding("start 'director serve' with DIRECTOR_REALTIME_ADDR, or check its log",
			"%s, and no replica serves them", says)
	case !served:
		return goodFinding("region %s: no replica serves the realtime lobby, and it has no sessions", r.Region)
	case r.Overdue != nil && *r.Overdue > sweptWithin:
		return failureFinding("start 'director work', or check its log",
			"%s; %d sessions expired up to %.0f s ago and were not ended", says, r.Expired, *r.Overdue)
	case r.CutOff > r.Connected/2:
		return warningFinding(`docs/runbook.md, "Clients of the realtime lobby are refused or lose their connection"`,
			"%s; the replica of %d of them has ended", says, r.CutOff)
	}
	return goodFinding("%s", says)
}
