package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lattice-director/director/internal/timetext"
)

// The checks of the director's own tables, through the views of schema ops.

// amnestyLine is ops.amnesty, in seconds.
type amnestyLine struct {
	Amnesty bool
	Pulse   *float64 // since a replica last reported that it receives heartbeats; nil: never
	EndsIn  *float64 `db:"ends_in"`
	Lease   float64
}

const selectAmnesty = `SELECT amnesty, extract(epoch FROM now() - last_pulse)::float8 AS pulse, extract(epoch FROM ends_at - now())::float8 AS ends_in,
    extract(epoch FROM lease_ttl)::float8 AS lease FROM ops.amnesty`

func (d Doctor) checkReplicas(ctx context.Context) (Finding, error) {
	a, err := one[amnestyLine](ctx, d, selectAmnesty)
	if err != nil {
		return Finding{}, err
	}
	return judgeReplicas(a), nil
}

// judgeReplicas uses the pulse, which every replica writes several times during a lease.
func judgeReplicas(a amnestyLine) Finding {
	const do = "start 'director serve', or check its log and /readyz"
	switch {
	case a.Pulse == nil:
		return failure(do, "no replica has ever served this database")
	case *a.Pulse > a.Lease:
		return failure(do, "no replica is running: the last sign of one was %s ago", since(*a.Pulse))
	}
	return good("one or more are running, last sign %s ago", since(*a.Pulse))
}

// loopLine is a row of ops.worker_loops.
type loopLine struct {
	Loop string
	Age  float64 // seconds
	Late bool
}

func (d Doctor) checkWorkers(ctx context.Context) (Finding, error) {
	loops, err := rows[loopLine](ctx, d, "SELECT loop, extract(epoch FROM age)::float8 AS age, late FROM ops.worker_loops ORDER BY age DESC")
	if err != nil {
		return Finding{}, err
	}
	return judgeWorkers(loops), nil
}

func judgeWorkers(loops []loopLine) Finding {
	const start = "start 'director work', or 'director serve --work'"
	if len(loops) == 0 {
		return failure(start, "no worker has run on this database")
	}
	var late []string
	youngest := loops[0].Age
	for _, l := range loops {
		youngest = min(youngest, l.Age)
		if l.Late {
			late = append(late, fmt.Sprintf("%s (%s ago)", l.Loop, since(l.Age)))
		}
	}
	switch {
	case youngest > 60:
		return failure(start, "no worker is running: the last successful run of any loop was %s ago", since(youngest))
	case late != nil:
		return failure("look for \"failing\" in the worker's log", "loops that fail: %s", strings.Join(late, ", "))
	}
	return good("all %d loops succeeded recently", len(loops))
}

// keyTurn is a signing key with the seconds from now until it begins and ends to sign.
type keyTurn struct {
	KID         string `db:"kid"`
	State       string
	From, Until float64
}

func (d Doctor) checkKeys(ctx context.Context) (Finding, error) {
	keys, err := rows[keyTurn](ctx, d, `SELECT kid, state, extract(epoch FROM sign_from - now())::float8 AS "from",
		extract(epoch FROM sign_until - now())::float8 AS until FROM ops.keys WHERE state IN ('signing', 'next') ORDER BY sign_from`)
	if err != nil {
		return Finding{}, err
	}
	return judgeKeys(keys), nil
}

func judgeKeys(keys []keyTurn) Finding {
	var signing, next *keyTurn
	for i, k := range keys {
		if k.State == "signing" {
			signing = &keys[i]
		} else if next == nil {
			next = &keys[i]
		}
	}
	switch {
	case signing == nil:
		return failure("director keys rotate", "no key signs: no player gets a session token")
	case next == nil:
		return failure("director keys rotate; then find out why no worker did", "no next key is published, and the current one expires in %s", since(signing.Until))
	case next.From > signing.Until+1:
		return failure("director keys rotate", "between %s and %s from now no key signs", since(signing.Until), since(next.From))
	}
	return good("one signs for %s more, and the next is published", timetext.Brief(time.Duration(signing.Until)*time.Second))
}

// fleetSums are sums over ops.fleet.
type fleetSums struct {
	Alive, Expired, Draining    int
	Ended                       int // in the last hour
	Capacity, Reserved, Players int // of the instances that are alive
	Pools                       int // that may start servers
	Agents                      int // connected Rivalis game servers, which are instances only if they ask for players
}

