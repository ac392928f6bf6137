package doctor

import (
	"context"
	"fmt"

	"github.com/lattice-director/director/db/query"
)

// The check of Rivalis game servers, which are connected where a replica serves agents.

// agentSums are sums over ops.replicas, ops.agents and ops.commands of a region. Renewed and Lease are seconds; a nil
// Renewed means that the region has no replica.
type agentSums query.DoctorAgentsRow

func (d Doctor) checkAgents(ctx context.Context) (Finding, error) {
	fleets, err := d.newQueries().DoctorAgents(ctx)
	if err != nil {
		return Finding{}, err
	}
	return judgeAgents(convertRows[agentSums](fleets,
		func(r query.DoctorAgentsRow) agentSums { return agentSums(r) })), nil
}

// judgeAgents returns the Finding of the fleet in the worst state.
func judgeAgents(fleets []agentSums) Finding {
	return worstOf(fleets, goodFinding("no replica serves Rivalis game servers"), agentSums.judge)
}

// judge uses the age of leases and not the state of replicas: without any replica no lease expires.
func (f agentSums) judge() Finding {
	says := fmt.Sprintf("region %s: %d of %d Rivalis game servers connected, %d of them draining", f.Region,
		f.Connected, f.Agents, f.Draining)
	served := f.Renewed != nil && *f.Renewed <= f.Lease
	const section = `docs/runbook.md, "Rivalis game servers vanish or do not answer"`
	switch {
	case !served && f.Agents > 0:
		return failureFinding("start 'director serve' with DIRECTOR_ORCHESTRATOR_ADDR, or check its log",
			"%s, and no replica serves them", says)
	case !served:
		return goodFinding("region %s: no replica serves Rivalis game servers, and none is connected", f.Region)
	case f.Agents == 0:
		return goodFinding("region %s: none is connected", f.Region)
	// More than half are not connected.
	case f.Agents > 2*f.Connected:
		return failureFinding(section, "%s", says)
	// More than a tenth are not connected: single game servers may be restarting.
	case f.Agents*9 > f.Connected*10:
		return warningFinding(section, "%s", says)
	case f.Connected == f.Draining:
		return failureFinding("director agents undrain AGENT…", "%s: no room can be placed", says)
	case f.TimedOut > 0:
		return warningFinding(`docs/runbook.md, "Commands to Rivalis game servers time out"`,
			"%s; %d commands timed out in the last ten minutes", says, f.TimedOut)
	}
	return goodFinding("%s", says)
}
