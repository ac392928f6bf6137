package faults

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// Everything at once, for ten seconds or for as long as DIRECTOR_SOAK says (such as 30m): players, parties, tickets, directors and game servers,
// while replicas and workers are killed, frozen and cut off, Postgres crashes, connections are ended, calls are aborted, bodies
// trickle in, writing transactions are forgotten, and game servers sleep past their leases. No invariant is ever broken, and
// nothing that was acknowledged is lost or doubled.
func TestSoakOfAllFaults(t *testing.T) {
	t.Parallel()
	length := 10 * time.Second
	if v := os.Getenv("DIRECTOR_SOAK"); v != "" {
		var err error
		length, err = time.ParseDuration(v)
		require.NoError(t, err)
	}
	s := newSoak(t)
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var all sync.WaitGroup
	for n := range soakServers {
		all.Go(func() { s.gameServer(ctx, n) })
	}
	for n := range 24 {
		all.Go(func() { s.players(ctx, n) })
	}
	all.Go(func() { s.lobbyPlayers(ctx) })
	for _, p := range profiles() {
		all.Go(func() { s.direct(ctx, p) })
	}
	all.Go(func() { s.judge(ctx) })
	all.Go(func() { s.breakThings(ctx) })
	all.Wait()
	s.finish()
}

const (
	soakServers  = 8
	soakReplicas = 3
	soakWorkers  = 2
)

// soak is an installation whose replicas come back at their own addresses.
type soak struct {
	*lobby
	addrs    []string
	wires    []*wire
	replicas []*process
	workers  []*process

	broken   map[string]int // faults made, by name
	seated   atomic.Int64   // placements acknowledged and found in the database
	lifeless atomic.Int64   // joins that a game server reported in vain, since its session had ended
	checks   atomic.Int64
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{lobby: newLobby(t, soakReplicas), broken: map[string]int{}}
	s.env = append(s.env, "DIRECTOR_LEASE_TTL=3s", "DIRECTOR_SEAT_TTL=5s", "DIRECTOR_PLAYER_RATE=0", "DIRECTOR_OM_ASSIGNED_FOR=24h", "DIRECTOR_LOG_LEVEL=error")
	for n := range soakReplicas {
		s.addrs = append(s.addrs, freeAddr(t))
		s.wires = append(s.wires, newWire(t, s.cluster.URL("postgres")))
		s.replicas = append(s.replicas, s.launch(n))
		s.await("http://" + s.addrs[n] + "/readyz")
		s.urls = append(s.urls, "http://"+s.addrs[n])
	}
	for range soakWorkers {
		s.workers = append(s.workers, s.rig.start("work"))
	}
	return s
}

func (s *soak) launch(n int) *process {
	p := s.rig.start("serve", "--addr", s.addrs[n], "--grpc-addr", s.grpcAddrs[n], "--database-url", s.wires[n].url)
	p.url = "http://" + s.addrs[n]
	return p
}

// gameServer heartbeats, and sleeps past its lease now and then.
func (s *soak) gameServer(ctx context.Context, n int) {
	id := fmt.Sprintf("game-%d", n)
	life := 0
	registration := func() fields {
		return fields{"instance_id": id, "endpoint": id + ":7777", "region": "eu", "modes": []string{"duel", "race"}, "capacity": 200, "boot_id": fmt.Sprint(id, "-", life)}
	}
	registered := false
	for ctx.Err() == nil {
		path, body := "/fleet/register", registration()
		if registered {
			path, body = "/fleet/heartbeat", fields{"instance_id": id}
		}
		if status, _, err := s.fleet(path, body); err == nil {
			registered = status == http.StatusOK || registered && status != http.StatusNotFound
		}
		rest(ctx, 500*time.Millisecond)
		if rand.IntN(120) == 0 {
			rest(ctx, 7*time.Second)
			life++
		}
	}
}

// players live: they are seated alone or as a party, resolve, join and leave. Each placement that was acknowledged has to be in
// the database, now or in its history.
func (s *soak) players(ctx context.Context, caller int) {
	for n := 0; ctx.Err() == nil; n++ {
		var party []string
		for m := range 1 + rand.IntN(3) {
			party = append(party, fmt.Sprintf("p-%d-%d-%d", caller, n, m))
		}
		mode := []string{"duel", "race"}[rand.IntN(2)]
		body := fields{"region": "eu", "mode": mode, "party": party, "max_players": []int{4, 8}[rand.IntN(2)]}
		status, seat, err := s.play(party[0], "/matchmake", body)
		if err != nil || status != http.StatusOK {
			if err == nil && status >= 500 && status != http.StatusServiceUnavailable || status == http.StatusBadRequest || status == http.StatusUnauthorized {
				s.t.Errorf("/matchmake answered %d: %v", status, seat)
			}
			rest(ctx, 20*time.Millisecond)
			continue
		}
		s.requireSeats(ctx, seat["session_id"].(string), party)
		s.liveIn(ctx, seat, party)
	}
}

