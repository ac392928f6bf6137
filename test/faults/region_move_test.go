package faults

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/test/rigtest"
)

// cell is an installation with a Postgres of its own.
type cell struct {
	*rig

	name    string
	replica *process
}

// movingRegion is region eu, which moves between europe and america. Players and game servers know the address of asia.
type movingRegion struct {
	*testing.T

	europe, america, asia *cell
	servers               []*sdk.GameServer
	playing               []*sdk.Admission

	seats rigtest.Answers

	mu      sync.Mutex
	begunAt time.Time     // of the present move
	slowest time.Duration // of the calls that began since then: an earlier one may have met the crash
}

// A region moves while players ask for seats and play: its cell is killed in the middle of the copy, with the command,
// then the move is finished, and then the region moves back. Nobody loses a call or a seat, or has two, and each player
// in a session stays connected.
//
//nolint:paralleltest // it promises a second
func TestARegionMovesUnderLoad(t *testing.T) {
	m := newMovingRegion(t)
	client := m.client()
	for i := range longtest.Pick(50, 1000) {
		m.connect(client, fmt.Sprintf("plays-%d", i))
	}
	callers := m.askForSeats(longtest.Pick(60, 300))

	command := m.europe.StartProcess(m.moveCommand(m.europe, m.america)...)
	m.europe.AwaitTrue("SELECT EXISTS (SELECT FROM region_moves WHERE step = 'copying')")
	command.Process.Kill()
	m.europe.replica.Process.Kill()
	require.NoError(t, m.europe.Cluster.StopImmediate())
	require.NoError(t, m.europe.Cluster.Start(t.Context()))
	m.europe.replica = m.europe.StartReplica(strings.TrimPrefix(m.europe.replica.URL, "http://"), "--work")
	m.europe.AwaitReady(m.europe.replica)
	m.europe.SQLPool.Reset() // its connections are those of the server that was killed
	m.europe.AwaitTrue("SELECT count(*) = 1 FROM region_moves")
	t.Logf("killed at step %s", one[string](m.europe.rig, "SELECT step FROM region_moves"))
	m.finish(m.europe, m.america, "there")
	m.finish(m.america, m.europe, "back")
	callers.End()
	// One seat for each player who got one, in the session that the answer named, and in one cell.
	require.Empty(t, m.seats.FindLost(), "players without their seat, or with two")
	require.Equal(t, m.seats.Count(), one[int](m.europe.rig, "SELECT count(*) FROM seats"))
	require.Equal(t, len(m.playing), one[int](m.europe.rig, "SELECT count(*) FROM seats WHERE state = 'connected'"))
	for _, c := range []*cell{m.america, m.asia} {
		require.Zero(t, one[int](c.rig, "SELECT count(*) FROM seats"), c.name)
	}
	for _, s := range m.servers {
		require.NoError(t, s.Err())
	}
	for _, a := range m.playing {
		require.NoError(t, a.Err(), a.Sub)
	}
	for _, c := range []*cell{m.europe, m.america, m.asia} {
		c.RequireInvariants()
	}
	t.Logf("%d seats, %d of them of players in sessions: 0 lost, 0 doubled", m.seats.Count(), len(m.playing))
}

func newMovingRegion(t *testing.T) *movingRegion {
	t.Helper()
	m := &movingRegion{T: t}
	m.europe = m.newCell("europe")
	m.seats.Rig, m.seats.Missing = m.europe.Rig, rigtest.NoSeat+" OR (SELECT count(*) FROM seats st WHERE st.sub = a.sub) <> 1"
	m.america = m.newCell("america")
	m.asia = m.newCell("asia")
	m.asia.ExecSQL("SELECT ops.set_cell('europe', $1, '{eu}', 'test')", m.europe.replica.URL)
	require.Eventually(t, func() bool { // until asia has read the cell, it serves the region itself
		status, _, err := m.asia.PostPlay("early", "/matchmake", fields{"region": "eu", "mode": "duel", "max_players": 64})
		return err == nil && status == http.StatusMisdirectedRequest
	}, time.Minute, 10*time.Millisecond)
	for _, id := range []string{"eu-1", "eu-2"} {
		s, err := sdk.Start(t.Context(), m.client(),
			sdk.ServerOptions{InstanceID: id, Endpoint: id + ".example:7777", Region: "eu",
				Modes: []string{"duel"}, Capacity: 100_000, FleetToken: fleetToken, HeartbeatEvery: time.Second})
		require.NoError(t, err)
		t.Cleanup(func() { _ = s.Close(context.Background()) })
		m.servers = append(m.servers, s)
	}
	return m
}

