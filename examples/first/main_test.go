package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/sdk/sdktest"
)

// startDirector starts a director in memory, and returns its address and a player who calls it.
func startDirector(t *testing.T) (url string, alice *sdk.Player) {
	t.Helper()
	director := must.Get(sdktest.New(sdktest.Options{}))(t)
	web := httptest.NewServer(director)
	t.Cleanup(web.Close)
	client := must.Get(sdk.New(sdk.Options{URLs: []string{web.URL}}))(t)
	t.Cleanup(client.Close)
	return web.URL, sdk.NewPlayer(client, func(context.Context) (string, error) { return "alice", nil })
}

// join connects to the game server, shows the token, and returns the first line of the answer.
func join(t *testing.T, endpoint, token string) (first string, conn net.Conn) {
	t.Helper()
	conn = must.Get(new(net.Dialer).DialContext(t.Context(), "tcp", endpoint))(t)
	fmt.Fprintln(conn, token)
	first = must.Get(bufio.NewReader(conn).ReadString('\n'))(t)
	return first, conn
}

// checkServer makes the calls of the tutorial's player: join once, fail to join with a used or an invalid token.
func checkServer(t *testing.T, alice *sdk.Player) {
	t.Helper()
	seat := must.Get(alice.Seat(t.Context(), sdk.MatchRequest{Region: "local", Mode: "duel", AwaitServers: true}))(t)
	first, conn := join(t, seat.Endpoint, seat.SessionToken)
	require.Equal(t, "welcome alice to a duel for 8\n", first)
	for _, token := range []string{seat.SessionToken, "nonsense"} {
		first, refused := join(t, seat.Endpoint, token)
		require.True(t, strings.HasPrefix(first, "refused: "), first)
		require.NoError(t, refused.Close())
	}
	require.NoError(t, conn.Close())
}

func TestGoServer(t *testing.T) {
	t.Parallel()
	url, alice := startDirector(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, url, listener) }()
	checkServer(t, alice)
	cancel()
	require.NoError(t, <-ended)
}

func TestPythonServer(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "python3", "-c", "import cryptography").CombinedOutput()
	require.NoError(t, err, "this test needs python3 with the module cryptography: run ops/install-python.sh\n%s", out)
	url, alice := startDirector(t)
	server := exec.CommandContext(t.Context(), "python3", "server.py")
	server.Env = append(os.Environ(), "DIRECTOR="+url, "ENDPOINT=127.0.0.1:0")
	server.Stderr = t.Output()
	stdout, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "is registered")
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	checkServer(t, alice)
}
