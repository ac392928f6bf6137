package server_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/sidecar"
)

// beside is a sidecar of a game server, with a real replica.
type beside struct {
	*bundle

	url string
}

func newSidecar(t *testing.T, b *bundle, secret string) *beside {
	t.Helper()
	client := b.sdkClient()
	o := sidecar.Options{Client: client, HTTPListener: webtest.Listen(t), Server: sdk.ServerOptions{
		InstanceID: "game", Endpoint: "game.example:7777", Region: "eu", Modes: []string{"duel"}, Capacity: 8,
		FleetToken: secret, HeartbeatEvery: 200 * time.Millisecond,
	}}
	s := must.Get(sidecar.New(o))(t)
	t.Cleanup(func() {
		client.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	background.Run(t, s.Run)
	return &beside{b, "http://" + o.HTTPListener.Addr().String()}
}

func (s *beside) say(method, path string, body any) fields {
	s.t.Helper()
	a := webtest.Send(s.t, http.DefaultClient, webtest.Request(s.t, method, s.url+path, body))
	require.Equal(s.t, http.StatusOK, a.Status, a.Body)
	return webtest.Decode[fields](s.t, a)
}

func (s *beside) incarnation() (id string, capacity int) {
	s.t.Helper()
	require.NoError(s.t, s.store.Pool().QueryRow(s.t.Context(),
		"SELECT incarnation::text, capacity FROM instances WHERE id = 'game'").Scan(&id, &capacity))
	return id, capacity
}

// play seats a player and admits it at the game server.
func (s *beside) play(sub string) (endpoint any) {
	s.t.Helper()
	_, resolved := s.seat(sub)
	s.say(http.MethodPost, "/players", fields{"token": resolved["session_token"]})
	return resolved["endpoint"]
}

func (s *beside) players() []any {
	s.t.Helper()
	return s.say(http.MethodGet, "/players", nil)["players"].([]any)
}

// Pins a game that crashed and restarted on another port: newcomers were sent to the dead port, and its player kept the
// seat.
func TestAGameThatRestartsBesideItsSidecarIsANewGame(t *testing.T) {
	t.Parallel()
	s := newSidecar(t, setup(t), fleetToken)
	s.say(http.MethodPost, "/ready", nil)
	first, _ := s.incarnation()
	require.Equal(t, "game.example:7777", s.play("ada"))

	s.say(http.MethodPost, "/ready", nil)
	s.say(http.MethodPost, "/ready", fields{"endpoint": "game.example:7777", "capacity": 8})
	again, capacity := s.incarnation()
	require.Equal(t, []any{first, 8}, []any{again, capacity}, "a repeated announcement changes nothing")

	s.say(http.MethodPost, "/ready", fields{"capacity": 16, "modes": []string{"race", "duel"}})
	again, capacity = s.incarnation()
	require.Equal(t, []any{first, 16}, []any{again, capacity}, "another offer is registered")
	require.Len(t, s.players(), 1, "and the match goes on")

	s.say(http.MethodPost, "/ready", fields{"endpoint": "game.example:7778"})
	second, capacity := s.incarnation()
	require.NotEqual(t, first, second)
	require.Equal(t, 16, capacity)
	s.eventually(func() bool { return len(s.players()) == 0 })
	require.Zero(t, s.store.Count("SELECT count(*) FROM seats WHERE sub = 'ada' AND state <> 'left'"),
		"the seat of the dead match is free")
	require.Equal(t, "game.example:7778", s.play("ada"))

	s.say(http.MethodPost, "/ready", fields{"boot_id": "b2"})
	third, _ := s.incarnation()
	require.NotEqual(t, second, third, "a process that says that it is new")
	s.eventually(func() bool { return len(s.players()) == 0 })
	s.say(http.MethodPost, "/ready", fields{"boot_id": "b2"})
	same, _ := s.incarnation()
	require.Equal(t, third, same)
	require.Equal(t, "ready", s.say(http.MethodGet, "/status", nil)["state"])
}

// A sidecar with the token of an enrolment plays like any other, on a replica without a shared secret, and comes back
// with another credential when an operator has revoked the one that it has.
func TestASidecarEnrols(t *testing.T) {
	t.Parallel()
	b := setup(t, onlyEnrolled)
	s := newSidecar(t, b, b.enrolment())
	s.say(http.MethodPost, "/ready", nil)
	require.Equal(t, "game.example:7777", s.play("ann"))
	first, _ := s.incarnation()
	changed, err := b.store.As("ops:ada").RevokeServer(t.Context(), "game")
	require.NoError(t, err)
	require.True(t, changed)
	b.eventually(func() bool {
		now, _ := s.incarnation()
		return now != first && b.store.Count("SELECT count(*) FROM ops.server_credentials WHERE credential = 'enrolment' AND status = 'ready' AND revoked_at IS NULL") == 1
	})
	require.Equal(t, "game.example:7777", s.play("bob"))
}
