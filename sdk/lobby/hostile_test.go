package lobby_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/sdk/lobby"
)

const welcome = `{"v":1,"t":"handshake.ok","p":{"session_id":"s-1","resumed":false}}`

// standIn stands in for a replica: it answers the handshake of connection n with what first returns, and each further
// frame with what answer returns. "" cuts the connection.
func standIn(t *testing.T, first func(n int32) string, answer func(frame string) []string) (url string) {
	t.Helper()
	var connections atomic.Int32
	return webtest.ServeWebSocket(t, nil, func(ws *websocket.Conn, r *http.Request) {
		replies := []string{first(connections.Add(1))}
		for _, raw, err := ws.Read(r.Context()); err == nil; _, raw, err = ws.Read(r.Context()) {
			if replies == nil {
				replies = answer(string(raw))
			}
			for _, reply := range replies {
				if reply == "" || ws.Write(r.Context(), websocket.MessageText, []byte(reply)) != nil {
					return
				}
			}
			replies = nil
		}
	})
}

func accepted(int32) string { return welcome }

// dial connects a client with short pauses.
func dial(t *testing.T, url string) *guest {
	t.Helper()
	return connectWith(t, "guest", lobby.Options{URLs: []string{url}, FirstBackoff: time.Millisecond,
		MaxBackoff: 5 * time.Millisecond})
}