func (s *soak) liveIn(ctx context.Context, seat fields, party []string) {
	instance := strings.TrimSuffix(seat["endpoint"].(string), ":7777")
	var joined []fields
	for _, sub := range party {
		status, _, err := s.play(sub, "/resolve", fields{"session_handle": seat["session_handle"]})
		if err != nil || status != http.StatusOK {
			continue
		}
		jti := fmt.Sprintf("%s-%d", sub, rand.Int64())
		joined = append(joined, fields{"sub": sub, "jti": jti})
	}
	if len(joined) == 0 || rand.IntN(5) == 0 {
		return // never seen again: the reaper's
	}
	report := fields{"instance_id": instance, "session_id": seat["session_id"]}
	report["joined"] = joined
	if status, _, _ := s.fleet("/fleet/seats", report); status != http.StatusOK {
		s.lifeless.Add(1)
	}
	rest(ctx, time.Duration(rand.IntN(500))*time.Millisecond)
	delete(report, "joined")
	report["left"] = party
	if status, answer, err := s.fleet("/fleet/seats", report); err == nil && status == http.StatusInternalServerError {
		s.t.Errorf("/fleet/seats answered %d: %v", status, answer)
	}
}

// requireSeats looks for the seats of a party in a session, until Postgres can be asked.
func (s *soak) requireSeats(ctx context.Context, session string, party []string) {
	var found int
	err := s.ask(ctx, `SELECT count(DISTINCT sub)::int FROM (
			SELECT region, session_id, sub FROM seats UNION ALL SELECT region, session_id, sub FROM seat_history) x
		WHERE region = 'eu' AND session_id = $1::uuid AND sub = ANY ($2)`, &found, strings.TrimPrefix(session, "eu."), party)
	if err != nil {
		return
	}
	if found != len(party) {
		s.t.Errorf("%v were told of seats in %s: the database knows %d of them", party, session, found)
	}
	s.seated.Add(int64(len(party)))
}

// ask asks the database until it answers, which it does not while it restarts.
func (s *soak) ask(ctx context.Context, sql string, into any, args ...any) error {
	for {
		err := s.pool.QueryRow(context.WithoutCancel(ctx), sql, args...).Scan(into)
		if err == nil || ctx.Err() != nil {
			return err
		}
		rest(ctx, 100*time.Millisecond)
	}
}

// lobbyPlayers queue all the time, as many as are matched.
func (s *soak) lobbyPlayers(ctx context.Context) {
	for ctx.Err() == nil {
		s.queue(ctx, 20)
		rest(ctx, 500*time.Millisecond)
	}
}

// judge looks at all invariants again and again.
func (s *soak) judge(ctx context.Context) {
	for ctx.Err() == nil {
		rest(ctx, 2*time.Second)
		var violations []string
		err := s.ask(ctx, "SELECT coalesce(array_agg(name || ': ' || violations), '{}') FROM ops.invariants WHERE violations > 0", &violations)
		if err == nil && len(violations) > 0 {
			s.t.Errorf("broken: %v", violations)
		}
		var overfull int
		err = s.ask(ctx, "SELECT count(*)::int FROM sessions s WHERE s.player_count > s.max_players", &overfull)
		if err == nil && overfull > 0 {
			s.t.Errorf("%d sessions over capacity", overfull)
		}
		s.checks.Add(1)
	}
}

// breakThings makes one fault after the other, some of which overlap.
func (s *soak) breakThings(ctx context.Context) {
	faults := []struct {
		name string
		odds int // 1 in so many of its turns
		make func(ctx context.Context)
	}{
		{"kill a replica", 1, s.killReplica}, {"freeze a replica", 1, s.freezeReplica}, {"cut a replica off", 1, s.cutReplica},
		{"kill a worker", 1, s.killWorker}, {"freeze a worker", 1, s.freezeWorker}, {"crash Postgres", 5, s.crashPostgres},
		{"end connections", 2, s.endConnections}, {"abort calls", 1, s.abortCalls}, {"send bodies slowly", 1, s.sendSlowly},
		{"forget a writing transaction", 1, s.forgetTransaction},
	}
	var under sync.WaitGroup
	defer under.Wait()
	busy := make([]sync.Mutex, len(faults)) // each kind once at a time: a replica that is frozen is not killed meanwhile
	for ctx.Err() == nil {
		rest(ctx, time.Duration(500+rand.IntN(3000))*time.Millisecond)
		n := rand.IntN(len(faults))
		if ctx.Err() != nil || rand.IntN(faults[n].odds) > 0 || !busy[n].TryLock() {
			continue
		}
		s.broken[faults[n].name]++
		under.Go(func() {
			defer busy[n].Unlock()
			faults[n].make(ctx)
		})
	}
}

