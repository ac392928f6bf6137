package faults

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
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

// failover is an installation whose processes know a primary and its standby, while players and game servers are
// active.
type failover struct {
	*rig

	pair      dbtest.Pair
	toPrimary *dbtest.Proxy // through which everybody but the standby reaches the primary
	// The answers that players and game servers got.
	seats, joins, tickets rigtest.Answers

	callers *rigtest.Callers
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
	f.seats.Missing, f.seats.Rig = rigtest.NoSeat, f.rig.Rig
	f.joins.Missing, f.joins.Rig = `NOT EXISTS (SELECT FROM seats
		WHERE region || '.' || session_id = a.id AND sub = a.sub AND state = 'connected')`, f.rig.Rig
	f.tickets.Missing, f.tickets.Rig = `NOT EXISTS (SELECT FROM tickets WHERE id = a.id)
		AND NOT EXISTS (SELECT FROM ticket_events WHERE ticket_id = a.id)`, f.rig.Rig
	first, second := f.ServeLobby("--work"), f.ServeLobby()
	f.StartProcess("work")
	f.ApplyProfile("name: pair\nmode: duel\nteams: [{name: all, players: 2}]\n")
	f.KeepAlive(time.Second, "a", "b", "c")
	f.crowd = f.NewCrowd(first.Lobby, second.Lobby)
	for _, at := range []*rigtest.LobbyReplica{first, second, first, second} {
		f.crowd.AddGuest(at.Lobby, counterRoom)
	}
	f.callers = rigtest.NewCallers(t)
	f.callers.Add(longtest.Pick(16, 64), f.call)
	return f
}

// address is a database URL that names both servers, the primary first, as the documentation tells operators to do.
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

var pairTicket = fields{"profiles": []string{"pair"}, "latencies": fields{"eu": 20}}

// call lets a new player get a seat and join, or queue.
func (f *failover) call(ctx context.Context, caller, turn int) {
	sub := fmt.Sprintf("p-%d-%d", caller, turn)
	if turn%3 == 0 {
		answer := f.PlayUntilDone(ctx, sub, "/tickets", pairTicket)
		if answer != nil {
			f.tickets.Add(sub, answer["ticket_id"].(string))
		}
		return
	}
	answer := f.PlayUntilDone(ctx, sub, "/matchmake", fields{"region": "eu", "mode": "duel"})
	if answer == nil {
		return
	}
	session := answer["session_id"].(string)
	f.seats.Add(sub, session)
	instance := strings.TrimSuffix(answer["endpoint"].(string), ":7777")
	if report, err := f.reportJoin(instance, session, sub); err == nil && report["joined"] == 1.0 {
		f.joins.Add(sub, session)
	}
}

// reportJoin returns the answer of one replica to the report of a game server.
func (f *failover) reportJoin(instance, session, sub string) (fields, error) {
	_, answer, err := f.PostFleet("/fleet/seats", fields{"instance_id": instance, "session_id": session,
		"joined": []fields{{"sub": sub, "jti": "jti-" + sub}}})
	return answer, err
}

// answersByKind returns the answers that were acknowledged.
func (f *failover) answersByKind() map[string]*rigtest.Answers {
	return map[string]*rigtest.Answers{"seats": &f.seats, "joins": &f.joins, "tickets": &f.tickets}
}

