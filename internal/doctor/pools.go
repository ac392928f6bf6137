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
	Failed   int      // deployments in phase failed, with an error of the provider while they start, or whose server may not register
	Error    *string
	Workers  int64 // that have its provider, by their reports
	Overdue  int64 // servers of its provider that wait for a worker
}

const selectPoolChecks = `SELECT p.region || '/' || p.app || '/' || p.version AS pool, p.provider, p.state, p.servers::int, p.waiting_players AS waiting, p.pause_reason AS reason,
    extract(epoch FROM now() - p.planned_at)::float8 AS plan_age, e.failed, e.error,
    coalesce(w.workers, 0) AS workers, coalesce(w.overdue, 0) AS overdue
FROM ops.pools p LEFT JOIN ops.providers w ON w.provider = p.provider CROSS JOIN LATERAL (SELECT count(*)::int AS failed, max(coalesce(d.last_error, 'registration refused: ' || d.refused)) AS error FROM ops.deployments d
    WHERE d.region = p.region AND d.app = p.app AND d.version = p.version
      AND (d.phase = 'failed' OR d.phase IN ('wanted', 'deploying', 'starting') AND d.last_error IS NOT NULL
           OR d.desired = 'running' AND d.refused_at > greatest(d.registered_at, now() - interval '5 minutes'))) e
WHERE cardinality(p.modes) > 0 ORDER BY p.region, p.app, p.version`

func (d Doctor) checkPools(ctx context.Context) (Finding, error) {
	pools, err := rows[poolCheck](ctx, d, selectPoolChecks)
	if err != nil {
		return Finding{}, err
	}
	return judgePools(pools), nil
}

// planLate is the age of a plan, in seconds, beyond which no worker makes plans: it makes one each second.
const planLate = 60

// judgePools reports the first of what keeps players waiting: no worker, none that has the provider (which one of an older release has without
// reporting it), a pause, errors of the provider, a pool that is full.
func judgePools(pools []poolCheck) Finding {
	var late, stuck, unserved, paused, failing, full []string
	for _, p := range pools {
		switch {
		case p.Workers == 0 && p.Overdue > 0:
			stuck = append(stuck, fmt.Sprintf("%s (%s, %d servers wait for a worker)", p.Pool, p.Provider, p.Overdue))
		case p.Workers == 0 && p.PlanAge != nil && *p.PlanAge <= planLate && p.State != "off":
			unserved = append(unserved, p.Pool+" ("+p.Provider+")")
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
	const give = "start a worker whose DIRECTOR_PROVIDERS has the provider, or add it to that of a worker and restart it"
	switch {
	case stuck != nil:
		return failure(give, "no running worker has the provider of %s", strings.Join(stuck, ", "))
	case late != nil:
		return failure("start a worker with DIRECTOR_PROVIDERS and the installation's DIRECTOR_PROVISION_OWNER", "no worker plans %s", strings.Join(late, ", "))
	case unserved != nil:
		return warning(give, "no running worker reports the provider of %s: their servers will not start", strings.Join(unserved, ", "))
	case paused != nil:
		return warning("repair the cause, then director pools resume REGION/APP/VERSION", "paused: %s", strings.Join(paused, ", "))
	case failing != nil:
		return warning(runbook, "servers that fail or whose provider reports errors: %s", strings.Join(failing, "; "))
	case full != nil:
		return warning("director pools scale REGION/APP/VERSION --max N", "full: %s", strings.Join(full, ", "))
	case len(pools) == 0:
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
