package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/test/rigtest"
)

// maxGap is the longest time without a placement in a region while one of three replicas is frozen: the hold timeout,
// after which Postgres ends the frozen transaction, and a second for the next placement.
const maxGap = 2 * time.Second

// site is one replica of several, with callers of its own.
type site struct {
	*process

	name   string // application_name of its connections
	freeze func() // stops the process, or its network to Postgres
	resume func() // ends freeze

	placements map[string]*placements // by region
}

// placements are the times at which callers of one region and one replica got a seat.
type placements struct {
	mu     sync.Mutex
	placed []time.Time
}

func (c *placements) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.placed = append(c.placed, time.Now())
}

func (c *placements) since(from time.Time) (times []time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range c.placed {
		if at.After(from) {
			times = append(times, at)
		}
	}
	return times
}

// named returns the database URL with an application_name.
func named(t *testing.T, databaseURL, name string) string {
	t.Helper()
	return dbtest.WithParameters(t, databaseURL, "application_name", name)
}

// serveFreezable starts a site whose process freezes.
func (r *rig) serveFreezable(name string) *site {
	s := &site{process: r.ServeReplica("--database-url", named(r.T, r.Cluster.URL("postgres"), name)), name: name,
		placements: map[string]*placements{}}
	s.freeze = func() { require.NoError(r.T, s.Process.Signal(syscall.SIGSTOP)) }
	s.resume = func() { require.NoError(r.T, s.Process.Signal(syscall.SIGCONT)) }
	return s
}

// serveBehindProxy starts a site whose process keeps running while its network to Postgres delivers nothing: neither
// side sees an error.
func (r *rig) serveBehindProxy(name string) *site {
	w := dbtest.NewProxy(r.T, r.Cluster.URL("postgres"), nil)
	s := &site{process: r.ServeReplica("--database-url", named(r.T, w.URL, name)), name: name,
		placements: map[string]*placements{}}
	s.freeze, s.resume = w.Pause, w.Resume
	return s
}

// addPlayers starts callers of the site, in each region, until the load ends.
func (l *load) addPlayers(s *site, callers int, regions ...string) {
	for _, region := range regions {
		c := &placements{}
		s.placements[region] = c
		for n := range callers {
			l.wg.Go(func() {
				for turn := 0; l.ctx.Err() == nil; turn++ {
					sub := fmt.Sprintf("%s-%s-%d-%d", s.name, region, n, turn)
					// Two players a session, so that placements keep opening sessions.
					status, answer, err := l.PostJSON(s.URL, "/matchmake", l.HeaderOf(sub),
						fields{"region": region, "mode": "duel", "max_players": 2})
					if err == nil && status == http.StatusOK {
						l.acked.Store(sub, answer["session_id"])
						l.count.Add(1)
						c.add()
					} else {
						pause(l.ctx, 10*time.Millisecond)
					}
				}
			})
		}
	}
}

// inTransaction reports whether the site has a transaction open.
func (r *rig) inTransaction(name string) bool {
	return one[bool](r, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = $1 AND xact_start IS NOT NULL)", name)
}

// freezeInTransaction freezes a site at random moments until one is in the middle of a transaction, and returns that
// moment.
func (r *rig) freezeInTransaction(s *site) time.Time {
	r.T.Helper()
	for range 500 {
		pause(r.T.Context(), rand.N(20*time.Millisecond))
		at := time.Now()
		s.freeze()
		pause(r.T.Context(), 30*time.Millisecond) // Postgres finishes statements that it has already received
		if r.inTransaction(s.name) {
			return at
		}
		s.resume()
	}
	require.Fail(r.T, s.name+" was never in the middle of a transaction")
	return time.Time{}
}

// gap returns the longest time without a placement in a region by these sites, from a moment until now.
func gap(sites []*site, region string, from time.Time) (longest time.Duration) {
	var times []time.Time
	for _, s := range sites {
		times = append(times, s.placements[region].since(from)...)
	}
	slices.SortFunc(times, time.Time.Compare)
	last := from
	for _, at := range append(times, time.Now()) {
		longest, last = max(longest, at.Sub(last)), at
	}
	return longest
}

