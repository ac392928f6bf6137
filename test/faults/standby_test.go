package faults

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/test/rigtest"
)

// promise is an answer that a player or a game server got.
type promise struct {
	sub, id string // of the session or the ticket
	at      time.Time
}

// promises are the answers of one kind. missing is the statement that returns those that the database does not keep, by
// the players $1 and the ids $2.
type promises struct {
	missing string

	mu   sync.Mutex
	list []promise
}

func (p *promises) add(sub, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, promise{sub, id, time.Now()})
}

func (p *promises) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.list)
}

// firstAfter returns the first answer after a moment.
func (p *promises) firstAfter(at time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list[slices.IndexFunc(p.list, func(made promise) bool { return made.at.After(at) })].at
}

// failover is an installation whose processes know a primary and its standby, while players and game servers are
// active.
type failover struct {
	*rig

	pair      dbtest.Pair
	toPrimary *dbtest.Proxy // through which everybody but the standby reaches the primary
	seats     promises
	joins     promises
	tickets   promises

	calling sync.WaitGroup
	ctx     context.Context //nolint:containedctx // of the callers
	stop    context.CancelFunc
	crowd   *rigtest.Crowd
}

const counterRoom = rigtest.CounterRoom + ":default"

// newFailover starts everything. The settings are those of the primary.
func newFailover(t *testing.T, settings map[string]string) *failover {
	t.Helper()
	f := &failover{pair: dbtest.NewPair(t, settings)}
	f.toPrimary = dbtest.NewProxy(t, f.pair.Primary.TCPURL("postgres"), nil)
	f.rig = &rig{rigtest.NewRigOn(t, clitest.BuildDirector(t), f.address(t),
		append(rigtest.LobbySettings(), "DIRECTOR_SEAT_TTL=10m",
			"DIRECTOR_PLAYER_RATE=0")...)}
	f.seats.missing = `SELECT NOT EXISTS (SELECT FROM seats WHERE region || '.' || session_id = a.id AND sub = a.sub)`
	f.joins.missing = `SELECT NOT EXISTS (SELECT FROM seats
		WHERE region || '.' || session_id = a.id AND sub = a.sub AND state = 'connected')`
	f.tickets.missing = `SELECT NOT EXISTS (SELECT FROM tickets WHERE id = a.id)
		AND NOT EXISTS (SELECT FROM ticket_events WHERE ticket_id = a.id)`
	first, second := f.ServeLobby("--work"), f.ServeLobby()
	f.StartProcess("work")
	f.ApplyProfile("name: pair\nmode: duel\nteams: [{name: all, players: 2}]\n")
	f.KeepAlive(time.Second, "a", "b", "c")
	f.crowd = f.NewCrowd(first.Lobby, second.Lobby)
	for _, at := range []*replicaOfLobby{first, second, first, second} {
		f.crowd.AddGuest(at.Lobby, counterRoom)
	}
	f.ctx, f.stop = context.WithCancel(t.Context())
	t.Cleanup(func() { f.stop(); f.calling.Wait() })
	for caller := range longtest.Pick(16, 64) {
		f.calling.Go(func() { f.call(caller) })
	}
	return f
}

// address names both servers, the primary first, as operators are told to.
func (f *failover) address(t *testing.T) string {
	t.Helper()
	config, err := pgx.ParseConfig(f.toPrimary.URL)
	require.NoError(t, err)
	standby, err := pgx.ParseConfig(f.pair.Standby.TCPURL("postgres"))
	require.NoError(t, err)
	hosts := net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))) + "," +
		net.JoinHostPort(standby.Host, strconv.Itoa(int(standby.Port)))
	return "postgres://" + url.UserPassword(config.User, config.Password).String() + "@" + hosts +
		"/postgres?sslmode=disable&target_session_attrs=read-write"
}

// call lets new players get seats, join, and queue, one after the other.
func (f *failover) call(caller int) {
	for n := 0; f.ctx.Err() == nil; n++ {
		sub := fmt.Sprintf("p-%d-%d", caller, n)
		if n%3 == 0 {
			if answer, err := f.callUntilDone(sub, "/tickets",
				fields{"profiles": []string{"pair"}, "latencies": fields{"eu": 20}}); err == nil {
				f.tickets.add(sub, answer["ticket_id"].(string))
			}
			continue
		}
		answer, err := f.callUntilDone(sub, "/matchmake", fields{"region": "eu", "mode": "duel"})
		if err != nil {
			continue
		}
		session := answer["session_id"].(string)
		f.seats.add(sub, session)
		instance := strings.TrimSuffix(answer["endpoint"].(string), ":7777")
		if report, err := f.reportJoin(instance, session, sub); err == nil && report["joined"] == 1.0 {
			f.joins.add(sub, session)
		}
	}
}

