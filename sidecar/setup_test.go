package sidecar_test

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/toolstest"
	"github.com/lattice-director/director/internal/testkit/variant"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/sdk/sdktest"
	"github.com/lattice-director/director/sidecar"
)

func TestMain(m *testing.M) {
	flag.Parse()
	_, err := exec.LookPath("dotnet")
	toolstest.LeaveOutAnywhere(err, "CSharp$", "a .NET SDK, 3.1 or newer")
	goleak.VerifyTestMain(m)
}

const patience = 20 * time.Second

type fields map[string]any

// rig is a director, a sidecar and the game server's side of it.
type rig struct {
	t        *testing.T
	director *sdktest.Director
	url      string // of the sidecar's HTTP
	lines    string
	ended    chan struct{} // closed when Run has returned
	err      error         // of Run
	stop     context.CancelFunc
}

func setup(t *testing.T, change ...func(*sidecar.Options)) *rig {
	t.Helper()
	director := must.Get(sdktest.New(sdktest.Options{MaxPlayers: 2}))(t)
	client := must.Get(sdk.New(sdk.Options{URLs: []string{"http://director.test"},
		HTTPClient: &http.Client{Transport: director.Transport()}}))(t)
	o := variant.Apply(sidecar.Options{
		Client: client, HTTPListener: webtest.Listen(t), LinesListener: webtest.Listen(t),
		Server: sdk.ServerOptions{InstanceID: "engine-1", Endpoint: "game.test:7777", Region: "eu",
			Modes: []string{"duel"}, Capacity: 4, HeartbeatEvery: 50 * time.Millisecond},
	}, change...)
	s := must.Get(sidecar.New(o))(t)
	ctx, stop := context.WithCancel(context.Background())
	r := &rig{t: t, director: director, url: "http://" + o.HTTPListener.Addr().String(),
		lines: o.LinesListener.Addr().String(), ended: make(chan struct{}), stop: stop}
	go func() {
		defer close(r.ended)
		r.err = s.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-r.ended
		client.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return r
}

// call calls the sidecar; body may be nil. It returns the status and the JSON of the answer.
func (r *rig) call(method, path string, body any) (int, fields) {
	r.t.Helper()
	a := webtest.Send(r.t, http.DefaultClient, webtest.Request(r.t, method, r.url+path, body))
	return a.Status, webtest.Decode[fields](r.t, a)
}

// must is call with an answer of 2xx.
func (r *rig) must(method, path string, body any) fields {
	r.t.Helper()
	status, answer := r.call(method, path, body)
	require.Equal(r.t, 2, status/100, "%s %s: %d %v", method, path, status, answer)
	return answer
}

// seat seats a player.
func (r *rig) seat(player string) sdk.Seat {
	r.t.Helper()
	return r.seatIn("eu", player)
}

func (r *rig) seatIn(region, player string) sdk.Seat {
	r.t.Helper()
	client := must.Get(sdk.New(sdk.Options{URLs: []string{"http://director.test"},
		HTTPClient: &http.Client{Transport: r.director.Transport()}}))(r.t)
	defer client.Close()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	return must.Get(sdk.NewPlayer(client, func(context.Context) (string, error) { return player, nil }).Seat(ctx,
		sdk.MatchRequest{Region: region, Mode: "duel", AwaitServers: true}))(r.t)
}

// stream is a connection that delivers events: one line each, "NAME JSON".
type stream struct {
	t    *testing.T
	next func() (string, error)
}

// sse listens over HTTP.
func (r *rig) sse() stream {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	r.t.Cleanup(cancel)
	_, events := webtest.Events(r.t, http.DefaultClient,
		webtest.Request(r.t, http.MethodGet, r.url+"/events", nil).WithContext(ctx))
	return stream{r.t, func() (string, error) {
		if e, open := <-events; open {
			return e.Name + " " + e.Data, nil
		}
		return "", io.EOF
	}}
}

// until returns the data of the first event of a name that satisfies.
func (s stream) until(name string, satisfies func(fields) bool) fields {
	s.t.Helper()
	for {
		line, err := s.next()
		require.NoError(s.t, err, "waiting for %s", name)
		is, data, _ := strings.Cut(line, " ")
		if is != name {
			continue
		}
		var f fields
		require.NoError(s.t, json.Unmarshal([]byte(data), &f))
		if satisfies(f) {
			return f
		}
	}
}
