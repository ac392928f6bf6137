package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/test/rigtest"
)

// All faults at once, for ten seconds or the duration in DIRECTOR_SOAK (such as 30m). Players, parties, tickets,
// directors and game servers are active while replicas and workers are killed, frozen and cut off from the network,
// Postgres crashes, connections end, calls are aborted, bodies arrive slowly, transactions stay open, and game servers
// freeze past their leases. No invariant is ever violated, and nothing that was acknowledged is lost or doubled.
func TestSoakOfAllFaults(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestTheLoopSurvivesAllFaults")
	length := 10 * time.Second
	if v := os.Getenv("DIRECTOR_SOAK"); v != "" {
		var err error
		length, err = time.ParseDuration(v)
		require.NoError(t, err)
	}
	s := newSoak(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var all sync.WaitGroup
	for n := range soakServers {
		all.Go(func() { s.runGameServer(ctx, n) })
	}
	for n := range 24 {
		all.Go(func() { s.playParties(ctx, n) })
	}
	all.Go(func() {
		for ; ctx.Err() == nil; pause(ctx, 500*time.Millisecond) { // about the rate at which tickets are matched
			s.queue(ctx, 20)
		}
	})
	for _, p := range profiles() {
		all.Go(func() { s.runDirector(ctx, p) })
	}
	all.Go(func() { s.checkInvariants(ctx) })
	all.Go(func() { s.makeFaults(ctx) })
	all.Wait()
	s.finish()
	if length >= 20*time.Minute { // the rarest kind is made every other minute
		for _, kind := range s.faultKinds() {
			require.Positive(t, s.faults[kind.name], "%s: never", kind.name)
		}
	}
}

const (
	soakServers  = 8
	soakReplicas = 3
)

// soak is an installation whose replicas restart at their own addresses.
type soak struct {
	*omRig
	addrs    []string
	proxies  []*dbtest.Proxy
	replicas []*process
	workers  []*process

	faults        map[string]int // faults made, by name
	seated        atomic.Int64   // placements acknowledged and found in the database
	endedSessions atomic.Int64   // reports of joins that were refused because the session had ended
	checks        atomic.Int64   // of all invariants
}

// newSoak starts an installation with so many workers, at least two.
func newSoak(t *testing.T, workers int, settings ...string) *soak {
	t.Helper()
	s := &soak{omRig: newOMRig(t, soakReplicas), faults: map[string]int{}}
	s.NextEnv = append(s.NextEnv, settings...)
	s.NextEnv = append(s.NextEnv, "DIRECTOR_LEASE_TTL=3s", "DIRECTOR_SEAT_TTL=5s", "DIRECTOR_PLAYER_RATE=0",
		"DIRECTOR_OM_ASSIGNED_FOR=24h", "DIRECTOR_LOG_LEVEL=error")
	for n := range soakReplicas {
		s.addrs = append(s.addrs, rigtest.FreeAddr(t))
		s.proxies = append(s.proxies, dbtest.NewProxy(t, s.Cluster.URL("postgres"), nil))
		s.replicas = append(s.replicas, s.launch(n))
		s.AwaitReady(s.replicas[n])
		s.SetURLs(append(s.ReplicaURLs(), "http://"+s.addrs[n])...)
	}
	for range workers {
		s.workers = append(s.workers, s.rig.StartProcess("work"))
	}
	return s
}

// launch starts the nth replica at its addresses, with its proxy to Postgres.
func (s *soak) launch(n int) *process {
	return s.StartReplica(s.addrs[n], "--grpc-addr", s.grpcAddrs[n], "--database-url", s.proxies[n].URL)
}

// runGameServer sends heartbeats, and now and then freezes past its lease.
func (s *soak) runGameServer(ctx context.Context, n int) {
	id, isRegistered := fmt.Sprintf("game-%d", n), false
	life := 0 // counts the freezes: after each one the process is another, with another boot id
	for ctx.Err() == nil {
		path, body := "/fleet/heartbeat", fields{"instance_id": id}
		if !isRegistered {
			path, body = "/fleet/register", fields{"instance_id": id, "endpoint": id + ":7777", "region": "eu",
				"modes": []string{"duel", "race"}, "capacity": 200, "boot_id": fmt.Sprint(id, "-", life)}
		}
		status, _, err := s.PostFleet(path, body)
		if err == nil {
			// 404 says that the lease has expired. Other refusals, such as 503, change nothing.
			isRegistered = status == http.StatusOK || isRegistered && status != http.StatusNotFound
		}
		pause(ctx, 500*time.Millisecond)
		if rand.IntN(120) == 0 {
			pause(ctx, 7*time.Second) // longer than a lease
			life++
		}
	}
}

// playParties lets players get seats, alone or as a party, resolve, join and leave. Each acknowledged seat must be in
// the database, as a current seat or in the history.
func (s *soak) playParties(ctx context.Context, caller int) {
	for n := 0; ctx.Err() == nil; n++ {
		var party []string
		for m := range 1 + rand.IntN(3) {
			party = append(party, fmt.Sprintf("p-%d-%d-%d", caller, n, m))
		}
		mode := []string{"duel", "race"}[rand.IntN(2)]
		body := fields{"region": "eu", "mode": mode, "party": party, "max_players": []int{4, 8}[rand.IntN(2)]}
		status, seat, err := s.PostPlay(party[0], "/matchmake", body)
		if err != nil || status != http.StatusOK {
			if err == nil && status >= 500 && status != http.StatusServiceUnavailable ||
				status == http.StatusBadRequest || status == http.StatusUnauthorized {
				s.T.Errorf("/matchmake answered %d: %v", status, seat)
			}
			pause(ctx, 20*time.Millisecond)
			continue
		}
		s.checkSeats(ctx, seat["session_id"].(string), party)
		s.playIn(ctx, seat, party)
	}
}

// playIn lets a party resolve its seats, join, play for a moment and leave. One of five parties never connects.
func (s *soak) playIn(ctx context.Context, seat fields, party []string) {
	instance := strings.TrimSuffix(seat["endpoint"].(string), ":7777")
	var joined []fields
	for _, sub := range party {
		status, _, err := s.PostPlay(sub, "/resolve", fields{"session_handle": seat["session_handle"]})
		if err == nil && status == http.StatusOK {
			joined = append(joined, fields{"sub": sub, "jti": fmt.Sprintf("%s-%d", sub, rand.Int64())})
		}
	}
	if len(joined) == 0 || rand.IntN(5) == 0 {
		return // they never connect: the reaper frees their seats
	}
	report := fields{"instance_id": instance, "session_id": seat["session_id"], "joined": joined}
	if status, _, _ := s.PostFleet("/fleet/seats", report); status != http.StatusOK {
		s.endedSessions.Add(1)
	}
	pause(ctx, time.Duration(rand.IntN(500))*time.Millisecond)
	delete(report, "joined")
	report["left"] = party
	status, answer, err := s.PostFleet("/fleet/seats", report)
	if err == nil && status == http.StatusInternalServerError {
		s.T.Errorf("/fleet/seats answered %d: %v", status, answer)
	}
}

// checkSeats checks that the seats of a party exist in a session. It retries while Postgres is down.
func (s *soak) checkSeats(ctx context.Context, session string, party []string) {
	var found int
	err := s.query(ctx, `SELECT count(DISTINCT sub)::int FROM (
			SELECT region, session_id, sub FROM seats UNION ALL SELECT region, session_id, sub FROM seat_history) x
		WHERE region = 'eu' AND session_id = $1::uuid AND sub = ANY ($2)`, &found, strings.TrimPrefix(session, "eu."), party)
	if err != nil {
		return
	}
	if found != len(party) {
		s.T.Errorf("%v got seats in %s: the database has %d of them", party, session, found)
	}
	s.seated.Add(int64(len(party)))
}

// query queries the database, and retries while Postgres restarts.
func (s *soak) query(ctx context.Context, sql string, into any, args ...any) error {
	for {
		err := s.SQLPool.QueryRow(context.WithoutCancel(ctx), sql, args...).Scan(into)
		if err == nil || ctx.Err() != nil {
			return err
		}
		pause(ctx, 100*time.Millisecond)
	}
}

// checkInvariants checks all invariants every two seconds.
func (s *soak) checkInvariants(ctx context.Context) {
	for ctx.Err() == nil {
		pause(ctx, 2*time.Second)
		var violations []string
		err := s.query(ctx, `SELECT coalesce(array_agg(name || ': ' || violations), '{}') FROM (
			SELECT name, violations FROM ops.invariants
			UNION ALL SELECT 'sessions over capacity', count(*) FROM sessions WHERE player_count > max_players) x
			WHERE violations > 0`, &violations)
		if err != nil {
			return // the soak is over: query retries until then
		}
		if len(violations) > 0 {
			s.T.Errorf("broken: %v", violations)
		}
		s.checks.Add(1)
	}
}

// finish waits until all tickets are matched, and compares all answers with the database.
func (s *soak) finish() {
	s.SQLPool.Reset()
	for _, replica := range s.replicas {
		s.AwaitReady(replica)
	}
	directing, stop := context.WithCancel(s.T.Context())
	var all sync.WaitGroup
	all.Go(func() { s.runDirector(directing, profiles()[0]) })
	s.awaitQueue(1)
	stop()
	all.Wait()
	s.requireConsistent(s.T.Context())
	s.T.Logf("%d seats acknowledged and found, %d reports about sessions that had ended, %d tickets, %d matches, %d checks of all invariants",
		s.seated.Load(), s.endedSessions.Load(), len(s.created), len(s.matches), s.checks.Load())
	s.T.Logf("faults: %v", s.faults)
	require.Positive(s.T, s.seated.Load())
	require.Positive(s.T, s.checks.Load())
}
