package sdkts_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/dev/devlogin"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/test/rigtest"
)

// rig is an installation on a database of its own, and a runtime of JavaScript whose players call it. Its login is not
// the one of rigtest, because players need expired tokens, and the example needs the private key.
type rig struct {
	*testing.T
	*rigtest.Rig

	js    runtime
	login devlogin.Issuer
}

// newRig returns an installation without processes. Pages of origin may call it.
func newRig(t *testing.T, origin string, js runtime) *rig {
	t.Helper()
	login, err := devlogin.New()
	require.NoError(t, err)
	on := rigtest.On(t, clitest.BuildDirector(t), dbtest.New(t),
		append(rigtest.LobbySettings(), "DIRECTOR_AUTH_JWKS="+login.JWKS(), "DIRECTOR_CORS_ORIGINS="+origin)...)
	return &rig{T: t, Rig: on, js: js, login: login}
}

// serve starts a replica with workers, and waits until it is ready.
func (r *rig) serve() *rigtest.Process {
	r.Helper()
	return r.Serve("--work")
}

// gameServer registers a game server for mode duel with 8 seats, which ends with the test.
func (r *rig) gameServer(at ...*rigtest.Process) *sdk.GameServer {
	r.Helper()
	var urls []string
	for _, replica := range at {
		urls = append(urls, replica.URL)
	}
	client, err := sdk.New(sdk.Options{URLs: urls})
	require.NoError(r, err)
	server, err := sdk.Start(r.Context(), client, sdk.ServerOptions{
		InstanceID: "a", Endpoint: "127.0.0.1:7777", Region: "eu", Modes: []string{"duel"}, Capacity: 8, FleetToken: rigtest.FleetToken,
	})
	require.NoError(r, err)
	r.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = server.Close(ctx)
		client.Close()
	})
	return server
}

// token returns an access token. One with a ttl below -30 s has expired.
func (r *rig) token(sub string, ttl time.Duration) string {
	r.Helper()
	token, _, err := r.login.Mint(devlogin.Claims{Subject: sub}, ttl)
	require.NoError(r, err)
	return token
}

type object = map[string]any

// player makes a player in JavaScript who knows some replicas.
func (r *rig) player(sub string, at ...*rigtest.Process) {
	r.Helper()
	r.playerWith(sub, []string{r.token(sub, time.Hour)}, at...)
}

func (r *rig) playerWith(sub string, tokens []string, at ...*rigtest.Process) {
	r.Helper()
	var urls []string
	for _, replica := range at {
		urls = append(urls, replica.URL)
	}
	ask[any](r, "player", object{"player": sub, "urls": urls, "tokens": tokens})
}

// failure is an error of the package.
type failure struct {
	Name, Message, Call, Code string
	Status                    int
	RetryAfter                *float64
}

// runtime runs the steps of scenarios.mjs.
type runtime interface {
	step(t testing.TB, request, answer any)
}

// try runs a step, and returns its value or its error.
func try[T any](r *rig, step string, args object) (value T, failed *failure) {
	r.Helper()
	var answer struct {
		Value json.RawMessage
		Error *failure
	}
	r.js.step(r, object{"step": step, "args": args}, &answer)
	if answer.Error == nil {
		require.NoError(r, json.Unmarshal(answer.Value, &value), "%s", answer.Value)
	}
	return value, answer.Error
}

// ask runs a step that must succeed.
func ask[T any](r *rig, step string, args object) T {
	r.Helper()
	value, failed := try[T](r, step, args)
	require.Nil(r, failed, "%s %v: %+v", step, args, failed)
	return value
}

// serveSite serves what build made, as the server of a page does.
func serveSite(t testing.TB) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(built(t))))
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>test</title>"))
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	return web
}
