package main

import (
	"bytes"
	"context"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/examples/lobby/client"
	"github.com/lattice-director/director/examples/lobby/friends"
	"github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/server/projects"
	"github.com/lattice-director/director/server/realtime"
	"github.com/lattice-director/director/token"
)

func TestMain(m *testing.M) { dbtest.VerifyNoLeaks(m) }

const master = "a master secret of tests"

// replica starts a replica of the realtime lobby on a database, which replicas can share, and returns its address and
// what stops it.
func replica(t *testing.T, url string) (address string, stop func()) {
	store := storetest.Open(t, url, func(c *db.Config) { c.Queueing = realtime.Queueing("global", 0) })
	server, err := realtime.New(store, realtime.Options{Addr: "127.0.0.1:0", Auth: realtime.AuthRequired, Master: master, RequireKey: true})
	require.NoError(t, err)
	require.NoError(t, server.Listen(t.Context()))
	ctx, end := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { server.Run(ctx) })
	running.Go(func() { _ = server.Serve() })
	stop = sync.OnceFunc(func() {
		// half of it is for closing connections one by one
		limit, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = server.Stop(limit)
		end()
		running.Wait()
	})
	t.Cleanup(stop)
	require.Eventually(t, server.Ready, time.Minute, time.Millisecond)
	return "ws://" + server.Addr().String(), stop
}

// control starts the control API on the database, with the project p1 and its key k1, and returns its address.
func control(t *testing.T, url string) string {
	store := storetest.Open(t, url)
	sealer, err := token.NewSealer(make([]byte, token.KEKBytes))
	require.NoError(t, err)
	_, err = store.CreateProject(t.Context(), db.NewProject{ID: "p1", Name: "one", Region: "global"})
	require.NoError(t, err)
	_, _, err = store.CreateProjectKey(t.Context(), db.NewProjectKey{Project: "p1", ID: "k1", Name: "one", Scopes: []string{db.ScopeMint}, Seal: sealer.NewProjectSecret})
	require.NoError(t, err)
	handler, err := projects.New(projects.Options{Store: store, Tokens: []string{"internal"}, Secrets: token.ProjectSecrets{Master: master, Sealer: sealer}})
	require.NoError(t, err)
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	return web.URL
}

// makeMatches runs the director loop until the test ends.
func makeMatches(t *testing.T, url string) {
	l, err := loop.New(loop.Options{Store: storetest.Open(t, url), Universe: "global"})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var over sync.WaitGroup
	over.Go(func() { l.Run(ctx) })
	t.Cleanup(func() { cancel(); over.Wait() })
}

// Pins the steps of the guide to a match, over two replicas: the program meets, chats, is ready, queues and finds its
// match.
func TestFriendsFindTheirMatch(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	makeMatches(t, url)
	var out bytes.Buffer
	one, _ := replica(t, url)
	other, _ := replica(t, url)
	args := []string{
		"-lobby", one + "," + other, "-control", control(t, url), "-internal-token", "internal", "-project", "p1", "-key", "k1",
		"-friends", "ada,bo,cleo",
	}
	require.NoError(t, run(t.Context(), &out, args))
	for _, line := range []string{
		"ada is connected to ws://", "all are in lobby:", "everybody has heard 3 lines of chat, in the same order", "they are in the match duel:match:",
		"the match has no game server",
	} {
		require.Contains(t, out.String(), line)
	}

	args[5] = "wrong"
	require.ErrorContains(t, run(t.Context(), &out, args), "401")
	require.ErrorContains(t, run(t.Context(), &out, []string{"-control", "http://127.0.0.1:1"}), "127.0.0.1:1")
}

// Pins a client that loses its session, its rooms or a change of them with its replica.
func TestTheClientFollowsItsSession(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	one, stopOne := replica(t, url)
	other, _ := replica(t, url)
	backend := client.Backend{URL: control(t, url), InternalToken: "internal"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	connect := func(name string, urls ...string) *friends.Friend {
		token, err := backend.Token(ctx, "p1", "k1", name)
		require.NoError(t, err)
		f, err := friends.New(ctx, name, token, urls...)
		require.NoError(t, err)
		t.Cleanup(f.Close)
		return f
	}
	ada, bo := connect("ada", other), connect("bo", one, other)
	group := friends.Group{ada, bo}
	require.NoError(t, group.Meet(ctx, "lobby:x"))
	session := bo.Status().Session

	stopOne()
	require.NoError(t, ada.Send(ctx, "lobby:x", "set", map[string]any{"key": "map", "value": "dust"}))
	require.NoError(t, bo.Await(ctx, func() bool { return bo.Status().Resumed == 1 && group.SameState("lobby:x") }))
	require.Equal(t, client.Status{Session: session, URL: other, Connected: true, Resumed: 1}, bo.Status())
	_, err := group.Chat(ctx, "lobby:x", "again")
	require.NoError(t, err)

	refused := (*client.Error)(nil)
	require.ErrorAs(t, bo.Send(ctx, "lobby:x", "start", map[string]any{"room_type": "duel"}), &refused)
	require.Equal(t, "refused", refused.Code)
	require.NoError(t, bo.Repeat(ctx, "room.leave", "lobby:x", map[string]any{}, nil))
	_, err = client.Connect(ctx, client.Options{URLs: []string{other}, Token: "wrong"})
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "token_refused", refused.Code)
}
