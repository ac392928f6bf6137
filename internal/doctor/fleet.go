package doctor

import (
	"context"
	"fmt"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/db/query"
)

// amnestyLine is ops.amnesty, in seconds.
type amnestyLine struct {
	Amnesty bool
	Pulse   *float64 // since a replica last reported that it receives heartbeats; nil: never
	EndsIn  *float64
	Lease   float64
}

func (d Doctor) readAmnesty(ctx context.Context) (amnestyLine, error) {
	a, err := opsview.Amnesties.One(ctx, d.Store.Pool(), opsview.Any{})
	return amnestyLine{a.Amnesty, a.PulseAge, a.EndsIn, a.LeaseTTL.Seconds()}, err
}

// fleetSums are sums over ops.fleet: capacity, reserved seats and players are those of the instances that are alive.
// Last and Heartbeat are seconds; nil means that none ended lately, and that there is no server.
type fleetSums query.DoctorFleetRow

func (d Doctor) readFleet(ctx context.Context) (fleetSums, error) {
	f, err := d.newQueries().DoctorFleet(ctx)
	return fleetSums(f), err
}

func (d Doctor) checkFleet(ctx context.Context) (Finding, error) {
	f, err := d.readFleet(ctx)
	if err != nil {
		return Finding{}, err
	}
	a, err := d.readAmnesty(ctx)
	if err != nil {
		return Finding{}, err
	}
	return judgeFleet(f, a), nil
}

func judgeFleet(f fleetSums, a amnestyLine) Finding {
	if f.Alive+f.Expired == 0 {
		return f.judgeEmpty()
	}
	says := fmt.Sprintf("%d alive, %d of them draining, %d with an expired lease", f.Alive, f.Draining, f.Expired)
	died := f.Expired + f.Lost
	const deadSection = "Dead servers stay in the fleet"
	const remedy = "look at the hosts and the logs of these game servers: director events --since 30m --kind " +
		"instance.ended"
	switch {
	// Also without an amnesty: while all of three or more servers are silent, no pulse is recorded, and the horizon of
	// leases stands still (queries/clock.sql).
	case f.Heartbeat != nil && *f.Heartbeat > a.Lease && f.Alive > 0:
		return failureFinding("check the network between the game servers and the replicas, and whether replicas "+
			"run; ops.drain servers that you know are dead",
			"no game server has sent a heartbeat for %s: leases do not expire, and players may be sent to dead servers",
			formatSeconds(*f.Heartbeat)).inSection(deadSection)
	case a.Amnesty && a.EndsIn == nil:
		return warningFinding("start a replica", "%s; no lease expires, because no replica receives heartbeats",
			says).inSection(deadSection)
	case f.Alive == 0:
		return failureFinding("check the game servers, and whether their heartbeats reach a replica", "%s", says)
	// Half of the game servers died.
	case died*2 >= f.Alive+died:
		return failureFinding(remedy, "%d of %d game servers died: no heartbeat came and their leases expired; %s", died,
			f.Alive+died, says)
	// All game servers are well, and none takes a session.
	case f.Alive == f.Draining:
		return failureFinding("director fleet undrain ID…", "%s: no player can be placed",
			says).inSection("Players get 409 no_capacity")
	case died*10 > f.Alive+died:
		return warningFinding(remedy, "%d of %d game servers died: no heartbeat came and their leases expired; %s", died,
			f.Alive+died, says)
	case a.Amnesty:
		return goodFinding("%s; no lease expires for %s more, since heartbeats are received again", says,
			formatSeconds(*a.EndsIn))
	}
	return goodFinding("%s", says)
}

// judgeEmpty judges a fleet without a live game server. An installation that never had any is new, and nothing is wrong
// with it.
func (f fleetSums) judgeEmpty() Finding {
	switch {
	// Pools end their servers when no player needs them: an empty fleet is normal.
	case f.Pools > 0:
		return goodFinding("no game server is registered: %d pools start them when players need them", f.Pools)
	case f.Ended > 0:
		return failureFinding("director events --since 1h --kind instance.ended; then check the game servers",
			"no game server is registered: %d ended in the last hour", f.Ended)
	case f.Agents > 0:
		return goodFinding("no game server is registered, and no Rivalis game server has the label matchmaking=true")
	case f.Last != nil:
		return warningFinding("start game servers, or check why they cannot register: DIRECTOR_FLEET_TOKEN, the "+
			"address",
			"no game server is registered: the last one ended %s ago", formatSeconds(*f.Last))
	}
	return goodFinding("no game server has registered yet")
}

func (d Doctor) checkSeats(ctx context.Context) (Finding, error) {
	f, err := d.readFleet(ctx)
	if err != nil {
		return Finding{}, err
	}
	return judgeSeats(f), nil
}

// judgeSeats reports empty reserved seats only when free seats are running out: half-empty sessions are normal.
func judgeSeats(f fleetSums) Finding {
	says := fmt.Sprintf("%d of %d reserved by sessions, %d players in them", f.Reserved, f.Capacity, f.Players)
	switch {
	case f.Reserved*100 < f.Capacity*80 || f.Capacity == 0:
		return goodFinding("%s", says)
	case f.Players*2 < f.Reserved:
		return warningFinding("docs/runbook.md, \"Reserved seats far above players\"", "%s", says)
	case f.Reserved*100 >= f.Capacity*95:
		return warningFinding("start game servers", "%s: the fleet is almost full", says)
	}
	return goodFinding("%s", says)
}
