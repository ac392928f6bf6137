package main

import (
	"bytes"
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/server/projects"
	"github.com/lattice-director/director/server/realtime"
	"github.com/lattice-director/director/token"
)

func TestMain(m *testing.M) { dbtest.VerifyNoLeaks(m) }

const master = "a master secret of tests"

// startReplica starts a replica of the realtime lobby on a database, which replicas can share, and returns its address.
func startReplica(t *testing.T, url string) string {
	store := storetest.Open(t, url, func(c *db.Config) { c.Queueing = realtime.Queueing("global", 0) })
	server := must.Get(realtime.New(store,
		realtime.Options{Addr: "127.0.0.1:0", AuthMode: realtime.AuthRequired, MasterSecret: master,
			RequireKey: true}))(t)
	require.NoError(t, server.Listen(t.Context()))
	background.Loop(t, server.Run, func(context.Context) { _ = server.Serve() })
	t.Cleanup(func() {
		// Half of these 2 s are for closing connections one by one.
		limit, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = server.Stop(limit)
	})
	require.Eventually(t, server.IsReady, time.Minute, time.Millisecond)
	return "ws://" + server.Addr().String()
}

// startControl starts the control API on the database, with the project p1 and its key k1, and returns its address.
func startControl(t *testing.T, url string) string {
	store := storetest.Open(t, url)
	sealer := keytest.Sealer(t, 0)
	must.Get(store.CreateProject(t.Context(), db.NewProject{ID: "p1", Name: "one", Region: "global"}))(t)
	_, _, err := store.CreateProjectKey(t.Context(),
		db.NewProjectKey{ProjectID: "p1", ID: "k1", Name: "one", Scopes: []string{db.ScopeMint},
			Seal: sealer.NewProjectSecret})
	require.NoError(t, err)
	handler := must.Get(projects.New(projects.Options{Store: store, Tokens: []string{"internal"},
		Secrets: token.ProjectSecrets{Master: master, Sealer: sealer}}))(t)
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	return web.URL
}

// Pins the steps of the guide to a match, over two replicas: the program meets, chats, is ready, queues and finds its
// match.
func TestFriendsFindTheirMatch(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	worker := must.Get(loop.New(loop.Options{Store: storetest.Open(t, url), Universe: "global"}))(t)
	background.Loop(t, worker.Run)
	var out bytes.Buffer
	args := []string{
		"-lobby", startReplica(t, url) + "," + startReplica(t, url),
		"-control", startControl(t, url), "-internal-token", "internal", "-project", "p1", "-key", "k1",
		"-friends", "ada,bo,cleo",
	}
	require.NoError(t, runExample(t.Context(), &out, args))
	for _, line := range []string{
		"ada is connected to ws://", "all are in lobby:", "everybody has heard 3 lines of chat, in the same order",
		"they are in the match duel:match:",
		"the match has no game server",
	} {
		require.Contains(t, out.String(), line)
	}

	args[5] = "wrong" // the internal token
	require.ErrorContains(t, runExample(t.Context(), &out, args), "401")
	require.ErrorContains(t, runExample(t.Context(), &out, []string{"-control", "http://127.0.0.1:1"}), "127.0.0.1:1")
}