// await waits for n more answers of each kind.
func (f *failover) await(n int) {
	f.T.Helper()
	for _, kind := range f.answersByKind() {
		kind.Await(n)
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
	for _, kind := range f.answersByKind() {
		slowest = max(slowest, kind.ListAfter(done)[0].GotAt.Sub(done))
	}
	f.T.Logf("the promotion took %s; %s after it a seat, a join and a ticket had been acknowledged", done.Sub(began),
		slowest)
	f.crowd.AwaitCount(1, f.crowd.Guests...)
	guestsAfter := time.Since(done)
	f.T.Logf("and %s after it all members of a lobby's room had an answer", guestsAfter)
	require.Less(f.T, slowest, 5*time.Second)
	require.Less(f.T, guestsAfter, 10*time.Second)
	f.await(50)
	f.callers.End()
	f.crowd.EndAll()
	f.SQLPool.Reset()
}

// requireNoneTwice requires that each player has one seat or one ticket, and that all members of the room see the same.
func (f *failover) requireNoneTwice() {
	f.T.Helper()
	f.requireNone("players seated twice", seatedTwice)
	f.requireNone("tickets in two matches", "SELECT unnest(tickets) FROM match_history GROUP BY 1 HAVING count(*) > 1")
	counter := one[int](f.rig, "SELECT (state->>'counter')::int FROM lobbies WHERE id = $1", counterRoom)
	f.crowd.RequireSeen(counterRoom, counter, f.crowd.ListMembers(counterRoom)...)
	f.RequireInvariants()
}

func (f *failover) logCounts() {
	f.T.Logf("acknowledged: %d seats, %d joins, %d tickets", f.seats.Count(), f.joins.Count(), f.tickets.Count())
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
			if name == "killed" {
				longtest.Only(t, "cut off")
			}
			f := newFailover(t, map[string]string{"synchronous_standby_names": "*"})
			f.await(longtest.Pick(50, 1000))
			vanish(f)
			f.promote()
			for name, kind := range f.answersByKind() {
				require.Empty(t, kind.FindLost(), name)
			}
			require.Positive(t, f.crowd.CountIn(counterRoom))
			f.requireNoneTwice()
			f.logCounts()
		})
	}
}

// An asynchronous standby has not got the last moments of the primary, which is killed. What was acknowledged in them
// is lost, and nothing else; its players ask again, and have what they get once.
//
//nolint:paralleltest // it measures
func TestAnAsynchronousStandbyLosesItsLag(t *testing.T) {
	longtest.Only(t, "TestASynchronousStandbyLosesNothing")
	f := newFailover(t, nil)
	f.await(longtest.Pick(50, 1000))
	t.Logf("the standby replays %s later", one[time.Duration](f.rig, "SELECT coalesce(replay_lag, '0') FROM pg_stat_replication"))
	lagBegan := time.Now()
	f.pair.Replication.Pause()
	f.await(longtest.Pick(20, 200))
	f.killPrimary()
	killed := time.Now()
	f.promote()
	for name, kind := range f.answersByKind() {
		lost := kind.FindLost()
		require.NotEmpty(t, lost, name)
		for _, p := range lost {
			require.WithinRange(t, p.GotAt, lagBegan.Add(-time.Second), killed.Add(time.Second), name)
		}
		t.Logf("%d %s of %s were lost", len(lost), name, killed.Sub(lagBegan))
	}
	lost := f.seats.FindLost()
	// The report of a game server is refused, and a player who asks twice gets one seat. The session was lost as well, but
	// for one that had some of its players before the lag began.
	for _, p := range lost[:min(20, len(lost))] {
		report, err := f.reportJoin("a", p.ID, p.Sub)
		require.NoError(t, err)
		require.Zero(t, report["joined"], "%v", report)
		if report["closed"] == false {
			require.Equal(t, "unknown", report["results"].([]any)[0].(map[string]any)["result"], "%v", report)
		}
		first := f.PlayUntilDone(t.Context(), p.Sub, "/matchmake", fields{"region": "eu", "mode": "duel"})
		again := f.PlayUntilDone(t.Context(), p.Sub, "/matchmake", fields{"region": "eu", "mode": "duel"})
		require.Equal(t, first["session_id"], again["session_id"])
		require.NotEqual(t, p.ID, first["session_id"])
	}
	lost = f.tickets.FindLost()
	for _, p := range lost[:min(20, len(lost))] {
		f.RequireStatus(http.StatusNotFound)(f.CallJSON(t.Context(), http.MethodGet, f.NextReplica()+"/tickets/"+p.ID,
			f.HeaderOf(p.Sub), nil))
		require.NotEqual(t, p.ID, f.PlayUntilDone(t.Context(), p.Sub, "/tickets", pairTicket)["ticket_id"])
	}
	f.requireNoneTwice()
	f.logCounts()
}