// rid returns the rid of a request.
func rid(frame string) string {
	_, rest, _ := strings.Cut(frame, `"rid":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

func ok(frame, more string) string {
	return `{"v":1,"t":"rpc.response","rid":"` + rid(frame) + `","p":{"ok":true` + more + `}}`
}

// What no director sends neither ends the process nor the session, and fills no memory.
func TestWhatNoDirectorSends(t *testing.T) {
	t.Parallel()
	garbage := []string{
		"{]", "null", "[]", `{"v":1}`, `{"v":1,"t":"rpc.response","rid":"99","p":{"ok":true}}`, `{"v":1,"t":"state.patch","room":"r","p":7}`,
		`{"v":1,"t":"state.snapshot","room":"r","p":{"seq":"x"}}`, `{"v":1,"t":"room.members","room":"r","p":[]}`, `{"v":1,"t":"room.left","room":"r","p":7}`,
		`{"v":1,"t":"match.found","p":7}`, `{"v":1,"t":"news","room":"r","p":{"a":1}}`,
	}
	g := dial(t, standIn(t, accepted, func(frame string) []string { return append(garbage, ok(frame, "")) }))
	require.NoError(t, g.Call(within(t), "echo", "", nil, nil))
	unknown := heard[lobby.Unknown](g)
	require.Equal(t, "news", unknown[len(unknown)-1].Type)
	require.Len(t, heard[lobby.Connected](g), 1)
	require.Zero(t, g.Room("r").State().Seq)

	flood := dial(t, standIn(t, accepted, func(string) []string { return []string{strings.Repeat("x", 2<<20)} }))
	require.ErrorIs(t, flood.Call(within(t), "echo", "", nil, nil), lobby.ErrUncertain)
	require.NoError(t, flood.Await(within(t), func() bool { return len(heard[lobby.Connected](flood)) == 2 }))
}

// A lost answer of a request that may be carried out twice repeats it; of any other it is an error.
func TestALostAnswer(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	g := dial(t, standIn(t, accepted, func(frame string) []string {
		if asked.Add(1)%2 == 1 {
			return []string{""}
		}
		return []string{ok(frame, `,"removed":true`)}
	}))
	removed, err := g.Dequeue(within(t))
	require.NoError(t, err)
	require.True(t, removed)
	require.EqualValues(t, 2, asked.Load())
	require.ErrorIs(t, g.Room("r").Say(within(t), "x"), lobby.ErrUncertain)
	require.EqualValues(t, 3, asked.Load())
}

// A request without an answer ends with its context, and the client goes on.
func TestARequestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	g := dial(t, standIn(t, accepted, func(string) []string { return nil }))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	require.ErrorIs(t, g.Call(ctx, "echo", "", nil, nil), context.Canceled)
	require.True(t, g.Status().Connected)
}

// The client keeps the pause that a refusal asks for.
func TestARateLimit(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	g := dial(t, standIn(t, accepted, func(frame string) []string {
		if asked.Add(1) > 1 {
			return []string{ok(frame, "")}
		}
		return []string{`{"v":1,"t":"rpc.response","rid":"` + rid(frame) + `","p":{"ok":false,"error":"rate limited","code":"rate_limited","retry_after_ms":200}}`}
	}))
	began := time.Now()
	require.NoError(t, g.Room("r").Ready(within(t), true))
	require.GreaterOrEqual(t, time.Since(began), 200*time.Millisecond)
}

// A patch whose predecessor is missing asks for a snapshot; an old one changes nothing.
func TestStates(t *testing.T) {
	t.Parallel()
	patch := func(seq, op string) string {
		return `{"v":1,"t":"state.patch","room":"r","p":{"seq":` + seq + `,"ops":[` + op + `]}}`
	}
	var resyncs atomic.Int32
	g := dial(t, standIn(t, accepted, func(frame string) []string {
		if strings.Contains(frame, "state.ack") {
			return nil
		}
		if strings.Contains(frame, "state.resync") {
			resyncs.Add(1)
			return []string{`{"v":1,"t":"state.snapshot","room":"r","p":{"seq":7,"state":{"a/b~":2,"x":1}}}`}
		}
		return []string{
			`{"v":1,"t":"state.snapshot","room":"r","p":{"seq":2,"state":{"a/b~":1,"gone":1}}}`, patch("2", `{"op":"set","path":"/old","value":1}`),
			patch("3", `{"op":"set","path":"/a~1b~0","value":5},{"op":"del","path":"/gone"}`), ok(frame, ""), patch("5", `{"op":"set","path":"/x","value":9}`),
		}
	}))
	require.NoError(t, g.Call(within(t), "echo", "", nil, nil))
	g.eventually("r", "the snapshot", func(s lobby.State) bool { return s.Seq == 7 })
	require.Equal(t, "2", string(g.Room("r").State().Values["a/b~"]))
	require.EqualValues(t, 1, resyncs.Load())
	require.Len(t, heard[lobby.StateChanged](g), 3)
}

// A repeated message that was heard is not published twice.
func TestRepeatedMessages(t *testing.T) {
	t.Parallel()
	say := func(id string, repeated bool) string {
		return fmt.Sprintf(`{"v":1,"t":"room.message","room":"r","p":{"type":"say","data":null,"id":%q,"repeated":%v}}`, id, repeated)
	}
	g := dial(t, standIn(t, accepted, func(frame string) []string {
		if strings.Contains(frame, "state.ack") {
			return nil
		}
		return []string{
			`{"v":1,"t":"state.snapshot","room":"r","p":{"seq":1,"state":{}}}`, say("9.0", false), say("10.0", false), say("9.0", true),
			say("10.0", true), say("10.1", true), say("11.0", true), say("12.0", false), ok(frame, ""),
		}
	}))
	require.NoError(t, g.Call(within(t), "echo", "", nil, nil))
	var ids []string
	for _, m := range heard[lobby.Message](g) {
		ids = append(ids, m.ID)
	}
	require.Equal(t, []string{"9.0", "10.0", "10.1", "11.0", "12.0"}, ids)
}

// A token that was refused is asked for once more, and the client ends when it is the same.
func TestARefusedToken(t *testing.T) {
	t.Parallel()
	refused := `{"v":1,"t":"error","p":{"reason":"token verification failed: token expired","code":"token_refused","hint":"mint another token"}}`
	url := standIn(t, func(n int32) string {
		if n < 3 {
			return refused
		}
		return welcome
	}, func(string) []string { return []string{""} })
	var given atomic.Int32
	fresh := func(context.Context) (string, error) { return strings.Repeat("t", int(given.Add(1))), nil }
	c, err := lobby.Connect(within(t), lobby.Options{URLs: []string{url}, Token: fresh, FirstBackoff: time.Millisecond})
	require.NoError(t, err)
	defer c.Close()
	require.EqualValues(t, 3, given.Load())

	always := standIn(t, func(int32) string { return refused }, nil)
	_, err = lobby.Connect(within(t), lobby.Options{URLs: []string{always}, Token: lobby.StaticToken("same"),
		FirstBackoff: time.Millisecond})
	require.EqualError(t, err, "lobby: handshake: token verification failed: token expired (token_refused): mint another token")
}
