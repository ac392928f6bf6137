package sdkts_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/dbtest"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/devlogin"
	"github.com/lattice-director/director/internal/subprocess"
	"github.com/lattice-director/director/sdk"
)

const fleetToken = "a-fleet-token-for-tests"

// rig is an installation on a database of its own, and a runtime of JavaScript whose players call it.
type rig struct {
	*testing.T

	js    runtime
	login devlogin.Issuer
	env   []string
	logs  string
}

// newRig returns an installation without processes. Pages of origin may call it.
func newRig(t *testing.T, origin string, js runtime) *rig {
	t.Helper()
	login, err := devlogin.New()
	require.NoError(t, err)
	return &rig{T: t, js: js, login: login, logs: t.TempDir(), env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DATABASE_URL=" + dbtest.New(t), "DIRECTOR_AUTH_JWKS=" + login.JWKS(),
		"DIRECTOR_KEY_ENCRYPTION_KEY=" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32))),
		"DIRECTOR_FLEET_TOKEN=" + fleetToken, "DIRECTOR_CORS_ORIGINS=" + origin, "DIRECTOR_LOG_FORMAT=json",
	}}
}

func (r *rig) command(name string, args ...string) subprocess.Command {
	return subprocess.Command{Name: name, Path: clitest.BuildDirector(r), Args: args, Env: r.env, Logs: r.logs}
}

// replica is a running replica with workers.
type replica struct {
	*subprocess.Process

	url string
}

// serve starts a replica with workers, and waits until it is ready. Settings are NAME=value.
func (r *rig) serve(name string, settings ...string) *replica {
	r.Helper()
	addrs, err := subprocess.FreeAddrs(r.Context(), 1)
	require.NoError(r, err)
	command := r.command(name, "serve", "--work", "--addr", addrs[0])
	command.Env = append(slices.Clip(command.Env), settings...)
	p, err := command.Start()
	require.NoError(r, err)
	r.Cleanup(func() {
		p.Kill()
		if r.Failed() {
			text, _ := os.ReadFile(filepath.Join(r.logs, name+".log"))
			r.Logf("%s:\n%s", name, text[max(0, len(text)-4000):])
		}
	})
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	require.NoError(r, p.AwaitReady(ctx, "http://"+addrs[0]+"/readyz"))
	return &replica{p, "http://" + addrs[0]}
}

// applyProfile makes a profile live.
func (r *rig) applyProfile(document string) {
	r.Helper()
	file := filepath.Join(r.TempDir(), "profile.yaml")
	require.NoError(r, os.WriteFile(file, []byte(document), 0o600))
	require.NoError(r, r.command("apply", "profiles", "apply", "-f", file).Run(r.Context()))
}

// gameServer registers a game server for mode duel with 8 seats, which ends with the test.
func (r *rig) gameServer(at ...*replica) *sdk.GameServer {
	r.Helper()
	var urls []string
	for _, replica := range at {
		urls = append(urls, replica.url)
	}
	client, err := sdk.New(sdk.Options{URLs: urls})
	require.NoError(r, err)
	server, err := sdk.Start(r.Context(), client, sdk.ServerOptions{
		InstanceID: "a", Endpoint: "127.0.0.1:7777", Region: "eu", Modes: []string{"duel"}, Capacity: 8, FleetToken: fleetToken,
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
func (r *rig) player(sub string, at ...*replica) {
	r.Helper()
	r.playerWith(sub, []string{r.token(sub, time.Hour)}, at...)
}

func (r *rig) playerWith(sub string, tokens []string, at ...*replica) {
	r.Helper()
	var urls []string
	for _, replica := range at {
		urls = append(urls, replica.url)
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