const selectFleetSums = `SELECT count(*) FILTER (WHERE alive) AS alive, count(*) FILTER (WHERE NOT alive AND status <> 'gone') AS expired,
    count(*) FILTER (WHERE ended_at > now() - interval '1 hour') AS ended,
    count(*) FILTER (WHERE alive AND status = 'draining') AS draining, coalesce(sum(capacity) FILTER (WHERE alive), 0) AS capacity,
    coalesce(sum(reserved_seats) FILTER (WHERE alive), 0) AS reserved, coalesce(sum(players) FILTER (WHERE alive), 0)::bigint AS players,
    (SELECT count(*) FROM ops.pools WHERE max > 0) AS pools, (SELECT count(*) FROM ops.agents) AS agents
FROM ops.fleet`

func (d Doctor) checkFleet(ctx context.Context) (Finding, error) {
	f, err := one[fleetSums](ctx, d, selectFleetSums)
	if err != nil {
		return Finding{}, err
	}
	a, err := one[amnestyLine](ctx, d, selectAmnesty)
	if err != nil {
		return Finding{}, err
	}
	return judgeFleet(f, a), nil
}

func judgeFleet(f fleetSums, a amnestyLine) Finding {
	says := fmt.Sprintf("%d alive, %d of them draining, %d with an expired lease", f.Alive, f.Draining, f.Expired)
	switch {
	case f.Alive+f.Expired == 0 && f.Pools > 0:
		return good("no game server is registered: %d pools start them when players need them", f.Pools)
	case f.Alive+f.Expired == 0 && f.Ended > 0:
		return failure("director events --since 1h --kind instance.ended; then check the game servers", "no game server is registered: %d ended in the last hour", f.Ended)
	case f.Alive+f.Expired == 0 && f.Agents > 0:
		return good("no game server is registered, and no Rivalis game server has the label matchmaking=true")
	case f.Alive+f.Expired == 0:
		return warning("start game servers, or check why they cannot register: DIRECTOR_FLEET_TOKEN, the address", "no game server is registered")
	case a.Amnesty && a.EndsIn == nil:
		return warning("start a replica; docs/operators.md, \"Dead servers stay in the fleet\"", "%s; no lease expires, because no replica receives heartbeats", says)
	case a.Amnesty:
		return warning("wait", "%s; no lease expires for %s more", says, since(*a.EndsIn))
	case f.Alive == 0:
		return failure("check the game servers, and whether their heartbeats reach a replica", "%s", says)
	case f.Alive == f.Draining:
		return failure("director fleet undrain ID…", "%s: no player can be placed", says)
	}
	return good("%s", says)
}

func (d Doctor) checkSeats(ctx context.Context) (Finding, error) {
	f, err := one[fleetSums](ctx, d, selectFleetSums)
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
		return good("%s", says)
	case f.Players*2 < f.Reserved:
		return warning("docs/operators.md, \"Reserved seats far above players\"", "%s", says)
	case f.Reserved*100 >= f.Capacity*95:
		return warning("start game servers", "%s: the fleet is almost full", says)
	}
	return good("%s", says)
}

// invariantLine is a row of ops.invariants.
type invariantLine struct {
	Name       string
	Violations int
}

func (d Doctor) checkViolations(ctx context.Context) (Finding, error) {
	all, err := rows[invariantLine](ctx, d, "SELECT name, violations FROM ops.invariants ORDER BY name")
	if err != nil {
		return Finding{}, err
	}
	var names []string
	for _, i := range all {
		if i.Violations > 0 {
			names = append(names, fmt.Sprintf("%s (%d)", i.Name, i.Violations))
		}
	}
	if names == nil {
		return good("all %d hold", len(all)), nil
	}
	return failure("director invariants, and again after ten seconds", "violated: %s", strings.Join(names, ", ")), nil
}

// partitionLine is a row of ops.partitions.
type partitionLine struct {
	Name  string
	Ahead int
	Stray int64 // bytes in the default partition
}

func (d Doctor) checkPartitions(ctx context.Context) (Finding, error) {
	tables, err := rows[partitionLine](ctx, d, `SELECT table_name::text AS name, days_ahead::int AS ahead, default_bytes AS stray
		FROM ops.partitions ORDER BY days_ahead, table_name`)
	if err != nil {
		return Finding{}, err
	}
	return judgePartitions(tables), nil
}

func judgePartitions(tables []partitionLine) Finding {
	const do = "start a worker, or look for \"failing\" of its loop history in its log"
	ahead := 1 << 30
	for _, t := range tables {
		switch {
		case t.Ahead < 0:
			return failure(do, "%s has no partition for today", t.Name)
		case t.Ahead < 2:
			return warning(do, "%s reaches only %d days ahead", t.Name, t.Ahead)
		case t.Stray > 0:
			return warning(do, "%s has %d bytes in its default partition", t.Name, t.Stray)
		}
		ahead = min(ahead, t.Ahead)
	}
	return good("they reach %d days ahead", ahead)
}