// Pins one of three replicas that freezes in the middle of a transaction and so stops matchmaking on all others, in all
// regions, until Postgres ends its connections.
func TestAFrozenReplicaDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*rig, string) *site{"frozen": (*rig).serveFreezable,
		"cut off": (*rig).serveBehindProxy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			regions := []string{"eu", "us"}
			r := newRig(t, "DIRECTOR_PLAYER_RATE=0")
			var sites []*site
			for n := range 3 {
				sites = append(sites, open(r, fmt.Sprintf("replica-%d", n)))
			}
			for _, region := range regions {
				r.KeepAliveIn(region, time.Second, region+"-a", region+"-b", region+"-c")
			}
			l := r.load(0)
			for _, s := range sites {
				l.addPlayers(s, 6, regions...)
			}
			l.await(100)
			for turn := range 3 {
				victim := sites[turn]
				others := slices.DeleteFunc(slices.Clone(sites), func(s *site) bool { return s == victim })
				at := r.freezeInTransaction(victim)
				pause(t.Context(), 4*time.Second)
				victim.resume()
				pause(t.Context(), time.Second) // the resumed replica must not block the others either
				for _, region := range regions {
					longest := gap(others, region, at)
					t.Logf("%s %s: no placement in %s for %s", victim.name, name, region, longest)
					require.LessOrEqual(t, longest, maxGap, "%s %s, in %s", victim.name, name, region)
				}
			}
			l.end()
			l.requireAcknowledged()
		})
	}
}

// Pins a worker that freezes while it ends expired game servers: their sessions stayed open, and their capacity taken.
func TestAnotherWorkerReplacesAFrozenOne(t *testing.T) {
	t.Parallel()
	const dead = 256
	r := newRig(t, "DIRECTOR_LEASE_TTL=2s", "DIRECTOR_SEAT_TTL=10m", "DIRECTOR_PLAYER_RATE=0")
	r.ServeReplica()
	r.KeepAlive(300*time.Millisecond, "a", "b", "c")
	r.addExpiredServers(dead)
	frozen := &site{name: "worker"}
	frozen.process = r.startWorker(frozen.name)
	frozen.freeze = func() { require.NoError(t, frozen.Process.Signal(syscall.SIGSTOP)) }
	frozen.resume = func() { require.NoError(t, frozen.Process.Signal(syscall.SIGCONT)) }
	left := func() int {
		return one[int](r, "SELECT count(*) FROM instances WHERE id LIKE 'dead-%' AND status <> 'gone'")
	}
	require.Eventually(t, func() bool {
		if !r.writing(frozen.name) {
			return false
		}
		frozen.freeze()
		pause(t.Context(), 10*time.Millisecond) // Postgres finishes statements that it has already received
		if r.writing(frozen.name) {
			return true
		}
		frozen.resume()
		return false
	}, 60*time.Second, time.Millisecond, "it was never in the middle of ending servers")
	require.Positive(t, left())
	r.StartProcess("work")
	require.Eventually(t, func() bool { return left() == 0 }, 10*time.Second, 20*time.Millisecond)
	require.Zero(t, one[int](r, "SELECT count(*) FROM sessions WHERE instance_id LIKE 'dead-%'"))
	frozen.resume()
	pause(t.Context(), time.Second)
	r.RequireInvariants()
}

// writing reports whether a process has a transaction open that has written.
func (r *rig) writing(name string) bool {
	return one[bool](r, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = $1 AND backend_xid IS NOT NULL)", name)
}

// startWorker starts a worker whose connections have this application_name.
func (r *rig) startWorker(name string) *process {
	return r.StartProcess("work", "--database-url", named(r.T, r.Cluster.URL("postgres"), name))
}

// addExpiredServers registers n game servers with a session each that send no heartbeats.
func (r *rig) addExpiredServers(n int) {
	r.T.Helper()
	rigtest.Each(n, 32, func(i int) {
		id := fmt.Sprintf("dead-%d", i)
		status, answer, err := r.PostFleet("/fleet/register", fields{"instance_id": id, "endpoint": id + ":1",
			"region": "eu", "modes": []string{id}, "capacity": 2, "boot_id": id})
		if err != nil || status != http.StatusOK {
			r.T.Errorf("register: %d %v %v", status, answer, err)
			return
		}
		if _, err := r.PlayUntilOK(r.T.Context(), "player-of-"+id, "/matchmake",
			fields{"region": "eu", "mode": id, "max_players": 2}); err != nil {
			r.T.Error(err)
		}
	})
	require.False(r.T, r.T.Failed())
}

