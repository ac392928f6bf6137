package upgrade

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/test/rigtest"
)

const (
	// callTimeout bounds a caller's request with all its retries, on a machine that runs all tests at once.
	callTimeout = 30 * time.Second
	servers     = 3
	players     = 6
	queuers     = 4 // even, because a match takes two
)

// load is game servers and players with the Go SDK, which retries as the documentation says.
type load struct {
	*rigtest.Rig

	judge  *judge
	client *sdk.Client
	fleet  map[string]*sdk.GameServer // by endpoint

	callers *rigtest.Callers
	seats   rigtest.Answers // the seats that players got

	mu     sync.Mutex
	rounds map[string]int // how many rounds a caller has completed, by its name
}

// newLoad starts the game servers; startPlayers starts the players.
func newLoad(r *rigtest.Rig) *load {
	r.T.Helper()
	l := &load{Rig: r, judge: newJudge(), fleet: map[string]*sdk.GameServer{}, rounds: map[string]int{}}
	l.seats.Rig, l.seats.Missing = r, rigtest.NoSeat+" AND "+strings.Replace(rigtest.NoSeat, "seats", "seat_history", 1)
	l.client = must.Get(sdk.New(sdk.Options{URLs: r.ReplicaURLs(), HTTPClient: &http.Client{Transport: l.judge}}))(r.T)
	for n := range servers {
		l.startServer(n)
	}
	l.callers = rigtest.NewCallers(r.T)
	return l
}

func (l *load) startServer(n int) {
	l.T.Helper()
	o := sdk.ServerOptions{
		InstanceID: fmt.Sprint("game-", n), Endpoint: fmt.Sprintf("127.0.0.1:%d", 7000+n), Region: "eu",
		Modes: []string{"duel"}, Capacity: 10_000,
		FleetToken: rigtest.FleetToken, HeartbeatEvery: time.Second,
	}
	server := must.Get(sdk.Start(l.T.Context(), l.client, o))(l.T)
	l.fleet[o.Endpoint] = server
	l.T.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Close(ctx)
	})
	background.Loop(l.T, func(ctx context.Context) {
		for range server.Sessions(ctx) { // a long poll at some replica, all the time
			l.addRounds(o.InstanceID, 1)
		}
	})
}

// startPlayers starts the players.
func (l *load) startPlayers() {
	for n := range players {
		l.addCaller(fmt.Sprint("player-", n), l.playOnce)
	}
	for n := range queuers {
		l.addCaller(fmt.Sprint("queuer-", n), l.queueOnce)
	}
}

// addCaller runs rounds of a caller until the load ends. A round that has begun is completed.
func (l *load) addCaller(name string, round func(ctx context.Context, sub string) error) {
	l.addRounds(name, 0)
	l.callers.Add(1, func(ctx context.Context, _, n int) {
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer cancel()
		if err := round(call, fmt.Sprintf("%s-%d", name, n)); err != nil {
			l.judge.failf("%s, round %d: %v", name, n, err)
		} else {
			l.addRounds(name, 1)
		}
		rigtest.PauseFor(ctx, 50*time.Millisecond)
	})
}

// addRounds counts rounds of a caller.
func (l *load) addRounds(name string, rounds int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rounds[name] += rounds
}

// playOnce takes a seat, resolves it and plays.
func (l *load) playOnce(ctx context.Context, sub string) error {
	player := l.NewPlayer(l.client, sub)
	match, err := player.Matchmake(ctx, sdk.MatchRequest{Region: "eu", Mode: "duel", MaxPlayers: 4})
	if err != nil {
		return err
	}
	l.seats.Add(sub, match.SessionID)
	return l.join(ctx, player, sub, match.Handle)
}

