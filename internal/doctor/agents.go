package doctor

import (
	"context"
	"fmt"
)

// The check of Rivalis game servers, which are connected where a replica serves agents.

// agentSums are sums over ops.replicas, ops.agents and ops.commands.
type agentSums struct {
	Region   string
	Replicas int      // that have not ended
	Renewed  *float64 // seconds since one of them last renewed its lease; nil: there is none
	Lease    float64  // seconds

	Agents, Connected, Draining int // draining: of those that are connected
	TimedOut                    int // commands of the last ten minutes
}

const selectAgentSums = `WITH r AS (
    SELECT region, count(*) FILTER (WHERE state <> 'ended') AS replicas, min(extract(epoch FROM lease_age)) FILTER (WHERE state <> 'ended')::float8 AS renewed
    FROM ops.replicas GROUP BY region
), a AS (
    SELECT region, count(*) AS agents, count(*) FILTER (WHERE state = 'connected') AS connected,
           count(*) FILTER (WHERE state = 'connected' AND status = 'draining') AS draining
    FROM ops.agents GROUP BY region
), c AS (
    SELECT region, count(*) AS timed_out FROM ops.commands WHERE state IN ('timed_out', 'done_late') GROUP BY region
)
SELECT region, coalesce(replicas, 0)::int AS replicas, renewed, extract(epoch FROM lease_ttl)::float8 AS lease, coalesce(agents, 0)::int AS agents,
       coalesce(connected, 0)::int AS connected, coalesce(draining, 0)::int AS draining, coalesce(timed_out, 0)::int AS timed_out
FROM ops.amnesty CROSS JOIN (r FULL JOIN a USING (region) FULL JOIN c USING (region)) ORDER BY region`

func (d Doctor) checkAgents(ctx context.Context) (Finding, error) {
	fleets, err := rows[agentSums](ctx, d, selectAgentSums)
	if err != nil {
		return Finding{}, err
	}
	return judgeAgents(fleets), nil
}

// judgeAgents returns the Finding of the fleet in the worst state.
func judgeAgents(fleets []agentSums) Finding {
	worst := good("no replica serves Rivalis game servers")
	for i, f := range fleets {
		if found := f.judge(); i == 0 || badness(found.State) > badness(worst.State) {
			worst = found
		}
	}
	return worst
}

// judge uses the age of leases and not the state of replicas: without any replica no lease expires.
func (f agentSums) judge() Finding {
	says := fmt.Sprintf("region %s: %d of %d Rivalis game servers connected, %d of them draining", f.Region, f.Connected, f.Agents, f.Draining)
	served := f.Renewed != nil && *f.Renewed <= f.Lease
	const gone = `docs/operators.md, "Rivalis game servers vanish or do not answer"`
	switch {
	case !served && f.Agents > 0:
		return failure("start 'director serve' with DIRECTOR_ORCHESTRATOR_ADDR, or check its log", "%s, and no replica serves them", says)
	case !served:
		return good("region %s: no replica serves Rivalis game servers, and none is connected", f.Region)
	case f.Agents == 0:
		return good("region %s: none is connected", f.Region)
	case f.Agents > 2*f.Connected:
		return failure(gone, "%s", says)
	case f.Agents*9 > f.Connected*10:
		return warning(gone, "%s", says)
	case f.Connected == f.Draining:
		return failure("director agents undrain AGENT…", "%s: no room can be placed", says)
	case f.TimedOut > 0:
		return warning(`docs/operators.md, "Commands to Rivalis game servers time out"`, "%s; %d commands timed out in the last ten minutes", says, f.TimedOut)
	}
	return good("%s", says)
}
