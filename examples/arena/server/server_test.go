package server_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lattice-director/director/examples/arena/game"
	"github.com/lattice-director/director/examples/arena/server"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/variant"
	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/sdk/sdktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bundle is a game server that is registered with a fake director.
type bundle struct {
	t        *testing.T
	director *sdktest.Director
	client   *sdk.Client
	server   *server.Server
}

func setup(t *testing.T, edit ...func(*server.Config)) *bundle {
	director := must.Get(sdktest.New(sdktest.Options{FleetToken: "fleet"}))(t)
	web := httptest.NewServer(director)
	t.Cleanup(web.Close)
	client := must.Get(sdk.New(sdk.Options{URLs: []string{web.URL}}))(t)
	t.Cleanup(client.Close)
	cfg := variant.Apply(server.Config{
		Director: client, FleetToken: "fleet", InstanceID: "arena-1", Region: "eu", Modes: []string{"ffa"}, Capacity: 16,
		HeartbeatEvery: 50 * time.Millisecond,
	}, edit...)
	s := must.Get(server.Start(t.Context(), cfg))(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Shutdown(ctx)
	})
	return &bundle{t, director, client, s}
}

func (b *bundle) seat(sub string) sdk.Seat {
	p := sdk.NewPlayer(b.client, func(context.Context) (string, error) { return sub, nil })
	return must.Get(p.Seat(b.t.Context(), sdk.MatchRequest{Region: "eu", Mode: "ffa"}))(b.t)
}

// dial connects and sends a message, unless that is empty.
func (b *bundle) dial(message string) *websocket.Conn {
	ws, _, err := websocket.Dial(b.t.Context(), b.server.Endpoint(), nil)
	require.NoError(b.t, err)
	b.t.Cleanup(func() { _ = ws.CloseNow() })
	if message != "" {
		require.NoError(b.t, ws.Write(b.t.Context(), websocket.MessageText, []byte(message)))
	}
	return ws
}

func hello(token string) string {
	raw, _ := json.Marshal(game.ClientMessage{Type: game.TypeHello, Token: token})
	return string(raw)
}

// join connects a player and waits for the first state of the world.
func (b *bundle) join(seat sdk.Seat) *websocket.Conn {
	ws := b.dial(hello(seat.SessionToken))
	welcome := b.receive(ws)
	require.Equal(b.t, game.TypeWelcome, welcome.Type)
	require.Equal(b.t, "ffa", welcome.Mode)
	require.Equal(b.t, 8, welcome.MaxPlayers)
	require.Equal(b.t, game.TypeState, b.receive(ws).Type)
	return ws
}

func (b *bundle) receive(ws *websocket.Conn) (m game.ServerMessage) {
	_, raw, err := ws.Read(b.t.Context())
	require.NoError(b.t, err)
	require.NoError(b.t, json.Unmarshal(raw, &m))
	return m
}

// awaitClose reads until the server closes the connection, and returns the close code.
func (b *bundle) awaitClose(ws *websocket.Conn) websocket.StatusCode {
	for {
		if _, _, err := ws.Read(b.t.Context()); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

func (b *bundle) eventually(what string, ok func() bool) {
	require.Eventually(b.t, ok, 10*time.Second, 5*time.Millisecond, what)
}

func (b *bundle) connectedPlayers() (subs []string) {
	for _, s := range b.director.Sessions() {
		for sub, isConnected := range s.Seats {
			if isConnected {
				subs = append(subs, sub)
			}
		}
	}
	return subs
}

// The whole life of a player: admitted, seen by the director, moved by its own steering, gone.
func TestPlayerPlays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ws := b.join(b.seat("alice"))
	require.Equal(t, []string{"alice"}, b.connectedPlayers())
	require.Equal(t, 1, b.server.Players())
	steer := `{"type":"steer","heading":{"x":1e300,"y":0}}`
	require.NoError(t, ws.Write(t.Context(), websocket.MessageText, []byte(steer)))
	at := b.receive(ws).State.Players[0].Position
	for range 100 {
		now := b.receive(ws).State.Players[0].Position
		require.LessOrEqual(t, now.Distance(at), game.Speed*game.TickEvery.Seconds()+1e-9, "nobody runs faster by asking")
		at = now
		if at.X == game.Size {
			break
		}
	}
	require.InDelta(t, game.Size, at.X, 0)
	require.NoError(t, ws.Close(websocket.StatusNormalClosure, ""))
	b.eventually("the seat is free", func() bool { return len(b.connectedPlayers()) == 0 && b.server.Players() == 0 })
	b.eventually("the load follows", func() bool { return b.director.Instances()["arena-1"].Load == 0 })
}

// Two players of one session see each other.
func TestPlayersSeeEachOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	alice, bob := b.join(b.seat("alice")), b.join(b.seat("bob"))
	for _, ws := range []*websocket.Conn{alice, bob} {
		for len(b.receive(ws).State.Players) != 2 {
		}
	}
	b.eventually("the load says so", func() bool { return b.director.Instances()["arena-1"].Load == 2.0/16 })
}