// queueOnce queues alone, and plays when the ticket is assigned. A ticket that waits when the load ends is cancelled,
// because nobody may be left to be matched with.
func (l *load) queueOnce(ctx context.Context, sub string) error {
	player := l.NewPlayer(l.client, sub)
	queued, err := player.Queue(ctx, sdk.TicketRequest{Profiles: []string{"duel"}})
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	status := queued.Status()
	for !status.State.Final() {
		status, err = l.nextStatus(ctx, queued)
		if err != nil {
			return fmt.Errorf("ticket %s: %w", queued.ID(), err)
		}
	}
	switch {
	case status.State == sdk.QueueAssigned:
		return l.join(ctx, player, sub, status.Handle)
	case status.State == sdk.QueueCancelled && l.hasEnded():
		return nil
	default:
		return fmt.Errorf("ticket %s is %s: %s", queued.ID(), status.State, status.Reason)
	}
}

// nextStatus waits for the next state of a ticket, by long polls; when the load ends, it cancels the ticket.
func (l *load) nextStatus(ctx context.Context, queued *sdk.Queued) (sdk.QueueStatus, error) {
	if l.hasEnded() {
		status, err := queued.Cancel(ctx)
		if errors.Is(err, sdk.ErrAssigned) || errors.Is(err, sdk.ErrMatched) {
			return queued.Next(ctx)
		}
		return status, err
	}
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.callers.Context(), cancel)()
	status, err := queued.Next(wait)
	if err != nil && l.hasEnded() && ctx.Err() == nil {
		return queued.Status(), nil // the load has ended, and the ticket still waits
	}
	return status, err
}

// join resolves a handle and connects to the game server, which verifies the session token and reports the join.
func (l *load) join(ctx context.Context, player *sdk.Player, sub, handle string) error {
	ticket, err := player.Resolve(ctx, handle)
	if err != nil {
		return err
	}
	l.seats.Add(sub, ticket.SessionID)
	server := l.fleet[ticket.Endpoint]
	if server == nil {
		return fmt.Errorf("no game server has the endpoint %s", ticket.Endpoint)
	}
	admitted, err := server.Admit(ctx, ticket.SessionToken)
	if err != nil {
		return fmt.Errorf("admit: %w", err)
	}
	admitted.Leave()
	return nil
}

// awaitRounds waits until every caller has completed n more rounds. It fails at the first failure of any of them.
func (l *load) awaitRounds(n int) {
	l.T.Helper()
	before := l.roundsByCaller()
	var behind []string
	require.Eventually(l.T, func() bool {
		behind = nil
		now := l.roundsByCaller()
		for name, rounds := range before {
			if now[name] < rounds+n {
				behind = append(behind, name)
			}
		}
		return len(behind) == 0 || len(l.judge.firstFailures()) > 0
	}, 2*callTimeout, 20*time.Millisecond, "callers that make no progress: %v; %v", &behind, l.judge)
	require.Empty(l.T, l.judge.firstFailures())
}

func (l *load) roundsByCaller() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.rounds)
}

func (l *load) hasEnded() bool { return l.callers.Context().Err() != nil }

// requireKept asserts that no request failed, that every seat that a player was given existed, and that no game server
// ever lost its lease.
func (l *load) requireKept(t *testing.T) {
	t.Helper()
	require.Empty(t, l.judge.firstFailures())
	require.Empty(t, l.seats.FindLost(), "seats that players were given and that do not exist")
	require.Equal(t, servers, rigtest.QueryOne[int](l.Rig,
		"SELECT count(*) FROM events WHERE kind = 'instance.registered' AND instance_id LIKE 'game-%'"),
		"each game server registered once")
	require.Zero(t, rigtest.QueryOne[int](l.Rig, "SELECT count(*) FROM events WHERE kind = 'instance.ended'"),
		"game servers that lost their lease")
	for endpoint, server := range l.fleet {
		require.NoError(t, server.Err(), endpoint)
	}
	require.Greater(t, l.seats.Count(), 200)
	t.Logf("%d seats given and found; %v", l.seats.Count(), l.judge)
}
