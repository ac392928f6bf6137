package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/test/rigtest"
)

// maxGap is the longest time without a placement in a region while one of three replicas is frozen: the hold timeout,
// after which Postgres ends the frozen transaction, and a second for the next placement.
const maxGap = 2 * time.Second

// site is a process that the test freezes, a replica with callers of its own or a worker.
type site struct {
	*process

	name   string // application_name of its connections
	freeze func() // stops the process, or its network to Postgres
	resume func() // ends freeze

	seats map[string]*rigtest.Answers // by region
}

// withName returns the database URL with an application_name.
func withName(t *testing.T, databaseURL, name string) string {
	t.Helper()
	return dbtest.WithParameters(t, databaseURL, "application_name", name)
}

// newSite returns a site that is frozen by SIGSTOP.
func newSite(t *testing.T, name string, p *process) *site {
	return &site{
		process: p, name: name, seats: map[string]*rigtest.Answers{},
		freeze: func() { require.NoError(t, p.Process.Signal(syscall.SIGSTOP)) },
		resume: func() { require.NoError(t, p.Process.Signal(syscall.SIGCONT)) },
	}
}

// addPlayers starts callers of the site, in each region, until the load ends.
func (l *load) addPlayers(s *site, callers int, regions ...string) {
	for _, region := range regions {
		answers := &rigtest.Answers{}
		s.seats[region] = answers
		l.callers.Add(callers, func(ctx context.Context, caller, turn int) {
			sub := fmt.Sprintf("%s-%s-%d-%d", s.name, region, caller, turn)
			// Two players a session, so that placements keep opening sessions.
			status, answer, err := l.PostJSON(s.URL, "/matchmake", l.HeaderOf(sub),
				fields{"region": region, "mode": "duel", "max_players": 2})
			if err != nil || status != http.StatusOK {
				pause(ctx, 10*time.Millisecond)
				return
			}
			l.seats.Add(sub, answer["session_id"].(string))
			answers.Add(sub, "")
		})
	}
}

// freezeInTransaction freezes a site, and resumes it, at random moments, until it is frozen in the middle of a
// transaction. It returns when that was.
func (r *rig) freezeInTransaction(s *site) (frozenAt time.Time) {
	r.T.Helper()
	for range 500 {
		pause(r.T.Context(), rand.N(20*time.Millisecond))
		frozenAt = time.Now()
		s.freeze()
		pause(r.T.Context(), 30*time.Millisecond) // Postgres finishes statements that it has already received
		if r.isActive(s.name, "xact_start IS NOT NULL") {
			return frozenAt
		}
		s.resume()
	}
	require.Fail(r.T, s.name+" was never in the middle of a transaction")
	return time.Time{}
}

