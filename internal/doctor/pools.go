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
FROM ops.pools p LEFT JOIN ops.providers w ON w.provider = p.provider CROSS JOIN LATERAL (
    SELECT count(*)::int AS failed, max(coalesce(d.last_error, 'registration refused: ' || d.refused)) AS error FROM ops.deployments d
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

// poolTrouble is what keeps the players of a pool waiting.
type poolTrouble struct {
	finding  func(remedy, format string, args ...any) Finding
	remedy   string
	says     string // with %s for the pools
	between  string // the pools
	describe func(p *poolCheck) string
}

const giveProvider = "start a worker whose DIRECTOR_PROVIDERS has the provider, or add it to that of a worker and restart it"

// The troubles, in the order in which they are reported: no worker has the provider (one of an older release has it without reporting it), no
// worker plans, pauses, errors of the provider, pools that are full.
var (
	poolStuck = &poolTrouble{failure, giveProvider, "no running worker has the provider of %s", ", ", func(p *poolCheck) string {
		return fmt.Sprintf("%s (%s, %d servers wait for a worker)", p.Pool, p.Provider, p.Overdue)
	}}
	poolUnplanned = &poolTrouble{
		failure, "start a worker with DIRECTOR_PROVIDERS and the installation's DIRECTOR_PROVISION_OWNER", "no worker plans %s", ", ", withProvider,
	}
	poolUnserved = &poolTrouble{warning, giveProvider, "no running worker reports the provider of %s: their servers will not start", ", ", withProvider}
	poolPaused   = &poolTrouble{
		warning, "repair the cause, then director pools resume REGION/APP/VERSION", "paused: %s", ", ", func(p *poolCheck) string { return p.Pool + because(orEmpty(p.Reason)) },
	}
	poolFailing = &poolTrouble{
		warning, "docs/operators.md, \"Servers do not start\"", "servers that fail or whose provider reports errors: %s", "; ",
		func(p *poolCheck) string { return fmt.Sprintf("%s: %d%s", p.Pool, p.Failed, because(orEmpty(p.Error))) },
	}
	poolFull = &poolTrouble{
		warning, "director pools scale REGION/APP/VERSION --max N", "full: %s", ", ", func(p *poolCheck) string { return fmt.Sprintf("%s (%d players wait)", p.Pool, p.Waiting) },
	}
	poolTroubles = []*poolTrouble{poolStuck, poolUnplanned, poolUnserved, poolPaused, poolFailing, poolFull}
)

func withProvider(p *poolCheck) string { return p.Pool + " (" + p.Provider + ")" }

// trouble returns what keeps the players of a pool waiting; nil: nothing.
func (p *poolCheck) trouble() *poolTrouble {
	planned := p.PlanAge != nil && *p.PlanAge <= planLate
	switch {
	case p.Workers == 0 && p.Overdue > 0:
		return poolStuck
	case p.Workers == 0 && planned && p.State != "off":
		return poolUnserved
	case !planned:
		return poolUnplanned
	case strings.HasSuffix(p.State, "paused"):
		return poolPaused
	case p.Failed > 0:
		return poolFailing
	case p.Waiting > 0 && (p.State == "full" || p.State == "off"):
		return poolFull
	}
	return nil
}

// judgePools reports the worst trouble, with all pools that have it.
func judgePools(pools []poolCheck) Finding {
	troubled := map[*poolTrouble][]string{}
	for i := range pools {
		if t := pools[i].trouble(); t != nil {
			troubled[t] = append(troubled[t], t.describe(&pools[i]))
		}
	}
	for _, t := range poolTroubles {
		if of := troubled[t]; of != nil {
			return t.finding(t.remedy, t.says, strings.Join(of, t.between))
		}
	}
	if len(pools) == 0 {
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
