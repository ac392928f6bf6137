package sidecar_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/sidecar"
)

// Pins a player who stayed connected, and with him a game server that could not end: his kick came before the game
// server listened to events, as on a busy machine. Who was kicked by then is not among the players with whom the stream
// begins.
func TestPythonHearsOfEarlierKicks(t *testing.T) {
	t.Parallel()
	r := setup(t, func(o *sidecar.Options) {
		o.Server = sdk.ServerOptions{InstanceID: "example-1", HeartbeatEvery: 50 * time.Millisecond}
	})
	target, err := url.Parse(r.url)
	require.NoError(t, err)
	direct, listen := httputil.NewSingleHostReverseProxy(target), make(chan struct{})
	direct.FlushInterval = -1 // events at once
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/events" {
			<-listen
		}
		direct.ServeHTTP(w, req)
	}))
	server := exec.CommandContext(t.Context(), "python3", "../examples/sidecar/server.py")
	server.Env, server.Stderr = append(os.Environ(), "SIDECAR="+proxy.URL), t.Output()
	stdout, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait(); proxy.Close() })
	require.Equal(t, "registered: example-1\n", readLine(t, bufio.NewReader(stdout)))

	seat := r.seatIn("local", "ada")
	answers, conn := dial(t, seat.Endpoint)
	fmt.Fprintln(conn, seat.SessionToken)
	require.Equal(t, "welcome ada to a duel for 2\n", readLine(t, answers))
	r.director.Expire("example-1")
	require.Eventually(t, func() bool { return len(r.must("GET", "/players", nil)["players"].([]any)) == 0 }, patience, 5*time.Millisecond)
	close(listen)
	_, err = answers.ReadString('\n')
	require.ErrorIs(t, err, io.EOF)
}
