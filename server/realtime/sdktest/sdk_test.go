package sdktest_test

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/nodetest"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/internal/testkit/variant"
	"github.com/lattice-director/director/server/realtime"
)

//go:embed sdk.cjs
var script string

const source = "DIRECTOR_TEST_NEXIS_SDK"

func TestMain(m *testing.M) {
	if os.Getenv(source) == "" {
		fmt.Fprintln(os.Stderr, "NOT TESTED: the TypeScript SDK of Nexis ("+source+" names no directory)")
		return
	}
	_ = os.Setenv("NODE_OPTIONS", "--experimental-websocket") // Node.js 20 has WebSocket behind a switch
	nodetest.Prepare()
	dbtest.VerifyNoLeaks(m, clitest.RemoveDirector)
}

// replicas starts two replicas on one database, and returns their URLs.
func replicas(t *testing.T, change ...func(*realtime.Options)) (urls []string) {
	t.Helper()
	database := dbtest.New(t)
	return []string{replica(t, database, change...), replica(t, database, change...)}
}

func replica(t *testing.T, database string, change ...func(*realtime.Options)) (url string) {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	o := variant.Apply(realtime.Options{Listener: listener, AuthMode: realtime.AuthOptional,
		MasterSecret: "a master secret of tests",
		RequireKey:   true, Conformance: true}, change...)
	s := must.Get(realtime.New(storetest.Open(t, database), o))(t)
	require.NoError(t, s.Listen(t.Context()))
	ctx, cut := context.WithCancel(context.Background())
	served, ran := make(chan error, 1), make(chan struct{})
	go func() { served <- s.Serve() }()
	go func() { defer close(ran); s.Run(ctx) }()
	t.Cleanup(func() {
		defer cut()
		stopping, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, s.Stop(stopping))
		require.NoError(t, <-served)
		<-ran
	})
	require.Eventually(t, s.IsReady, 10*time.Second, time.Millisecond)
	return "ws://" + s.Addr().String()
}

type request struct {
	Scenario string   `json:"scenario"`
	Codec    string   `json:"codec"`
	Token    string   `json:"token,omitempty"`
	URLs     []string `json:"urls"`
}

// result is what a scenario has seen.
type result struct {
	Errors  []any `json:"errors"` // events
	Resyncs int   `json:"resyncs"`

	ID       string         `json:"id"`
	InOrder  bool           `json:"inOrder"`
	Type     string         `json:"type"`
	Said     map[string]any `json:"said"`
	Bytes    []int          `json:"bytes"`
	Listed   []any          `json:"listed"`
	Refused  map[string]any `json:"refused"`
	Members  int            `json:"members"`
	Same     bool           `json:"same"`
	Reason   string         `json:"reason"`
	Settings map[string]any `json:"settings"`
	FirstKey string         `json:"first"`
}

// run runs a scenario with a codec on fresh replicas. The SDK has to be sent no error, and to need no more resyncs than
// given.
func run(t *testing.T, scenario, codec string, resyncs int, locale ...string) (r result) {
	t.Helper()
	node := nodetest.Start(t, script, locale...)
	node.Ask(t, request{Scenario: scenario, Codec: codec, URLs: replicas(t)}, &r)
	require.Empty(t, r.Errors)
	require.LessOrEqual(t, r.Resyncs, resyncs)
	return r
}

func withBothCodecs(t *testing.T, test func(t *testing.T, codec string)) {
	t.Helper()
	for _, codec := range []string{"msgpack", "json"} {
		t.Run(codec, func(t *testing.T) {
			t.Parallel()
			test(t, codec)
		})
	}
}

func TestNodeABurstOfChanges(t *testing.T) {
	t.Parallel()
	withBothCodecs(t, func(t *testing.T, codec string) {
		t.Helper()
		r := run(t, "burst", codec, 0)
		require.Equal(t, "counter_plugin_room:default", r.ID)
		require.True(t, r.InOrder)
		require.Equal(t, "number", r.Type, "a BigInt would end the process")
	})
}

func TestNodeRooms(t *testing.T) {
	t.Parallel()
	withBothCodecs(t, func(t *testing.T, codec string) {
		t.Helper()
		r := run(t, "rooms", codec, 0)
		require.Equal(t, map[string]any{"text": "häuser 家", "n": 1e15, "at": float64(1764000000000)}, r.Said)
		require.Equal(t, []int{0, 255, 7}, r.Bytes)
		require.Equal(t, []any{map[string]any{"id": "chat:sdk", "room_type": "chat", "members": float64(2)}}, r.Listed)
		require.Equal(t, false, r.Refused["ok"])
	})
}

// The clients check the checksums of states with several keys.
func TestNodeALobby(t *testing.T) {
	t.Parallel()
	withBothCodecs(t, func(t *testing.T, codec string) {
		t.Helper()
		require.Equal(t, 2, run(t, "lobby", codec, 0).Members)
	})
}

func TestNodeTheSDKReconnects(t *testing.T) {
	t.Parallel()
	withBothCodecs(t, func(t *testing.T, codec string) {
		t.Helper()
		require.True(t, run(t, "reconnect", codec, 0).Same, "the session is resumed")
	})
}

func TestNodeConnectRejectsWithTheReason(t *testing.T) {
	t.Parallel()
	withBothCodecs(t, func(t *testing.T, codec string) {
		t.Helper()
		urls := replicas(t, func(o *realtime.Options) { o.AuthMode = realtime.AuthRequired })
		node := nodetest.Start(t, script)
		for _, c := range [][2]string{{"", "missing token"}, {"abc", "invalid token format"},
			{"a.b", "invalid token format"}} {
			var r result
			node.Ask(t, request{Scenario: "refused", Codec: codec, Token: c[0], URLs: urls}, &r)
			require.Equal(t, "token verification failed: "+c[1], r.Reason)
		}
	})
}

// In Danish, aa comes after z: the client finds the first checksum wrong, and is sent none from then on.
func TestNodeAClientOfAnotherLocale(t *testing.T) {
	t.Parallel()
	withBothCodecs(t, func(t *testing.T, codec string) {
		t.Helper()
		r := run(t, "foreign", codec, 1, "da_DK.UTF-8")
		require.Equal(t, "b", r.FirstKey)
		require.Equal(t, map[string]any{"aa": 1.0, "b": 1.0, "z": 1.0}, r.Settings)
		require.Equal(t, 1, r.Resyncs)
	})
}