func moments() time.Duration { return time.Duration(500+rand.IntN(5000)) * time.Millisecond }

// Each kind of fault has a replica of its own, so that two kinds never meet in one.
func (s *soak) killReplica(ctx context.Context) {
	_ = s.replicas[0].Process.Signal(syscall.SIGKILL)
	<-s.replicas[0].exited
	rest(ctx, 300*time.Millisecond)
	s.replicas[0] = s.launch(0)
}

func (s *soak) freezeReplica(ctx context.Context) { freeze(ctx, s.replicas[1]) }

func freeze(ctx context.Context, p *process) {
	_ = p.Process.Signal(syscall.SIGSTOP)
	rest(ctx, moments())
	_ = p.Process.Signal(syscall.SIGCONT)
}

func (s *soak) cutReplica(ctx context.Context) {
	s.wires[2].gate.Lock()
	rest(ctx, moments())
	s.wires[2].gate.Unlock()
}

func (s *soak) killWorker(ctx context.Context) {
	_ = s.workers[0].Process.Signal(syscall.SIGKILL)
	<-s.workers[0].exited
	rest(ctx, time.Second)
	s.workers[0] = s.rig.start("work")
}

func (s *soak) freezeWorker(ctx context.Context) { freeze(ctx, s.workers[1]) }

func (s *soak) crashPostgres(ctx context.Context) {
	if err := s.cluster.StopImmediate(); err != nil {
		s.t.Errorf("stop Postgres: %v", err)
	}
	if err := s.cluster.Start(context.WithoutCancel(ctx)); err != nil {
		s.t.Errorf("start Postgres: %v", err)
	}
}

func (s *soak) endConnections(context.Context) {
	_, _ = s.pool.Exec(context.Background(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE application_name = 'director' AND random() < 0.3`)
}

func (s *soak) abortCalls(context.Context) {
	abort(s.t, s.replicas[2], 320, "GET /readyz HTTP/1.1\r\nHost: director\r\n\r\n")
}

// sendSlowly keeps connections busy with bodies that never come to an end.
func (s *soak) sendSlowly(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	var callers sync.WaitGroup
	for n := range 128 {
		callers.Go(func() {
			conn, err := net.Dial("tcp", s.addrs[2])
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			_, _ = fmt.Fprintf(conn, "POST /matchmake HTTP/1.1\r\nHost: d\r\nContent-Type: application/json\r\nContent-Length: 60\r\nAuthorization: Bearer %s\r\n\r\n{",
				s.token(fmt.Sprintf("slow-%d", n)))
			go func() { _, _ = bufio.NewReader(conn).ReadString(0) }()
			for ctx.Err() == nil {
				rest(ctx, 100*time.Millisecond)
				if _, err := conn.Write([]byte(" ")); err != nil {
					return
				}
			}
		})
	}
	callers.Wait()
}

func (s *soak) forgetTransaction(ctx context.Context) {
	conn, err := pgx.Connect(ctx, s.cluster.URL("template1"))
	if err != nil {
		return
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if tx, err := conn.Begin(ctx); err == nil {
		_, _ = tx.Exec(ctx, "SELECT pg_current_xact_id()")
		rest(ctx, 3*moments())
	}
}

// finish lets all come to rest and holds what everybody was told against what is there.
func (s *soak) finish() {
	s.pool.Reset()
	for _, addr := range s.addrs {
		s.await("http://" + addr + "/readyz")
	}
	directing, stop := context.WithCancel(s.t.Context())
	var all sync.WaitGroup
	all.Go(func() { s.direct(directing, profiles()[0]) })
	waiting := func() int { return one[int](s.rig, "SELECT coalesce(sum(tickets), 0)::int FROM ops.queue") }
	require.Eventually(s.t, func() bool { return waiting() <= 1 }, 3*time.Minute, 200*time.Millisecond)
	stop()
	all.Wait()
	s.requireJust(s.t.Context())
	s.t.Logf("%d seats acknowledged and found, %d reports about sessions that had ended, %d tickets, %d matches, %d times all invariants",
		s.seated.Load(), s.lifeless.Load(), len(s.created), len(s.matches), s.checks.Load())
	s.t.Logf("faults: %v", s.broken)
	require.Positive(s.t, s.seated.Load())
}
