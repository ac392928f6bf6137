package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// longestGap is for how long nobody may be placed in a region while one of three replicas stands still: what the hold timeout
// promises.
const longestGap = 2 * time.Second

// site is one replica of several, with players of its own.
type site struct {
	*process

	name  string // that Postgres knows its connections by
	stop  func() // stops it in the middle of what it does
	start func() // and lets it go on

	crowds map[string]*crowd // by region
}

// crowd is players of one region who ask one replica, and when they were answered.
type crowd struct {
	mu     sync.Mutex
	placed []time.Time
}

func (c *crowd) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.placed = append(c.placed, time.Now())
}

func (c *crowd) since(from time.Time) (times []time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range c.placed {
		if at.After(from) {
			times = append(times, at)
		}
	}
	return times
}

// named is a database URL under which Postgres shows connections by this name.
func named(t *testing.T, databaseURL, name string) string {
	t.Helper()
	u, err := url.Parse(databaseURL)
	require.NoError(t, err)
	q := u.Query()
	q.Set("application_name", name)
	u.RawQuery = q.Encode()
	return u.String()
}

// freezable is a site whose process is frozen.
func (r *rig) freezable(name string) *site {
	s := &site{process: r.serve("--database-url", named(r.t, r.cluster.URL("postgres"), name)), name: name, crowds: map[string]*crowd{}}
	s.stop = func() { require.NoError(r.t, s.Process.Signal(syscall.SIGSTOP)) }
	s.start = func() { require.NoError(r.t, s.Process.Signal(syscall.SIGCONT)) }
	return s
}

// cuttable is a site that runs on while its network to Postgres delivers nothing, and says so to neither.
func (r *rig) cuttable(name string) *site {
	w := newWire(r.t, r.cluster.URL("postgres"))
	s := &site{process: r.serve("--database-url", named(r.t, w.url, name)), name: name, crowds: map[string]*crowd{}}
	s.stop, s.start = w.gate.Lock, w.gate.Unlock
	return s
}

// wire carries connections to Postgres while its gate is open.
type wire struct {
	url  string
	gate sync.RWMutex // locked: nothing passes
}

func newWire(t *testing.T, databaseURL string) *wire {
	t.Helper()
	pc, err := pgx.ParseConfig(databaseURL)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	w := &wire{}
	network, address := pgconn.NetworkAddress(pc.Host, pc.Port)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, address)
			if err != nil {
				_ = client.Close()
				continue
			}
			go w.carry(server, client)
			go w.carry(client, server)
		}
	}()
	u, err := url.Parse(databaseURL)
	require.NoError(t, err)
	host, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	q := u.Query()
	q.Set("host", host)
	q.Set("port", port)
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	w.url = u.String()
	return w
}

// carry takes what one side sends to the other. That a side has closed does not pass a closed gate either.
func (w *wire) carry(to, from net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		w.gate.RLock()
		if n > 0 && err == nil {
			_, err = to.Write(buf[:n])
		}
		w.gate.RUnlock()
		if err != nil {
			_, _ = to.Close(), from.Close()
			return
		}
	}
}

// settle has players ask the site, in each region, until the load ends.
func (l *load) settle(s *site, callers int, regions ...string) {
	for _, region := range regions {
		c := &crowd{}
		s.crowds[region] = c
		for n := range callers {
			l.wg.Go(func() {
				for turn := 0; l.ctx.Err() == nil; turn++ {
					sub := fmt.Sprintf("%s-%s-%d-%d", s.name, region, n, turn)
					// Two to a session: new ones are opened all the time.
					status, answer, err := l.post(s.url, "/matchmake", http.Header{"Authorization": {"Bearer " + l.token(sub)}},
						fields{"region": region, "mode": "duel", "max_players": 2})
					if err == nil && status == http.StatusOK {
						l.acked.Store(sub, answer["session_id"])
						l.count.Add(1)
						c.add()
					} else {
						rest(l.ctx, 10*time.Millisecond)
					}
				}
			})
		}
	}
}

