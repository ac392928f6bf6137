package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server/realtime/realtimetest"
	"github.com/lattice-director/director/token"
)

// runningLobby is a running replica that serves the realtime lobby and its control API.
type runningLobby struct{ *running }

func startLobby(t *testing.T, url string, environ ...string) runningLobby {
	t.Helper()
	return runningLobby{start(t, env(append([]string{
		"DATABASE_URL=" + url, "DIRECTOR_KEY_ENCRYPTION_KEY=" + testKEK, "DIRECTOR_ADDR=127.0.0.1:0", "NEXIS_MASTER_SECRET=" + lobbyMaster, "NEXIS_INTERNAL_TOKEN=" + lobbyToken,
		"DIRECTOR_REALTIME_ADDR=127.0.0.1:0", "DIRECTOR_REALTIME_CONTROL_ADDR=127.0.0.1:0", "DIRECTOR_REALTIME_CONFORMANCE=true",
	}, environ...)...), "serve", "--work")}
}

// post calls the control API and decodes its answer.
func (l runningLobby) post(internalToken, path, body string, into any) int {
	l.t.Helper()
	a := webtest.Send(l.t, http.DefaultClient, webtest.Request(l.t, http.MethodPost, "http://"+l.logged("listening", "realtime_control_addr")+path, body,
		"x-nexis-internal-token", internalToken))
	require.NoError(l.t, json.Unmarshal([]byte(a.Body), into))
	return a.Status
}

func (l runningLobby) token(project, key string) string {
	l.t.Helper()
	var minted struct{ Token string }
	require.Equal(l.t, http.StatusOK, l.post(lobbyToken, "/tokens", fmt.Sprintf(`{"project_id":%q,"key_id":%q}`, project, key), &minted))
	return minted.Token
}

func (l runningLobby) client(raw string) realtimetest.Options {
	return realtimetest.Options{URL: "ws://" + l.logged("listening", "realtime_addr") + "/", Token: raw}
}

// What Nexis' scripts do, over two replicas: make a project, a key and tokens, meet in a room, lose the key.
func TestServeTheRealtimeLobbyAlone(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	here, there := startLobby(t, url), startLobby(t, url)
	var project, key struct{ ID string }
	require.Equal(t, http.StatusCreated, here.post(lobbyToken, "/projects", `{"name":"mygame"}`, &project))
	require.Equal(t, http.StatusCreated, there.post(lobbyToken, "/projects/"+project.ID+"/keys", `{}`, &key))

	ann, bob := realtimetest.Dial(t, here.client(there.token(project.ID, key.ID))), realtimetest.Dial(t, there.client(here.token(project.ID, key.ID)))
	for _, c := range []*realtimetest.Client{ann, bob} {
		require.Equal(t, "counter_plugin_room:default", c.Join(t, "counter_plugin_room", "", nil))
	}
	ann.Tell(t, "counter_plugin_room:default", "inc", map[string]any{"by": float64(3)})
	bob.Wait(t, "the change of the other replica's client", func(v *realtimetest.View) bool {
		return v.Room("counter_plugin_room:default").State["counter"] == float64(3)
	})

	var rotated struct{ ID string }
	revoked := here.token(project.ID, key.ID)
	require.Equal(t, http.StatusCreated, here.post(lobbyToken, "/projects/"+project.ID+"/keys/"+key.ID+"/rotate", "", &rotated))
	for _, c := range []*realtimetest.Client{ann, bob} {
		c.Wait(t, "the end of a connection of the key", func(v *realtimetest.View) bool { return v.Closed() == 4403 })
	}
	for _, l := range []runningLobby{here, there} {
		_, err := realtimetest.Connect(t.Context(), l.client(revoked))
		var refused *realtimetest.RefusedError
		require.ErrorAs(t, err, &refused)
		require.Contains(t, refused.Reason, "token key status failed: ")
		require.EqualValues(t, 4403, refused.Status)
	}
	realtimetest.Dial(t, there.client(here.token(project.ID, rotated.ID)))
	require.NoError(t, here.stop())
	require.NoError(t, there.stop())
	for _, log := range []string{here.log.String(), there.log.String()} {
		require.NotContains(t, log, revoked)
		require.NotContains(t, log, lobbyMaster)
		require.NotContains(t, log, lobbyToken)
	}
}

// The examples of Nexis work as they are: its demo project, its key, its internal token and its room types.
func TestDevServesTheExamplesOfNexis(t *testing.T) {
	t.Parallel()
	url, data := dbtest.Empty(t), scratch(t)
	for range 2 { // the second run finds the project
		l := runningLobby{start(t, env("DATABASE_URL="+url), "dev", "--data", data, "--addr", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0", "--orchestrator-addr", "127.0.0.1:0",
			"--realtime-addr", "127.0.0.1:0", "--realtime-control-addr", "127.0.0.1:0", "--console-addr", "127.0.0.1:0", "--log-level", "info")}
		l.stdout.AwaitLine(t, "dev hints")
		hints := director.OK(t, env(), "dev", "hints", "--data", data)
		require.Contains(t, lineWith(t, hints, "  Lobby "), "ws://"+l.logged("listening", "realtime_addr"))
		require.Contains(t, lineWith(t, hints, "  ada=$("), `/tokens -H "x-nexis-internal-token: nexis-dev-internal-token"`)
		var minted struct{ Token string }
		require.Equal(t, http.StatusOK, l.post("nexis-dev-internal-token", "/tokens", `{"project_id":"demo-project","key_id":"demo-key"}`, &minted))
		_, err := token.VerifyProject(minted.Token, func(string, string) ([]string, error) { return []string{"demo-secret"}, nil }, time.Now())
		require.NoError(t, err)
		c := realtimetest.Dial(t, l.client(minted.Token))
		require.Equal(t, "counter_room:default", c.Join(t, "counter_room", "", nil))
		c.Close()
		require.NoError(t, l.stop())
	}
}
