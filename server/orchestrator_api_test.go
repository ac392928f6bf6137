package server_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/agents"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/server/orchestrator"
)

const (
	apiAgentKey = "an-agent-key-of-the-api-012345678"
	apiAdminKey = "an-admin-key-of-the-api-012345678"
)

// serveAPI makes a replica an orchestrator.
func serveAPI(c *config) {
	c.nobody = true
	c.Orchestrator = &server.Orchestrator{
		Options: orchestrator.Options{
			AgentKeys: []string{apiAgentKey}, Heartbeat: 50 * time.Millisecond, Addr: "127.0.0.1:0", Metrics: prometheus.NewRegistry(),
		},
		AdminKeys: []string{apiAdminKey},
	}
}

// api calls the REST API of a replica's orchestrator.
func (b *bundle) api(method, path, body string) (status int, text, etag string) {
	b.t.Helper()
	a := webtest.Send(b.t, http.DefaultClient, webtest.Request(b.t, method, "http://"+b.server.OrchestratorAddr().String()+path, body,
		"Authorization", "Bearer "+apiAdminKey))
	return a.Status, a.Body, a.Header.Get("ETag")
}

func (b *bundle) apiStatus(method, path, body string) int {
	b.t.Helper()
	status, _, _ := b.api(method, path, body)
	return status
}

// A game server that is connected to one replica is commanded through another. What a call has changed is true on both
// replicas at once.
func TestRivalisAPIOnTwoReplicas(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	a, b := start(t, url, serveAPI), start(t, url, serveAPI)
	for _, r := range []*bundle{a, b} {
		r.eventually(func() bool { return r.apiStatus(http.MethodGet, "/readyz", "") == http.StatusOK })
	}
	game := agents.New(agents.Config{
		URL: "ws://" + b.server.OrchestratorAddr().String(), Key: apiAgentKey, Name: "eu0", EndpointURL: "wss://eu0.example", RoomTypes: []string{"match"},
	})
	ended := make(chan error, 1)
	go func() { ended <- game.Run(t.Context()) }()
	a.eventually(func() bool {
		return a.apiStatus(http.MethodPost, "/v1/rooms", `{"type":"match","roomId":"match-42"}`) == http.StatusCreated
	})
	require.Equal(t, "match-42", game.Snapshot().Rooms[0].ID)

	room := `{"status":"OK","data":{"id":"match-42","type":"match","connections":0,"instanceId":"` + game.InstanceID() + `","endpointUrl":"wss://eu0.example","local":false}}`
	for _, r := range []*bundle{a, b} {
		status, body, _ := r.api(http.MethodGet, "/v1/rooms/match-42", "")
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, room, body)
		status, body, _ = r.api(http.MethodPost, "/v1/rooms", `{"type":"match","roomId":"match-42"}`)
		require.Equal(t, http.StatusConflict, status)
		require.JSONEq(t, `{"status":"rejected","cause":"ROOM_EXISTS"}`, body)
	}
	a.eventually(func() bool {
		_, _, one := a.api(http.MethodGet, "/v1/stats", "")
		_, _, other := b.api(http.MethodGet, "/v1/rooms", "")
		return one == other && one != ""
	})

	require.Equal(t, http.StatusOK, a.apiStatus(http.MethodPost, "/v1/instances/"+game.InstanceID()+"/drain", ""))
	require.Equal(t, "draining", game.Snapshot().Status)
	require.Equal(t, http.StatusConflict, b.apiStatus(http.MethodPost, "/v1/rooms", `{"type":"match"}`))
	require.Equal(t, http.StatusOK, b.apiStatus(http.MethodPost, "/v1/instances/"+game.InstanceID()+"/undrain", ""))

	require.Equal(t, http.StatusOK, a.apiStatus(http.MethodDelete, "/v1/rooms/match-42", ""))
	require.Empty(t, game.Snapshot().Rooms)
	for _, r := range []*bundle{a, b} {
		require.Equal(t, http.StatusNotFound, r.apiStatus(http.MethodGet, "/v1/rooms/match-42", ""))
	}
	require.Empty(t, ended, "the game server has read nothing that would end it")
}

// A replica that stops ends its streams of events, which its HTTP server waits for.
func TestStoppingEndsStreamsOfEvents(t *testing.T) {
	t.Parallel()
	b := start(t, dbtest.New(t), serveAPI)
	b.eventually(func() bool { return b.apiStatus(http.MethodGet, "/readyz", "") == http.StatusOK })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+b.server.OrchestratorAddr().String()+"/v1/events", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+apiAdminKey)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode)
	b.stop()
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err, "it ends as a whole answer does")
	require.NoError(t, res.Body.Close())
}
