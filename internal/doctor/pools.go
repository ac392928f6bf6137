package doctor

import (
	"context"
	"fmt"
	"strings"
)

// poolCheck is a pool, as far as doctor judges it.
type poolCheck struct {
	Pool     string
	Provider string
	State    string
	Servers  int
	Waiting  int64
	Reason   *string
	PlanAge  *float64 `db:"plan_age"` // seconds; nil: never planned
	Failed   int      // deployments in phase failed, or with an error of the provider while they start
	Error    *string
}

const selectPoolChecks = `SELECT region || '/' || app || '/' || version AS pool, provider, state, servers::int, waiting_players AS waiting, pause_reason AS reason,
    extract(epoch FROM now() - planned_at)::float8 AS plan_age, e.failed, e.error
FROM ops.pools p CROSS JOIN LATERAL (SELECT count(*)::int AS failed, max(d.last_error) AS error FROM ops.deployments d
    WHERE d.region = p.region AND d.app = p.app AND d.version = p.version
      AND (d.phase = 'failed' OR d.phase IN ('wanted', 'deploying', 'starting') AND d.last_error IS NOT NULL)) e
WHERE cardinality(p.modes) > 0 ORDER BY region, app, version`

func (d Doctor) checkPools(ctx context.Context) (Finding, error) {
	pools, err := rows[poolCheck](ctx, d, selectPoolChecks)
	if err != nil {
		return Finding{}, err
	}
	return judgePools(pools), nil
}

// planLate is the age of a plan, in seconds, beyond which no worker makes plans: it makes one each second.
const planLate = 60

// judgePools reports the first of what keeps players waiting: no worker, a pause, errors of the provider, a pool that is full.
func judgePools(pools []poolCheck) Finding {
	var late, paused, failing, full []string
	for _, p := range pools {
		switch {
		case p.PlanAge == nil || *p.PlanAge > planLate:
			late = append(late, p.Pool+" ("+p.Provider+")")
		case strings.HasSuffix(p.State, "paused"):
			paused = append(paused, p.Pool+because(orEmpty(p.Reason)))
		case p.Failed > 0:
			failing = append(failing, fmt.Sprintf("%s: %d%s", p.Pool, p.Failed, because(orEmpty(p.Error))))
		case p.Waiting > 0 && (p.State == "full" || p.State == "off"):
			full = append(full, fmt.Sprintf("%s (%d players wait)", p.Pool, p.Waiting))
		}
	}
	const runbook = "docs/operators.md, \"Servers do not start\""
	switch {
	case late != nil:
		return failure("start a worker with DIRECTOR_PROVIDERS and the installation's DIRECTOR_PROVISION_OWNER", "no worker plans %s", strings.Join(late, ", "))
	case paused != nil:
		return warning("repair the cause, then director pools resume REGION/APP/VERSION", "paused: %s", strings.Join(paused, ", "))
	case failing != nil:
		return warning(runbook, "servers that fail or whose provider reports errors: %s", strings.Join(failing, "; "))
	case full != nil:
		return warning("director pools scale REGION/APP/VERSION --max N", "full: %s", strings.Join(full, ", "))
	case pools == nil:
		return good("there are none: the director starts no game servers")
	}
	return good("%d are planned; none is paused, and none is full while players wait", len(pools))
}

func orEmpty(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