// inTransaction tells whether the site has one open.
func (r *rig) inTransaction(name string) bool {
	return one[bool](r, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = $1 AND xact_start IS NOT NULL)", name)
}

// stopInside stops a site at a random moment, again and again until it stands still in the middle of a transaction, and tells when.
func (r *rig) stopInside(s *site) time.Time {
	r.t.Helper()
	for range 500 {
		rest(r.t.Context(), rand.N(20*time.Millisecond))
		at := time.Now()
		s.stop()
		rest(r.t.Context(), 30*time.Millisecond) // what was on its way is done
		if r.inTransaction(s.name) {
			return at
		}
		s.start()
	}
	require.Fail(r.t, s.name+" was never in the middle of a transaction")
	return time.Time{}
}

// gap is the longest time without a placement of a region by these sites, from a moment until now.
func gap(sites []*site, region string, from time.Time) (longest time.Duration) {
	var times []time.Time
	for _, s := range sites {
		times = append(times, s.crowds[region].since(from)...)
	}
	slices.SortFunc(times, time.Time.Compare)
	last := from
	for _, at := range append(times, time.Now()) {
		longest, last = max(longest, at.Sub(last)), at
	}
	return longest
}

// Pins one of three replicas that stands still in the middle of a transaction and stops matchmaking in all regions on all
// others, for as long as the operator's Postgres lets it.
func TestAReplicaThatStandsStillHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*rig, string) *site{"frozen": (*rig).freezable, "cut off": (*rig).cuttable} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			regions := []string{"eu", "us"}
			r := newRig(t, "DIRECTOR_PLAYER_RATE=0")
			var sites []*site
			for n := range 3 {
				sites = append(sites, open(r, fmt.Sprintf("replica-%d", n)))
			}
			for _, region := range regions {
				r.keepAliveIn(region, time.Second, region+"-a", region+"-b", region+"-c")
			}
			l := r.load(0)
			for _, s := range sites {
				l.settle(s, 6, regions...)
			}
			l.until(100)
			for turn := range 3 {
				victim := sites[turn]
				others := slices.DeleteFunc(slices.Clone(sites), func(s *site) bool { return s == victim })
				at := r.stopInside(victim)
				rest(t.Context(), 4*time.Second)
				victim.start()
				rest(t.Context(), time.Second) // what it does on waking holds nobody up either
				for _, region := range regions {
					longest := gap(others, region, at)
					t.Logf("%s %s: nobody was placed in %s for %s", victim.name, name, region, longest)
					require.LessOrEqual(t, longest, longestGap, "%s %s, in %s", victim.name, name, region)
				}
			}
			l.end()
			l.requireKept()
		})
	}
}

// Pins a worker that stands still while it ends dead servers: their sessions stayed, and their capacity with them.
func TestAWorkerThatStandsStillLeavesNothingToItself(t *testing.T) {
	t.Parallel()
	const dead = 256
	r := newRig(t, "DIRECTOR_LEASE_TTL=2s", "DIRECTOR_SEAT_TTL=10m", "DIRECTOR_PLAYER_RATE=0")
	r.serve()
	r.keepAlive(300*time.Millisecond, "a", "b", "c")
	r.bury(dead)
	frozen := &site{name: "worker"}
	frozen.process = r.startWorker(frozen.name)
	frozen.stop = func() { require.NoError(t, frozen.Process.Signal(syscall.SIGSTOP)) }
	frozen.start = func() { require.NoError(t, frozen.Process.Signal(syscall.SIGCONT)) }
	left := func() int {
		return one[int](r, "SELECT count(*) FROM instances WHERE id LIKE 'dead-%' AND status <> 'gone'")
	}
	require.Eventually(t, func() bool {
		if !r.writing(frozen.name) {
			return false
		}
		frozen.stop()
		rest(t.Context(), 10*time.Millisecond) // what was on its way is done
		if r.writing(frozen.name) {
			return true
		}
		frozen.start()
		return false
	}, 60*time.Second, time.Millisecond, "it was never in the middle of ending servers")
	require.Positive(t, left())
	r.start("work")
	require.Eventually(t, func() bool { return left() == 0 }, 10*time.Second, 20*time.Millisecond)
	require.Zero(t, one[int](r, "SELECT count(*) FROM sessions WHERE instance_id LIKE 'dead-%'"))
	frozen.start()
	rest(t.Context(), time.Second)
	r.requireSound()
}

