package server_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/agents"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/webtest"
)

// api calls the REST API of a replica's orchestrator.
func (b *bundle) api(method, path, body string) webtest.Answer {
	b.t.Helper()
	return webtest.Send(b.t, http.DefaultClient, webtest.Request(b.t, method, "http://"+b.server.OrchestratorAddr().String()+path, body,
		"Authorization", "Bearer "+rivalisAdmin))
}

// A game server that is connected to one replica is commanded through another. What a call has changed is true on both
// replicas at once.
func TestRivalisAPIOnTwoReplicas(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	a, b := start(t, url, rivalis), start(t, url, rivalis)
	for _, r := range []*bundle{a, b} {
		r.eventually(func() bool { return r.api(http.MethodGet, "/readyz", "").Status == http.StatusOK })
	}
	game := agents.New(agents.Config{
		URL: "ws://" + b.server.OrchestratorAddr().String(), Key: rivalisKey, Name: "eu0", EndpointURL: "wss://eu0.example", RoomTypes: []string{"match"},
	})
	ended := make(chan error, 1)
	go func() { ended <- game.Run(t.Context()) }()
	a.eventually(func() bool {
		return a.api(http.MethodPost, "/v1/rooms", `{"type":"match","roomId":"match-42"}`).Status == http.StatusCreated
	})
	require.Equal(t, "match-42", game.Snapshot().Rooms[0].ID)

	room := `{"status":"OK","data":{"id":"match-42","type":"match","connections":0,"instanceId":"` + game.InstanceID() + `","endpointUrl":"wss://eu0.example","local":false}}`
	for _, r := range []*bundle{a, b} {
		found := r.api(http.MethodGet, "/v1/rooms/match-42", "")
		require.Equal(t, http.StatusOK, found.Status)
		require.Equal(t, room, found.Body)
		twice := r.api(http.MethodPost, "/v1/rooms", `{"type":"match","roomId":"match-42"}`)
		require.Equal(t, http.StatusConflict, twice.Status)
		require.JSONEq(t, `{"status":"rejected","cause":"ROOM_EXISTS"}`, twice.Body)
	}
	a.eventually(func() bool {
		one := a.api(http.MethodGet, "/v1/stats", "").Header.Get("ETag")
		return one != "" && one == b.api(http.MethodGet, "/v1/rooms", "").Header.Get("ETag")
	})

	require.Equal(t, http.StatusOK, a.api(http.MethodPost, "/v1/instances/"+game.InstanceID()+"/drain", "").Status)
	require.Equal(t, "draining", game.Snapshot().Status)
	require.Equal(t, http.StatusConflict, b.api(http.MethodPost, "/v1/rooms", `{"type":"match"}`).Status)
	require.Equal(t, http.StatusOK, b.api(http.MethodPost, "/v1/instances/"+game.InstanceID()+"/undrain", "").Status)

	require.Equal(t, http.StatusOK, a.api(http.MethodDelete, "/v1/rooms/match-42", "").Status)
	require.Empty(t, game.Snapshot().Rooms)
	for _, r := range []*bundle{a, b} {
		require.Equal(t, http.StatusNotFound, r.api(http.MethodGet, "/v1/rooms/match-42", "").Status)
	}
	require.Empty(t, ended, "the game server has read nothing that would end it")
}

// A replica that stops ends its streams of events, which its HTTP server waits for.
func TestStoppingEndsStreamsOfEvents(t *testing.T) {
	t.Parallel()
	b := start(t, dbtest.New(t), rivalis)
	b.eventually(func() bool { return b.api(http.MethodGet, "/readyz", "").Status == http.StatusOK })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+b.server.OrchestratorAddr().String()+"/v1/events", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+rivalisAdmin)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode)
	b.stop()
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err, "it ends as a whole answer does")
	require.NoError(t, res.Body.Close())
}
