package sdktest_test

import (
	"context"
	"encoding/base64"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/dev/subprocess"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/nodetest"
)

const internalToken = "an-internal-token-of-tests"

// director is a running replica with workers.
type director struct {
	*subprocess.Process

	lobby, control string // host:port
}

// start starts a replica on a database, with the settings of Nexis' quick start.
func start(t *testing.T, database string) *director {
	t.Helper()
	addrs := must.Get(subprocess.FreeAddrs(t.Context(), 3))(t)
	logs := t.TempDir()
	p := must.Get(subprocess.Command{
		Name: "director", Path: clitest.BuildDirector(t), Args: []string{"serve", "--work"}, Logs: logs,
		Env: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DATABASE_URL=" + database, "DIRECTOR_ADDR=" + addrs[0],
			"DIRECTOR_KEY_ENCRYPTION_KEY=" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32))),
			"DIRECTOR_REALTIME_ADDR=" + addrs[1], "DIRECTOR_REALTIME_CONTROL_ADDR=" + addrs[2], "DIRECTOR_REALTIME_CONFORMANCE=true",
			"NEXIS_MASTER_SECRET=a-master-secret-of-tests", "NEXIS_INTERNAL_TOKEN=" + internalToken, "NEXIS_SESSION_TTL_SECONDS=5", "NEXIS_AUTH_MODE=optional",
		},
	}.Start())(t)
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			text, _ := os.ReadFile(filepath.Join(logs, "director.log"))
			t.Logf("%s", text[max(0, len(text)-4000):])
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, p.AwaitReady(ctx, "http://"+addrs[0]+"/readyz"))
	return &director{p, addrs[1], addrs[2]}
}

// forwarder is an address whose connections go to one replica or another.
type forwarder struct {
	net.Listener

	to atomic.Pointer[string]
}

func newForwarder(t *testing.T, to string) *forwarder {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	f := &forwarder{Listener: l}
	f.to.Store(&to)
	served := make(chan struct{})
	go func() { defer close(served); f.serve() }()
	t.Cleanup(func() { _ = l.Close(); <-served })
	return f
}

func (f *forwarder) serve() {
	for {
		client, err := f.Accept()
		if err != nil {
			return
		}
		replica, err := net.Dial("tcp", *f.to.Load())
		if err != nil {
			_ = client.Close()
			continue
		}
		for _, way := range [][2]net.Conn{{client, replica}, {replica, client}} {
			go func() {
				_, _ = io.Copy(way[0], way[1])
				_ = way[0].Close()
				_ = way[1].Close()
			}()
		}
	}
}

// The SDK keeps its rooms and its state while its replica is killed, and notices nothing but that.
func TestNodeTheSDKSurvivesItsReplica(t *testing.T) {
	t.Parallel()
	database := dbtest.New(t)
	stays := start(t, database)
	withBothCodecs(t, func(t *testing.T, codec string) {
		t.Helper()
		dies := start(t, database)
		f := newForwarder(t, dies.lobby)
		node := nodetest.Start(t, script)
		urls := []string{"ws://" + f.Addr().String(), "ws://" + stays.lobby}
		var before, after result
		node.Ask(t, request{Scenario: "meet", Codec: codec, URLs: urls}, &before)
		require.Empty(t, before.Errors)
		f.to.Store(&stays.lobby)
		dies.Kill()
		node.Ask(t, request{Scenario: "again", Codec: codec, URLs: urls}, &after)
		require.Empty(t, after.Errors)
		require.Zero(t, after.Resyncs)
		require.True(t, after.Same, "the session is resumed")
		require.True(t, after.InOrder)
		require.Equal(t, 2, after.Members)
	})
}

// Clients queue, are matched by the loop, and join the room of their match by themselves.
func TestNodeAMatch(t *testing.T) {
	t.Parallel()
	database := dbtest.New(t)
	a, b := start(t, database), start(t, database)
	for _, codec := range []string{"msgpack", "json"} {
		node := nodetest.Start(t, script)
		var r result
		node.Ask(t, request{Scenario: "match", Codec: codec, URLs: []string{"ws://" + a.lobby, "ws://" + b.lobby}}, &r)
		require.Empty(t, r.Errors)
		require.Zero(t, r.Resyncs)
		require.True(t, r.Same, "both have the same match")
		require.True(t, r.InOrder, "participants are in the order of the queue")
		require.Equal(t, "häuser 家", r.Said["text"])
		require.Equal(t, false, r.Refused["removed"], "matched sessions wait no more")
	}
}

// Nexis' own smoke test, with Node.js instead of Bun.
func TestNodeTheSmokeTestOfNexis(t *testing.T) {
	t.Parallel()
	d := start(t, dbtest.New(t))
	smoke := filepath.Join(os.Getenv(source), "..", "..", "infra", "smoke.ts")
	require.FileExists(t, smoke, "%s is to be sdks/ts in a checkout of Nexis", source)
	module := filepath.Join(t.TempDir(), "smoke.mjs")
	node := nodetest.Start(t, script)
	var compiled struct{ Text string }
	node.Ask(t, map[string]any{"scenario": "compile", "file": smoke}, &compiled)
	require.NoError(t, os.WriteFile(module, []byte("globalThis.Bun = { sleep: (ms) => new Promise((r) => setTimeout(r, ms)) };\n"+compiled.Text), 0o600))
	run := exec.CommandContext(t.Context(), "node", module)
	run.Env = append(os.Environ(), "NEXIS_CONTROL_API_URL=http://"+d.control, "NEXIS_WS_URL=ws://"+d.lobby, "NEXIS_INTERNAL_TOKEN="+internalToken, "NEXIS_SESSION_TTL_SECONDS=5")
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "[smoke] success")
}
