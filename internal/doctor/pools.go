package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/lattice-director/director/db/query"
)

// poolCheck is a pool, as far as doctor judges it. ProviderWorkers are those of its provider, whatever pool they serve;
// Overdue are servers of the pool. PlanAge is in seconds; nil: it was never planned.
type poolCheck query.DoctorPoolsRow

func (d Doctor) checkPools(ctx context.Context) (Finding, error) {
	pools, err := d.newQueries().DoctorPools(ctx)
	if err != nil {
		return Finding{}, err
	}
	return judgePools(convertRows[poolCheck](pools,
		func(r query.DoctorPoolsRow) poolCheck { return poolCheck(r) })), nil
}

// planLate is the age of a plan, in seconds, beyond which no worker makes plans: a worker makes one each second.
const planLate = 60

// poolTrouble is what keeps the players of a pool waiting.
type poolTrouble struct {
	newFinding     func(remedy, format string, args ...any) Finding
	remedy         string
	sentenceFormat string // with %s for the pools
	separator      string // between the pools
	describe       func(p *poolCheck) string
}

const giveProvider = "start a worker whose DIRECTOR_PROVIDERS has the provider, or add it to that of a worker and " +
	"restart it"

var (
	// poolStuck: servers of the pool are overdue, and no worker reports the provider. Without overdue ones, a worker of
	// an older release, which does not report it, may have it: then poolUnserved only warns.
	poolStuck = &poolTrouble{failureFinding, giveProvider, "no running worker has the provider of %s", ", ",
		func(p *poolCheck) string {
			return fmt.Sprintf("%s (%s, %d servers wait for a worker)", p.Pool, p.Provider, p.Overdue)
		}}
	// poolUnplanned: no worker has planned the pool for planLate.
	poolUnplanned = &poolTrouble{
		failureFinding, "start a worker with DIRECTOR_PROVIDERS and the installation's DIRECTOR_PROVISION_OWNER",
		"no worker plans %s", ", ", withProvider,
	}
	// poolUnserved: no worker reports the provider of a pool that may need servers.
	poolUnserved = &poolTrouble{warningFinding, giveProvider,
		"no running worker reports the provider of %s: their servers will not start", ", ", withProvider}
	// poolPaused: by an operator, or after errors; it starts no servers.
	poolPaused = &poolTrouble{
		warningFinding, "repair the cause, then director pools resume REGION/APP/VERSION", "paused: %s", ", ",
		func(p *poolCheck) string { return p.Pool + reasonPhrase(p.Reason) },
	}
	// poolFailing: servers have failed, or the provider answers with errors.
	poolFailing = &poolTrouble{
		warningFinding, "docs/runbook.md, \"Servers do not start\"",
		"servers that fail or whose provider reports errors: %s", "; ",
		func(p *poolCheck) string { return fmt.Sprintf("%s: %d%s", p.Pool, p.Failed, reasonPhrase(p.Error)) },
	}
	// poolFull: players wait, and the pool has as many servers as it may.
	poolFull = &poolTrouble{
		warningFinding, "director pools scale REGION/APP/VERSION --max N", "full: %s", ", ",
		func(p *poolCheck) string { return fmt.Sprintf("%s (%d players wait)", p.Pool, p.Waiting) },
	}

	// poolTroubles are in the order in which they are reported.
	poolTroubles = []*poolTrouble{poolStuck, poolUnplanned, poolUnserved, poolPaused, poolFailing, poolFull}
)

func withProvider(p *poolCheck) string { return p.Pool + " (" + p.Provider + ")" }

// worstTrouble returns what keeps the players of a pool waiting; nil: nothing.
func (p *poolCheck) worstTrouble() *poolTrouble {
	planned := p.PlanAge != nil && *p.PlanAge <= planLate
	switch {
	case p.ProviderWorkers == 0 && p.Overdue > 0:
		return poolStuck
	// A pool that is off starts no servers, so it needs no worker with its provider.
	case p.ProviderWorkers == 0 && planned && p.State != "off":
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
		if t := pools[i].worstTrouble(); t != nil {
			troubled[t] = append(troubled[t], t.describe(&pools[i]))
		}
	}
	for _, t := range poolTroubles {
		if names := troubled[t]; names != nil {
			return t.newFinding(t.remedy, t.sentenceFormat, strings.Join(names, t.separator))
		}
	}
	if len(pools) == 0 {
		return goodFinding("there are none: the director starts no game servers")
	}
	return goodFinding("%d are planned; none is paused, and none is full while players wait", len(pools))
}