func (m *movingRegion) newCell(name string) *cell {
	m.Helper()
	cluster := dbtest.NewMigratedCluster(m.T,
		pglocal.Options{Durable: true, Settings: map[string]string{"wal_level": "logical"}})
	r := rigtest.NewRigOn(m.T, clitest.BuildDirector(m.T), cluster.URL("postgres"), "DIRECTOR_SEAT_TTL=1h",
		"DIRECTOR_PLAYER_RATE=0")
	r.Cluster = cluster
	if m.europe != nil { // one login for all
		r.PlayerLogin = m.europe.PlayerLogin
		r.NextEnv = append(r.NextEnv, "DIRECTOR_AUTH_JWKS="+r.PlayerLogin.Set)
	}
	return &cell{&rig{r}, name, r.ServeReplica("--work")}
}

// client returns a client of the SDK that knows the address of asia alone.
func (m *movingRegion) client() *sdk.Client {
	m.Helper()
	client, err := sdk.New(sdk.Options{URLs: []string{m.asia.replica.URL}, AttemptTimeout: 3 * time.Second})
	require.NoError(m.T, err)
	m.Cleanup(client.Close)
	return client
}

var duelOf64 = sdk.MatchRequest{Region: "eu", Mode: "duel", MaxPlayers: 64}

// connect seats a player, who connects to the game server and stays.
func (m *movingRegion) connect(client *sdk.Client, sub string) {
	m.Helper()
	ctx, cancel := context.WithTimeout(m.Context(), 30*time.Second)
	defer cancel()
	seat, err := m.europe.NewPlayer(client, sub).Seat(ctx, duelOf64)
	require.NoError(m.T, err)
	for _, s := range m.servers {
		if s.Endpoint() == seat.Endpoint {
			admission, err := s.Admit(ctx, seat.SessionToken)
			require.NoError(m.T, err, sub)
			m.playing = append(m.playing, admission)
		}
	}
	m.seats.Add(sub, seat.SessionID)
}

// askForSeats starts callers that together ask for so many seats each second, each for another player.
func (m *movingRegion) askForSeats(perSecond int) (all *rigtest.Callers) {
	const callers = 30
	all = rigtest.NewCallers(m.T)
	for caller := range callers {
		client := m.client()
		all.Add(1, func(ctx context.Context, _, turn int) {
			next := time.After(time.Second * callers / time.Duration(perSecond))
			m.ask(ctx, client, fmt.Sprintf("asks-%d-%d", caller, turn))
			select {
			case <-next:
			case <-ctx.Done():
			}
		})
	}
	return all
}

// ask asks for a seat, and ends the call only after a minute: a call that was cut off may have seated its player.
func (m *movingRegion) ask(ctx context.Context, client *sdk.Client, sub string) {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	began := time.Now()
	match, err := m.europe.NewPlayer(client, sub).Matchmake(call, duelOf64)
	if err != nil && m.T.Context().Err() != nil {
		return // the test has ended
	}
	if err != nil {
		m.Errorf("%s: %v", sub, err)
		return
	}
	m.seats.Add(sub, match.SessionID)
	m.mu.Lock()
	defer m.mu.Unlock()
	if began.After(m.begunAt) {
		m.slowest = max(m.slowest, time.Since(began))
	}
}

func (m *movingRegion) moveCommand(from, to *cell) []string {
	return []string{"regions", "move", "eu", "--to", to.Cluster.URL("postgres"), "--also",
		m.asia.Cluster.URL("postgres"), "--cell", to.name,
		"--address", to.replica.URL, "--here", from.name, "--here-address", from.replica.URL, "--reason", "test",
		"--yes"}
}

// finish moves the region, and measures for how long nobody was served.
func (m *movingRegion) finish(from, to *cell, way string) {
	m.Helper()
	began := time.Now()
	m.mu.Lock()
	m.begunAt, m.slowest = began, 0
	m.mu.Unlock()
	from.RunCommand(m.moveCommand(from, to)...)
	refused := one[int](from.rig, "SELECT (detail ->> 'refused_ms')::int FROM events WHERE kind = 'region.left' ORDER BY at DESC LIMIT 1")
	m.connect(m.client(), "plays-"+way)
	gap := rigtest.LongestGap(began, &m.seats)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Logf("%s: refused for %d ms, %s between two answers, the slowest call %s, %d calls", way, refused, gap,
		m.slowest, m.seats.Count())
	require.Less(m.T, refused, 1000)
	require.Less(m.T, gap, 2*time.Second)
	// A call during the flip is held until the flip is over. With Retry-After alone, it would wait for a second.
	require.Less(m.T, m.slowest, time.Second)
	require.Zero(m.T, one[int](from.rig, "SELECT count(*) FROM seats"))
}