// reportJoin returns the answer of one replica to the report of a game server.
func (f *failover) reportJoin(instance, session, sub string) (fields, error) {
	_, answer, err := f.PostFleet("/fleet/seats", fields{"instance_id": instance, "session_id": session,
		"joined": []fields{{"sub": sub, "jti": "jti-" + sub}}})
	return answer, err
}

// callUntilDone calls one replica after the other until one has done it.
func (f *failover) callUntilDone(sub, path string, body fields) (fields, error) {
	for f.ctx.Err() == nil {
		status, answer, err := f.PostPlay(sub, path, body)
		switch {
		case err == nil && (status == http.StatusOK || status == http.StatusCreated):
			return answer, nil
		case err == nil && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests:
			f.T.Errorf("%s answered %d: %v", path, status, answer)
			return nil, errNoAnswer
		}
		pause(f.ctx, 20*time.Millisecond)
	}
	return nil, f.ctx.Err()
}

// await waits for n more answers of each kind.
func (f *failover) await(n int) {
	f.T.Helper()
	for _, kind := range []*promises{&f.seats, &f.joins, &f.tickets} {
		target := kind.count() + n
		require.Eventually(f.T, func() bool { return kind.count() >= target }, time.Minute, 5*time.Millisecond)
	}
}

// killPrimary ends the primary as a power cut does.
func (f *failover) killPrimary() {
	f.T.Helper()
	require.NoError(f.T, syscall.Kill(f.pair.Primary.PID(), syscall.SIGKILL))
	<-f.pair.Primary.Done()
}

// promote makes the standby the primary, as a failover tool does, and waits for the first answers.
func (f *failover) promote() {
	f.T.Helper()
	began := time.Now()
	conn, err := pgx.Connect(f.T.Context(), f.pair.Standby.URL("postgres"))
	require.NoError(f.T, err)
	defer func() { _ = conn.Close(context.Background()) }()
	var promoted bool
	require.NoError(f.T, conn.QueryRow(f.T.Context(), "SELECT pg_promote()").Scan(&promoted))
	require.True(f.T, promoted)
	done := time.Now()
	f.await(1)
	slowest := time.Duration(0)
	for _, kind := range []*promises{&f.seats, &f.joins, &f.tickets} {
		slowest = max(slowest, kind.firstAfter(done).Sub(done))
	}
	f.T.Logf("the promotion took %s; %s after it a seat, a join and a ticket had been acknowledged", done.Sub(began),
		slowest)
	f.crowd.AwaitCount(1, f.crowd.Guests...)
	members := time.Since(done)
	f.T.Logf("and %s after it all members of a lobby's room had one", members)
	require.Less(f.T, slowest, 5*time.Second)
	require.Less(f.T, members, 10*time.Second)
	f.await(50)
	f.stop()
	f.calling.Wait()
	f.crowd.EndAll()
	f.SQLPool.Reset()
}

// lost returns the answers that the database does not keep.
func (f *failover) lost(kind *promises) (lost []promise) {
	f.T.Helper()
	subs, ids := make([]string, len(kind.list)), make([]string, len(kind.list))
	for i, p := range kind.list {
		subs[i], ids[i] = p.sub, p.id
	}
	missing := one[[]bool](f.rig, `SELECT array_agg((`+kind.missing+`) ORDER BY a.n) FROM unnest($1::text[], $2::text[])
		WITH ORDINALITY AS a(sub, id, n)`, subs, ids)
	for i, p := range kind.list {
		if missing[i] {
			lost = append(lost, p)
		}
	}
	return lost
}

// requireNoneTwice requires that each player has one seat or one ticket, and that all members of the room see the same.
func (f *failover) requireNoneTwice() {
	f.T.Helper()
	require.Zero(f.T, one[int](f.rig, "SELECT count(*) FROM (SELECT sub FROM seats GROUP BY sub HAVING count(*) > 1) twice"),
		"players seated twice")
	require.Zero(f.T, one[int](f.rig, `SELECT count(*) FROM (
		SELECT unnest(tickets) FROM match_history GROUP BY 1 HAVING count(*) > 1) twice`), "tickets in two matches")
	counter := one[int](f.rig, "SELECT (state->>'counter')::int FROM lobbies WHERE id = $1", counterRoom)
	f.crowd.RequireSeen(counterRoom, counter, f.crowd.ListMembers(counterRoom)...)
	f.RequireInvariants()
}