// Pins a replica that freezes while it accepts the matches of a cycle: it has locked the tickets, and the cycle, for
// which every caller of FetchMatches waits.
func TestAReplicaFrozenWhileAcceptingDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestAFrozenReplicaDoesNotBlockOthers")
	for range 5 {
		if freezesWhileAccepting(t) {
			return
		}
	}
	require.Fail(t, "the replica was never frozen in the middle of its transaction")
}

// freezesWhileAccepting makes the experiment with an installation of its own. It returns false where the replica did
// not freeze in the middle of its transaction, which proves nothing.
func freezesWhileAccepting(t *testing.T) bool {
	t.Helper()
	const players = 400
	l := newOMRig(t, 2)
	frozen := l.ServeReplica("--grpc-addr", l.grpcAddrs[0], "--database-url",
		named(t, l.Cluster.URL("postgres"), "frozen"))
	l.ServeReplica("--work", "--grpc-addr", l.grpcAddrs[1])
	victim := l.conns.AllConns[0]
	l.conns.AllConns = l.conns.AllConns[1:] // all directors but the first call the other replica
	l.queue(t.Context(), players)

	directing, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	var late int
	fetching := make(chan struct{})
	go func() {
		defer close(fetching)
		_ = l.fetch(directing, victim, profiles()[0], func(*pb.Match) { late++ })
	}()
	if !l.freezeWhileAccepting(frozen) {
		require.NoError(t, frozen.Process.Signal(syscall.SIGCONT))
		stop()
		<-fetching
		return false
	}
	at := time.Now()
	all.Go(func() { l.runDirector(directing, profiles()[0]) })
	require.Eventually(t, func() bool { l.mu.Lock(); defer l.mu.Unlock(); return len(l.matches) > 0 }, 20*time.Second,
		5*time.Millisecond)
	took := time.Since(at)
	t.Logf("other callers got matches %s after the replica froze", took)
	require.Less(t, took, 8*time.Second, "the hold timeout, a lease of the cycle, and one cycle")

	require.NoError(t, frozen.Process.Signal(syscall.SIGCONT))
	<-fetching
	require.Zero(t, late, "the frozen transaction was rolled back")
	waiting := func() int { return one[int](l.rig, "SELECT coalesce(sum(tickets), 0)::int FROM ops.queue") }
	require.Eventually(t, func() bool { return waiting() <= 1 }, time.Minute, 200*time.Millisecond)
	stop()
	all.Wait()
	l.requireConsistent(t.Context())
	return true
}

// freezeWhileAccepting locks all tickets, freezes a replica while its acceptance of matches waits for them, and then
// unlocks them. It returns whether the replica's transaction stands still then.
func (l *omRig) freezeWhileAccepting(p *process) bool {
	l.T.Helper()
	tx := must.Get(l.SQLPool.Begin(l.T.Context()))(l.T)
	held := must.Get(tx.Exec(l.T.Context(), "SELECT FROM tickets FOR UPDATE"))(l.T)
	require.Positive(l.T, held.RowsAffected())
	require.Eventually(l.T, func() bool {
		return one[bool](l.rig, `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE application_name = 'frozen' AND wait_event_type = 'Lock' AND query LIKE '%FreeTickets%')`)
	}, 20*time.Second, time.Millisecond)
	require.NoError(l.T, p.Process.Signal(syscall.SIGSTOP))
	require.NoError(l.T, tx.Rollback(l.T.Context()))
	for range 500 {
		if one[bool](l.rig, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'frozen' AND state = 'idle in transaction')") {
			return true
		}
		pause(l.T.Context(), 2*time.Millisecond)
	}
	l.T.Logf("not idle in a transaction: %s", one[string](l.rig, `SELECT coalesce(string_agg(concat_ws(' ', state, wait_event, xact_start, left(query, 60)), '; '), '')
		FROM pg_stat_activity WHERE application_name = 'frozen'`))
	return false
}
