package peertest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/dev/devlogin"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/test/rigtest"
)

// peerTimeout bounds what a peer has to see, on a machine that runs all tests at once.
const peerTimeout = time.Minute

// Peer runs the steps of one client.
type Peer interface {
	// Step sends a request, {"step": name, "args": {…}}, and reads the answer, {"value": …} or {"error": {…}}, into a
	// pointer.
	Step(t testing.TB, request, answer any)
}

// Rig is an installation on a database of its own, and a peer whose players call it. Its login is not the one of
// rigtest, because players need expired tokens, and examples need the private key.
type Rig struct {
	T            *testing.T
	Installation *rigtest.Rig

	Login devlogin.Issuer
	peer  Peer
}

// Scenario is a test of any peer.
type Scenario func(*Rig)

// Run runs scenarios side by side, each with an installation and a peer of its own. Pages of origin may call the
// replicas.
func Run(t *testing.T, origin string, start func(*testing.T) Peer, scenarios map[string]Scenario) {
	t.Helper()
	for name, run := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(NewRig(t, origin, start(t)))
		})
	}
}

// NewRig returns an installation without processes. Pages of origin may call it.
func NewRig(t *testing.T, origin string, peer Peer) *Rig {
	t.Helper()
	login, err := devlogin.New()
	require.NoError(t, err)
	// Only a database of its own, on a Postgres of other tests: these scenarios do not stop Postgres.
	installation := rigtest.NewRigOn(t, clitest.BuildDirector(t), dbtest.New(t),
		append(rigtest.LobbySettings(), "DIRECTOR_AUTH_JWKS="+login.JWKS(), "DIRECTOR_CORS_ORIGINS="+origin)...)
	return &Rig{T: t, Installation: installation, peer: peer, Login: login}
}

// serve starts a replica with workers, and waits until it is ready.
func (r *Rig) serve() *rigtest.Process {
	r.T.Helper()
	return r.Installation.ServeReplica("--work")
}

// startGameServer registers a game server for mode duel with 8 seats, which ends with the test.
func (r *Rig) startGameServer(at ...*rigtest.Process) *sdk.GameServer {
	r.T.Helper()
	client, err := sdk.New(sdk.Options{URLs: urlsOf(at)})
	require.NoError(r.T, err)
	server, err := sdk.Start(r.T.Context(), client, sdk.ServerOptions{
		InstanceID: "a", Endpoint: "127.0.0.1:7777", Region: "eu", Modes: []string{"duel"}, Capacity: 8,
		FleetToken: rigtest.FleetToken,
	})
	require.NoError(r.T, err)
	// The cleanup has a context of its own: that of the test has ended by then.
	r.T.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = server.Close(ctx)
		client.Close()
	})
	return server
}

func urlsOf(replicas []*rigtest.Process) (urls []string) {
	for _, replica := range replicas {
		urls = append(urls, replica.URL)
	}
	return urls
}

// token returns an access token. A ttl below the allowed clock skew, -30 s, makes one that has expired.
func (r *Rig) token(sub string, ttl time.Duration) string {
	r.T.Helper()
	token, _, err := r.Login.Mint(devlogin.Claims{Subject: sub}, ttl)
	require.NoError(r.T, err)
	return token
}

// object is a JSON object.
type object = map[string]any

// player makes a player of the peer who knows some replicas.
func (r *Rig) player(sub string, at ...*rigtest.Process) {
	r.T.Helper()
	r.playerWith(sub, []string{r.token(sub, time.Hour)}, at...)
}

// playerWith is player with access tokens of its own, which the client takes in turn when one is refused.
func (r *Rig) playerWith(sub string, tokens []string, at ...*rigtest.Process) {
	r.T.Helper()
	r.playerAt(sub, tokens, urlsOf(at)...)
}

// playerAt is playerWith for any addresses, such as that of an impostor.
func (r *Rig) playerAt(sub string, tokens []string, urls ...string) {
	r.T.Helper()
	ask[any](r, "player", object{"player": sub, "urls": urls, "tokens": tokens})
}

// failure is an error of the client.
type failure struct {
	Name, Message, Call, Code string
	Status                    int
	RetryAfter                *float64
}

// try runs a step, and returns its value or its error.
func try[T any](r *Rig, step string, args object) (value T, failed *failure) {
	r.T.Helper()
	var answer struct {
		Value json.RawMessage
		Error *failure
	}
	r.peer.Step(r.T, object{"step": step, "args": args}, &answer)
	// An error has no value.
	if answer.Error == nil {
		require.NoError(r.T, json.Unmarshal(answer.Value, &value), "%s", answer.Value)
	}
	return value, answer.Error
}

// ask runs a step that must succeed.
func ask[T any](r *Rig, step string, args object) T {
	r.T.Helper()
	value, failed := try[T](r, step, args)
	require.Nil(r.T, failed, "%s %v: %+v", step, args, failed)
	return value
}

// until repeats a step until its value is as a test wants it, and returns that value.
func until[T any](r *Rig, step string, args object, holds func(T) bool) (value T) {
	r.T.Helper()
	// The test polls: a peer answers one step after the other, and cannot call the test.
	for end := time.Now().Add(peerTimeout); ; rigtest.PauseFor(r.T.Context(), 10*time.Millisecond) {
		value = ask[T](r, step, args)
		if holds(value) {
			return value
		}
		require.True(r.T, time.Now().Before(end), "%s %v: %+v", step, args, value)
	}
}

// beginStep runs a step in the background; the step end waits for it.
func (r *Rig) beginStep(id, step string, args object) {
	r.T.Helper()
	ask[any](r, "begin", object{"id": id, "step": step, "args": args})
}

// awaitRetries waits until a player has made n attempts that failed, and returns all so far.
func (r *Rig) awaitRetries(player string, n int) []failure {
	r.T.Helper()
	return until(r, "retries", object{"player": player}, func(all []failure) bool { return len(all) >= n })
}