func (f *failover) logCounts() {
	f.T.Logf("acknowledged: %d seats, %d joins, %d tickets", f.seats.count(), f.joins.count(), f.tickets.count())
}

// The primary is killed, or cut off without a word, while a synchronous standby follows it. Everything that was
// acknowledged is in the standby, and the replicas find it by themselves.
//
//nolint:paralleltest // it measures
func TestASynchronousStandbyLosesNothing(t *testing.T) {
	for name, vanish := range map[string]func(f *failover){
		"killed":  func(f *failover) { f.killPrimary() },
		"cut off": func(f *failover) { f.toPrimary.Pause(); f.pair.Replication.Pause(); f.killPrimary() },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFailover(t, map[string]string{"synchronous_standby_names": "*"})
			f.await(longtest.Pick(50, 1000))
			vanish(f)
			f.promote()
			for _, kind := range []*promises{&f.seats, &f.joins, &f.tickets} {
				require.Empty(t, f.lost(kind))
			}
			require.Positive(t, f.crowd.CountIn(counterRoom))
			f.requireNoneTwice()
			f.logCounts()
		})
	}
}

// An asynchronous standby has not got the last moments of the primary, which is killed. What was acknowledged in them is
// lost, and nothing else; its players ask again, and have what they get once.
//
//nolint:paralleltest // it measures
func TestAnAsynchronousStandbyLosesItsLag(t *testing.T) {
	longtest.Only(t, "TestASynchronousStandbyLosesNothing")
	f := newFailover(t, nil)
	f.await(longtest.Pick(50, 1000))
	f.logLag()
	lags := time.Now()
	f.pair.Replication.Pause()
	f.await(longtest.Pick(20, 200))
	f.killPrimary()
	killed := time.Now()
	f.promote()
	for name, kind := range map[string]*promises{"seats": &f.seats, "joins": &f.joins, "tickets": &f.tickets} {
		lost := f.lost(kind)
		require.NotEmpty(t, lost, name)
		for _, p := range lost {
			require.WithinRange(t, p.at, lags.Add(-time.Second), killed.Add(time.Second), name)
		}
		t.Logf("%d %s of %s were lost", len(lost), name, killed.Sub(lags))
	}
	f.askAgain(f.lost(&f.seats))
	f.queueAgain(f.lost(&f.tickets))
	f.requireNoneTwice()
	f.logCounts()
}

// logLag logs how far the standby is behind at one moment under load.
func (f *failover) logLag() {
	f.T.Helper()
	f.T.Logf("the standby replays %s later",
		one[time.Duration](f.rig, "SELECT coalesce(replay_lag, '0') FROM pg_stat_replication"))
}

// askAgain lets players whose seats were lost come back, some of them twice: their game server's report is refused, and
// each gets one seat.
func (f *failover) askAgain(lost []promise) {
	f.T.Helper()
	f.ctx = f.T.Context()
	for _, p := range lost[:min(20, len(lost))] {
		report, err := f.reportJoin("a", p.id, p.sub)
		require.NoError(f.T, err)
		require.Equal(f.T, []any{true, 0.0}, []any{report["closed"], report["joined"]}, "the session is lost, too: %v",
			report)
		first, err := f.callUntilDone(p.sub, "/matchmake", fields{"region": "eu", "mode": "duel"})
		require.NoError(f.T, err)
		again, err := f.callUntilDone(p.sub, "/matchmake", fields{"region": "eu", "mode": "duel"})
		require.NoError(f.T, err)
		require.Equal(f.T, first["session_id"], again["session_id"])
		require.NotEqual(f.T, p.id, first["session_id"])
	}
}

// queueAgain lets players whose tickets were lost see it, and queue again.
func (f *failover) queueAgain(lost []promise) {
	f.T.Helper()
	for _, p := range lost[:min(20, len(lost))] {
		status, answer, err := f.CallJSON(f.T.Context(), http.MethodGet, f.NextReplica()+"/tickets/"+p.id,
			f.HeaderOf(p.sub), nil)
		require.NoError(f.T, err)
		require.Equal(f.T, http.StatusNotFound, status, "%v", answer)
		answer, err = f.callUntilDone(p.sub, "/tickets",
			fields{"profiles": []string{"pair"}, "latencies": fields{"eu": 20}})
		require.NoError(f.T, err)
		require.NotEqual(f.T, p.id, answer["ticket_id"])
	}
}