// Connections without a valid token are refused.
func TestRefusesConnectionsWithoutAValidToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	seat := b.seat("alice")
	for name, message := range map[string]string{
		"no token": hello(""), "garbage": hello("a.b.c"), "cut": hello(seat.SessionToken[:len(seat.SessionToken)-8]),
		"no hello": `{"type":"steer"}`, "no JSON": `hello`,
	} {
		require.Equal(t, game.StatusRefused, b.awaitClose(b.dial(message)), name)
	}
	require.Equal(t, websocket.StatusMessageTooBig, b.awaitClose(b.dial(hello(string(make([]byte, game.MaxMessage))))))
	require.Empty(t, b.connectedPlayers())
	b.join(seat)
	require.Equal(t, game.StatusRefused, b.awaitClose(b.dial(hello(seat.SessionToken))), "a replay while its owner plays")
	require.Equal(t, []string{"alice"}, b.connectedPlayers())
}

// A connection that sends nothing is closed.
func TestSilentConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.HelloTimeout = 30 * time.Millisecond })
	ws := b.dial("")
	_, _, err := ws.Read(t.Context())
	require.Error(t, err)
}

// A player whose connection broke unnoticed connects again; the end of the old connection must not end the new one.
func TestSecondConnectionReplacesTheFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.join(b.seat("alice"))
	second := b.join(b.seat("alice"))
	require.Equal(t, game.StatusReplaced, b.awaitClose(first))
	for range 3 {
		require.Len(t, b.receive(second).State.Players, 1)
	}
	require.Equal(t, []string{"alice"}, b.connectedPlayers())
}

// A session without players ends, although a seat in it is still reserved.
func TestEmptySessionsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.EmptyFor = 20 * time.Millisecond })
	alice := b.seat("alice")
	late := b.seat("bob")
	ws := b.join(alice)
	require.NoError(t, ws.Close(websocket.StatusNormalClosure, ""))
	b.eventually("the session is closed", func() bool { return b.director.Sessions()[0].Closed })
	code := b.awaitClose(b.dial(hello(late.SessionToken)))
	require.Equal(t, game.StatusRefused, code)
}

// The director has ended the instance: the server sends its players to be matched again, and registers again.
func TestLostSessionsSendPlayersAway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ws := b.join(b.seat("alice"))
	b.director.Expire("arena-1")
	require.Equal(t, game.StatusSessionEnded, b.awaitClose(ws))
	b.eventually("registered again", func() bool { return len(b.director.Instances()) == 1 })
	b.join(b.seat("alice"))
}

// A server that shuts down disconnects the players that do not leave, and deregisters.
func TestShutdownSendsPlayersAway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ws := b.join(b.seat("alice"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	code := make(chan websocket.StatusCode)
	go func() { code <- b.awaitClose(ws) }()
	require.NoError(t, b.server.Shutdown(ctx))
	require.Equal(t, websocket.StatusGoingAway, <-code)
	require.Empty(t, b.director.Instances())
}

// Pins a message that makes a position NaN, which JSON cannot encode: no player of the room would get a state any more.
func FuzzClientMessage(f *testing.F) {
	f.Add([]byte(`{"type":"steer","heading":{"x":1.7e308,"y":-1.7e308}}`))
	f.Add([]byte(`{"type":"steer","heading":{"x":-0,"y":1e-320}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m game.ClientMessage
		if json.Unmarshal(raw, &m) != nil {
			return
		}
		w := game.NewWorld(1)
		w.Join("alice")
		w.Steer("alice", m.Heading)
		w.Step()
		_, err := json.Marshal(w.State())
		require.NoError(t, err)
	})
}
