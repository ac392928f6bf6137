package sidecar_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/sidecar"
)

// The examples of docs/how-to/any-engine.md behave alike.
func TestAGameServerInPython(t *testing.T) {
	t.Parallel()
	playOnExample(t, "python3", "../examples/sidecar/server.py")
}

// It needs a .NET SDK; TestMain leaves it out without one. The program is built in a copy, so that the tree stays
// clean.
func TestAGameServerInCSharp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("../examples/sidecar/csharp")))
	build := exec.CommandContext(t.Context(), "dotnet", "build", "--output", filepath.Join(dir, "out"))
	build.Dir = dir
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "0 Warning(s)")
	playOnExample(t, "dotnet", filepath.Join(dir, "out", "Server.dll"))
}

// playOnExample runs a game server beside a sidecar, plays on it, and ends its registration.
func playOnExample(t *testing.T, program ...string) {
	t.Helper()
	r := setup(t, func(o *sidecar.Options) {
		o.Server = sdk.ServerOptions{InstanceID: "example-1", HeartbeatEvery: 50 * time.Millisecond}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	server := exec.CommandContext(ctx, program[0], program[1:]...)
	server.Env = append(os.Environ(), "SIDECAR="+r.url)
	server.Stderr = t.Output()
	stdout := must.Get(server.StdoutPipe())(t)
	require.NoError(t, server.Start())
	said := bufio.NewReader(stdout)
	require.Equal(t, "registered: example-1\n", readLine(t, said))

	seat := r.seatIn("local", "ada")
	answers, conn := dial(t, seat.Endpoint)
	fmt.Fprintln(conn, seat.SessionToken)
	require.Equal(t, "welcome ada to a duel for 2\n", readLine(t, answers))
	fmt.Fprintln(conn, "hello")
	require.Equal(t, "you said: hello\n", readLine(t, answers))
	again, thief := dial(t, seat.Endpoint)
	fmt.Fprintln(thief, seat.SessionToken)
	require.Equal(t, "refused: replay\n", readLine(t, again))

	r.director.Expire("example-1")
	_, err := answers.ReadString('\n')
	require.Error(t, err, "the game server has disconnected the player of the lost session")
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)

	require.Eventually(t, func() bool {
		r.director.Unwant("example-1") // again, if it was not registered again yet
		select {
		case <-r.ended:
			return true
		default:
			return false
		}
	}, patience, 10*time.Millisecond)
	require.Equal(t, "over: ended\n", readLine(t, said))
	require.NoError(t, server.Wait())
	require.NoError(t, r.err)
}

func readLine(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	return must.Get(r.ReadString('\n'))(t)
}

func dial(t *testing.T, addr string) (*bufio.Reader, net.Conn) {
	t.Helper()
	conn := webtest.Dial(t, addr)
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	return bufio.NewReader(conn), conn
}
