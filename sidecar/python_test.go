package sidecar_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/sidecar"
)

// The example of docs/how-to/any-engine.md.
func TestAGameServerInPython(t *testing.T) {
	t.Parallel()
	r := setup(t, func(o *sidecar.Options) {
		o.Server = sdk.ServerOptions{InstanceID: "python-1", HeartbeatEvery: 50 * time.Millisecond}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	python := exec.CommandContext(ctx, "python3", "../examples/sidecar/server.py")
	python.Env = append(os.Environ(), "SIDECAR="+r.url)
	python.Stderr = t.Output()
	stdout, err := python.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, python.Start())
	said := bufio.NewReader(stdout)
	require.Equal(t, "registered: python-1\n", readLine(t, said))

	seat := r.seatIn("local", "ada")
	answers, conn := dial(t, seat.Endpoint)
	fmt.Fprintln(conn, seat.SessionToken)
	require.Equal(t, "welcome ada to a duel for 2\n", readLine(t, answers))
	fmt.Fprintln(conn, "hello")
	require.Equal(t, "you said: hello\n", readLine(t, answers))
	again, thief := dial(t, seat.Endpoint)
	fmt.Fprintln(thief, seat.SessionToken)
	require.Equal(t, "refused: replay\n", readLine(t, again))

	r.director.Expire("python-1")
	_, err = answers.ReadString('\n')
	require.Error(t, err, "the game server has disconnected the player of the lost session")

	require.Eventually(t, func() bool {
		r.director.Unwant("python-1") // again, if it was not registered again yet
		select {
		case <-r.ended:
			return true
		default:
			return false
		}
	}, patience, 10*time.Millisecond)
	require.Equal(t, "over: ended\n", readLine(t, said))
	require.NoError(t, python.Wait())
	require.NoError(t, r.err)
}

func readLine(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	return line
}

func dial(t *testing.T, addr string) (*bufio.Reader, net.Conn) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	require.NoError(t, err)
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	t.Cleanup(func() { _ = conn.Close() })
	return bufio.NewReader(conn), conn
}