// Pins one of three replicas that freezes in the middle of a transaction and so stops matchmaking on all others, in all
// regions, until Postgres ends its connections.
func TestAFrozenReplicaDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	for name, startSite := range map[string]func(*rig, string) *site{
		"frozen": func(r *rig, name string) *site {
			return newSite(r.T, name, r.ServeReplica("--database-url", withName(r.T, r.Cluster.URL("postgres"), name)))
		},
		"cut off": func(r *rig, name string) *site { // neither side sees an error: the network delivers nothing
			proxy := dbtest.NewProxy(r.T, r.Cluster.URL("postgres"), nil)
			s := newSite(r.T, name, r.ServeReplica("--database-url", withName(r.T, proxy.URL, name)))
			s.freeze, s.resume = proxy.Pause, proxy.Resume
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			regions := []string{"eu", "us"}
			r := newRig(t, "DIRECTOR_PLAYER_RATE=0")
			var sites []*site
			for n := range 3 {
				sites = append(sites, startSite(r, fmt.Sprintf("replica-%d", n)))
			}
			for _, region := range regions {
				r.KeepAliveIn(region, time.Second, region+"-a", region+"-b", region+"-c")
			}
			l := r.startLoad(0)
			for _, s := range sites {
				l.addPlayers(s, 6, regions...)
			}
			l.seats.Await(100)
			for turn := range longtest.Pick(1, len(sites)) {
				victim := sites[turn]
				frozenAt := r.freezeInTransaction(victim)
				pause(t.Context(), 4*time.Second)
				victim.resume()
				pause(t.Context(), time.Second) // the resumed replica must not block the others either
				for _, region := range regions {
					var others []*rigtest.Answers
					for _, s := range slices.Delete(slices.Clone(sites), turn, turn+1) {
						others = append(others, s.seats[region])
					}
					longest := rigtest.LongestGap(frozenAt, others...)
					t.Logf("%s %s: no placement in %s for %s", victim.name, name, region, longest)
					require.LessOrEqual(t, longest, maxGap, "%s %s, in %s", victim.name, name, region)
				}
			}
			l.callers.End()
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
	rigtest.Each(dead, 32, func(i int) { // game servers with a session each, which send no heartbeats
		id := fmt.Sprintf("dead-%d", i)
		status, answer, err := r.PostFleet("/fleet/register", fields{"instance_id": id, "endpoint": id + ":1",
			"region": "eu", "modes": []string{id}, "capacity": 2, "boot_id": id})
		if err != nil || status != http.StatusOK {
			t.Errorf("register: %d %v %v", status, answer, err)
			return
		}
		r.PlayUntilDone(t.Context(), "player-of-"+id, "/matchmake", fields{"region": "eu", "mode": id, "max_players": 2})
	})
	require.False(t, t.Failed())
	frozen := newSite(t, "worker",
		r.StartProcess("work", "--database-url", withName(t, r.Cluster.URL("postgres"), "worker")))
	countDead := func() int {
		return one[int](r, "SELECT count(*) FROM instances WHERE id LIKE 'dead-%' AND status <> 'gone'")
	}
	require.Eventually(t, func() bool {
		if !r.isActive(frozen.name, "backend_xid IS NOT NULL") {
			return false
		}
		frozen.freeze()
		pause(t.Context(), 10*time.Millisecond) // Postgres finishes statements that it has already received
		if r.isActive(frozen.name, "backend_xid IS NOT NULL") {
			return true
		}
		frozen.resume()
		return false
	}, 60*time.Second, time.Millisecond, "it was never in the middle of ending servers")
	require.Positive(t, countDead())
	r.StartProcess("work")
	require.Eventually(t, func() bool { return countDead() == 0 }, 10*time.Second, 20*time.Millisecond)
	require.Zero(t, one[int](r, "SELECT count(*) FROM sessions WHERE instance_id LIKE 'dead-%'"))
	frozen.resume()
	pause(t.Context(), time.Second)
	r.RequireInvariants()
}

// isActive reports whether a process has a connection of which a condition on pg_stat_activity is true.
func (r *rig) isActive(name, condition string) bool {
	return one[bool](r, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = $1 AND "+condition+")", name)
}

// Pins a replica that freezes while it accepts the matches of a cycle: it has locked the tickets, and the cycle, for
// which every caller of FetchMatches waits.
func TestAReplicaFrozenWhileAcceptingDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestAFrozenReplicaDoesNotBlockOthers")
	for range 5 { // a try in which the replica does not freeze in the middle of its transaction proves nothing
		const players = 400
		l := newOMRig(t, 2)
		frozen := l.ServeReplica("--grpc-addr", l.grpcAddrs[0], "--database-url",
			withName(t, l.Cluster.URL("postgres"), "frozen"))
		l.ServeReplica("--work", "--grpc-addr", l.grpcAddrs[1])
		victim := l.conns.AllConns[0]
		l.conns.AllConns = l.conns.AllConns[1:] // all directors but the first call the other replica
		l.queue(t.Context(), players)

		directing, stop := context.WithCancel(t.Context())
		t.Cleanup(stop)
		var lateMatches int
		awaitFetch := background.Loop(t, func(context.Context) {
			_ = l.fetch(directing, victim, profiles()[0], func(*pb.Match) { lateMatches++ })
		})
		isFrozen := l.freezeWhileAccepting(frozen)
		frozenAt := time.Now()
		if !isFrozen {
			require.NoError(t, frozen.Process.Signal(syscall.SIGCONT))
			stop()
			awaitFetch()
			continue
		}
		awaitDirector := background.Loop(t, func(context.Context) { l.runDirector(directing, profiles()[0]) })
		require.Eventually(t, func() bool { l.mu.Lock(); defer l.mu.Unlock(); return len(l.matches) > 0 },
			20*time.Second, 5*time.Millisecond)
		took := time.Since(frozenAt)
		t.Logf("other callers got matches %s after the replica froze", took)
		require.Less(t, took, 8*time.Second, "the hold timeout, a lease of the cycle, and one cycle")

		require.NoError(t, frozen.Process.Signal(syscall.SIGCONT))
		awaitFetch()
		require.Zero(t, lateMatches, "the frozen transaction was rolled back")
		l.awaitQueue(1)
		stop()
		awaitDirector()
		l.requireConsistent(t.Context())
		return
	}
	require.Fail(t, "the replica was never frozen in the middle of its transaction")
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
		if l.isActive("frozen", "state = 'idle in transaction'") {
			return true
		}
		pause(l.T.Context(), 2*time.Millisecond)
	}
	l.T.Logf("not idle in a transaction: %s", one[string](l.rig, `SELECT coalesce(string_agg(concat_ws(' ', state, wait_event, xact_start, left(query, 60)), '; '), '')
		FROM pg_stat_activity WHERE application_name = 'frozen'`))
	return false
}