// writing tells whether a process is in the middle of a transaction that has changed something.
func (r *rig) writing(name string) bool {
	return one[bool](r, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = $1 AND backend_xid IS NOT NULL)", name)
}

// startWorker starts one whose connections Postgres shows by this name.
func (r *rig) startWorker(name string) *process {
	return r.start("work", "--database-url", named(r.t, r.cluster.URL("postgres"), name))
}

// bury makes servers with a session each that are past their lease.
func (r *rig) bury(n int) {
	r.t.Helper()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			id := fmt.Sprintf("dead-%d", i)
			mode := []string{id}
			status, answer, err := r.fleet("/fleet/register", fields{"instance_id": id, "endpoint": id + ":1", "region": "eu", "modes": mode, "capacity": 2, "boot_id": id})
			if err != nil || status != http.StatusOK {
				r.t.Errorf("register: %d %v %v", status, answer, err)
				return
			}
			if _, err := r.insist(r.t.Context(), "player-of-"+id, "/matchmake", fields{"region": "eu", "mode": id, "max_players": 2}); err != nil {
				r.t.Error(err)
			}
		})
	}
	all.Wait()
	require.False(r.t, r.t.Failed())
}

// Pins a replica that stands still while it makes the matches of a cycle final: it holds the cycle, which every caller of
// FetchMatches waits for, and the tickets.
func TestAnAcceptanceThatStandsStillHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	const players = 400
	l := newLobby(t, 2)
	frozen := l.serve("--grpc-addr", l.grpcAddrs[0], "--database-url", named(t, l.cluster.URL("postgres"), "frozen"))
	l.serve("--work", "--grpc-addr", l.grpcAddrs[1])
	victim := l.conns[0]
	l.conns = l.conns[1:] // all but the first director ask the other one
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
	l.freezeAcceptance(frozen)
	at := time.Now()
	all.Go(func() { l.direct(directing, profiles()[0]) })
	require.Eventually(t, func() bool { l.mu.Lock(); defer l.mu.Unlock(); return len(l.matches) > 0 }, 20*time.Second, 5*time.Millisecond)
	took := time.Since(at)
	t.Logf("the others got matches %s after it stood still", took)
	require.Less(t, took, 8*time.Second, "the hold timeout, a lease of the cycle, and a cycle")

	require.NoError(t, frozen.Process.Signal(syscall.SIGCONT))
	<-fetching
	require.Zero(t, late, "what it had decided was rolled back")
	waiting := func() int { return one[int](l.rig, "SELECT coalesce(sum(tickets), 0)::int FROM ops.queue") }
	require.Eventually(t, func() bool { return waiting() <= 1 }, time.Minute, 200*time.Millisecond)
	stop()
	all.Wait()
	l.requireJust(t.Context())
}

// freezeAcceptance freezes a replica while its acceptance of matches waits for tickets, and lets it have them then.
func (l *lobby) freezeAcceptance(p *process) {
	l.t.Helper()
	tx, err := l.pool.Begin(l.t.Context())
	require.NoError(l.t, err)
	held, err := tx.Exec(l.t.Context(), "SELECT FROM tickets FOR UPDATE")
	require.NoError(l.t, err)
	require.Positive(l.t, held.RowsAffected())
	require.Eventually(l.t, func() bool {
		return one[bool](l.rig, `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE application_name = 'frozen' AND wait_event_type = 'Lock' AND query LIKE '%FreeTickets%')`)
	}, 20*time.Second, time.Millisecond)
	require.NoError(l.t, p.Process.Signal(syscall.SIGSTOP))
	require.NoError(l.t, tx.Rollback(l.t.Context()))
	require.Eventually(l.t, func() bool {
		return one[bool](l.rig, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'frozen' AND state = 'idle in transaction')")
	}, 5*time.Second, time.Millisecond)
}
