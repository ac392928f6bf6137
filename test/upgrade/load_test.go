package upgrade

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	rounds sync.Map                   // name of a caller → *atomic.Int64, rounds that it has completed

	ctx  context.Context //nolint:containedctx // of the callers' loops, which end counts down
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu    sync.Mutex
	acked []seat
}

// seat is a seat that a player was given.
type seat struct{ sub, session string }

// newLoad starts the game servers; callers start with run.
func newLoad(r *rigtest.Rig) *load {
	r.T.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(r.T.Context()))
	l := &load{Rig: r, judge: newJudge(), fleet: map[string]*sdk.GameServer{}, ctx: ctx, stop: stop}
	r.T.Cleanup(l.end)
	l.client = must.Get(sdk.New(sdk.Options{URLs: r.ReplicaURLs(), HTTPClient: &http.Client{Transport: l.judge}}))(r.T)
	for n := range servers {
		l.startServer(n)
	}
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
	lists := server.Sessions(l.ctx)
	l.wg.Go(func() {
		for range lists { // a long poll at some replica, all the time
			l.completed(o.InstanceID)
		}
	})
}

// run starts the players.
func (l *load) run() {
	for n := range players {
		l.loop(fmt.Sprint("player-", n), l.playOnce)
	}
	for n := range queuers {
		l.loop(fmt.Sprint("queuer-", n), l.queueOnce)
	}
}

// loop runs rounds of a caller until the load ends. A round that has begun is completed.
func (l *load) loop(name string, round func(ctx context.Context, sub string) error) {
	l.completed(name).Store(0)
	l.wg.Go(func() {
		for n := 0; !l.ended(); n++ {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), callTimeout)
			if err := round(ctx, fmt.Sprintf("%s-%d", name, n)); err != nil {
				l.judge.failf("%s, round %d: %v", name, n, err)
			} else {
				l.completed(name)
			}
			cancel()
			rigtest.PauseFor(l.ctx, 50*time.Millisecond)
		}
	})
}

// completed counts a round of a caller, and returns the counter.
func (l *load) completed(name string) *atomic.Int64 {
	counter, _ := l.rounds.LoadOrStore(name, &atomic.Int64{})
	n := counter.(*atomic.Int64)
	n.Add(1)
	return n
}

func (l *load) player(sub string) *sdk.Player {
	return sdk.NewPlayer(l.client, func(context.Context) (string, error) { return l.PlayerLogin.AccessToken(sub), nil })
}

// playOnce takes a seat, resolves it and plays.
func (l *load) playOnce(ctx context.Context, sub string) error {
	player := l.player(sub)
	match, err := player.Matchmake(ctx, sdk.MatchRequest{Region: "eu", Mode: "duel", MaxPlayers: 4})
	if err != nil {
		return err
	}
	l.got(sub, match.SessionID)
	return l.join(ctx, player, sub, match.Handle)
}

// queueOnce queues alone, and plays when the ticket is assigned. A ticket that waits when the load ends is cancelled,
// because nobody may be left to be matched with.
func (l *load) queueOnce(ctx context.Context, sub string) error {
	player := l.player(sub)
	queued, err := player.Queue(ctx, sdk.TicketRequest{Profiles: []string{"duel"}})
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	status := queued.Status()
	for err == nil && !status.State.Final() {
		status, err = l.next(ctx, queued)
	}
	switch {
	case err != nil:
		return fmt.Errorf("ticket %s: %w", queued.ID(), err)
	case status.State == sdk.QueueAssigned:
		return l.join(ctx, player, sub, status.Handle)
	case status.State == sdk.QueueCancelled && l.ended():
		return nil
	default:
		return fmt.Errorf("ticket %s is %s: %s", queued.ID(), status.State, status.Reason)
	}
}

// next waits for the next state of a ticket, by long polls; when the load ends, it cancels the ticket.
func (l *load) next(ctx context.Context, queued *sdk.Queued) (sdk.QueueStatus, error) {
	if l.ended() {
		status, err := queued.Cancel(ctx)
		if errors.Is(err, sdk.ErrAssigned) || errors.Is(err, sdk.ErrMatched) {
			return queued.Next(ctx)
		}
		return status, err
	}
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	if status, err := queued.Next(wait); err == nil || !l.ended() || ctx.Err() != nil {
		return status, err
	}
	return queued.Status(), nil // the load has ended, and the ticket still waits
}

// join resolves a handle and connects to the game server, which verifies the session token and reports the join.
func (l *load) join(ctx context.Context, player *sdk.Player, sub, handle string) error {
	ticket, err := player.Resolve(ctx, handle)
	if err != nil {
		return err
	}
	l.got(sub, ticket.SessionID)
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

func (l *load) got(sub, session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked = append(l.acked, seat{sub, session})
}

// await waits until every caller has completed n more rounds. It fails at the first failure of any of them.
func (l *load) await(n int64) {
	l.T.Helper()
	target := map[string]int64{}
	for name, rounds := range l.counts() {
		target[name] = rounds + n
	}
	var behind []string
	require.Eventually(l.T, func() bool {
		behind = nil
		for name, rounds := range l.counts() {
			if rounds < target[name] {
				behind = append(behind, name)
			}
		}
		return len(behind) == 0 || len(l.judge.failed()) > 0
	}, 2*callTimeout, 20*time.Millisecond, "callers that make no progress: %v; %v", &behind, l.judge)
	require.Empty(l.T, l.judge.failed())
}

// counts returns how many rounds each caller has completed.
func (l *load) counts() map[string]int64 {
	all := map[string]int64{}
	l.rounds.Range(func(name, counter any) bool {
		all[name.(string)] = counter.(*atomic.Int64).Load()
		return true
	})
	return all
}

func (l *load) ended() bool { return l.ctx.Err() != nil }

// end ends the callers after their rounds.
func (l *load) end() {
	l.stop()
	l.wg.Wait()
}

// requireKept asserts that no request failed, that every seat that a player was given existed, and that no game server
// ever lost its lease.
func (l *load) requireKept(t *testing.T) {
	t.Helper()
	require.Empty(t, l.judge.failed())
	var subs, sessions []string
	for _, s := range l.acked {
		subs, sessions = append(subs, s.sub), append(sessions, s.session)
	}
	require.Empty(t, rigtest.QueryOne[[]string](l.Rig, `
		SELECT coalesce(array_agg(sub || ' in ' || session), '{}') FROM unnest($1::text[], $2::text[]) AS acked(sub, session)
		WHERE NOT EXISTS (SELECT FROM seats st WHERE st.region || '.' || st.session_id = acked.session AND st.sub = acked.sub)
		  AND NOT EXISTS (SELECT FROM seat_history st WHERE st.region || '.' || st.session_id = acked.session AND st.sub = acked.sub)`, subs, sessions),
		"seats that players were given and that do not exist")
	require.Equal(t, servers, rigtest.QueryOne[int](l.Rig,
		"SELECT count(*) FROM events WHERE kind = 'instance.registered' AND instance_id LIKE 'game-%'"),
		"each game server registered once")
	require.Zero(t, rigtest.QueryOne[int](l.Rig, "SELECT count(*) FROM events WHERE kind = 'instance.ended'"),
		"game servers that lost their lease")
	for endpoint, server := range l.fleet {
		require.NoError(t, server.Err(), endpoint)
	}
	require.Greater(t, len(slices.Compact(subs)), 100)
	t.Logf("%d seats given and found; %v", len(subs), l.judge)
}
