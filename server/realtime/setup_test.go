package realtime

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/logtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/internal/testkit/variant"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server/realtime/realtimetest"
	"github.com/lattice-director/director/token"
)

const (
	patience   = 30 * time.Second
	testMaster = "a master secret of tests"
)

// served is a replica that serves, on a database of the test's own or one that it shares with others.
type served struct {
	*Server

	t        testing.TB
	database *storetest.DB
	log      *logtest.Buffer
	cut      context.CancelFunc
	over     sync.WaitGroup
}

// serve starts a replica with the rooms of the conformance suite, whose clients need no token.
func serve(t testing.TB, change ...func(*Options)) *served {
	t.Helper()
	return serveOn(t, dbtest.New(t), change...)
}

func serveOn(t testing.TB, database string, change ...func(*Options)) *served {
	t.Helper()
	return serveStore(t, database, storetest.Open(t, database), change...)
}

func serveStore(t testing.TB, database string, store *db.Store, change ...func(*Options)) *served {
	t.Helper()
	v := &served{t: t, database: &storetest.DB{Store: store, T: t, URL: database}, log: new(logtest.Buffer)}
	o := Options{
		Listener: webtest.Listen(t), AuthMode: AuthOptional, MasterSecret: testMaster, RequireKey: true, Conformance: true,
		Log: slog.New(slog.NewTextHandler(v.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	o.timing.pushDelay = 300 * time.Millisecond // The strict client measures it on a machine that may be busy.
	for _, c := range change {
		c(&o)
	}
	v.Server = must.Get(New(store, o))(t)
	require.NoError(t, v.Listen(t.Context()))
	ctx, cut := context.WithCancel(context.Background())
	v.cut = cut
	v.over.Go(func() { _ = v.Serve() })
	v.over.Go(func() { v.Run(ctx) })
	t.Cleanup(v.end)
	require.Eventually(t, v.IsReady, patience, time.Millisecond)
	return v
}

// end stops the replica at once: the spread of closes is a test of its own.
func (v *served) end() {
	for _, c := range v.openConns() {
		c.cutOff()
	}
	require.Eventually(v.t, func() bool { return len(v.openConns()) == 0 }, patience, time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(v.t, v.Stop(ctx))
	v.cut()
	v.over.Wait()
}

func (v *served) address() string { return "ws://" + v.Addr().String() + "/any/path" }

// client connects a strict client.
func (v *served) client(change ...func(*realtimetest.Options)) *realtimetest.Client {
	v.t.Helper()
	o := variant.Apply(realtimetest.Options{URL: v.address(), Project: "p1"}, change...)
	return realtimetest.Dial(v.t, o)
}

// key makes a project and a key, and returns a token of it.
func (v *served) key(project, id string, change ...func(*token.ProjectClaims)) string {
	v.t.Helper()
	must.Get(v.store.CreateProject(v.t.Context(),
		db.NewProject{ID: project, Name: project, Region: "global", Actor: "test"}))(v.t)
	seal := func(string, string) (secret string, sealed []byte, by string) {
		return "", []byte("not sealed"), "none"
	}
	_, _, err := v.store.CreateProjectKey(v.t.Context(),
		db.NewProjectKey{ProjectID: project, ID: id, Name: id, Scopes: []string{db.ScopeMint}, Actor: "test",
			Seal: seal})
	require.NoError(v.t, err)
	return mint(project, id, change...)
}

func mint(project, key string, change ...func(*token.ProjectClaims)) string {
	return token.MintProject(token.ProjectSecret(testMaster, project), variant.Apply(claimsOf(project, key), change...))
}

// raw is a client that sends what it likes, and sees frames as they are.
type raw struct {
	*websocket.Conn

	t testing.TB
}

func (v *served) raw(t testing.TB) raw {
	t.Helper()
	ws, refused := webtest.DialWebSocket(t, v.address(), nil)
	require.NotNil(t, ws, "%v", refused)
	return raw{ws, t}
}

// shaken is a raw client with a session and the JSON codec.
func (v *served) shaken() raw {
	v.t.Helper()
	r := v.raw(v.t)
	r.text(`{"v":1,"codecs":["json"],"project_id":"p1"}`)
	require.Equal(v.t, "handshake.ok", r.next().Type)
	return r
}

func (r raw) text(frame string) {
	r.t.Helper()
	require.NoError(r.t, r.Write(r.t.Context(), websocket.MessageText, []byte(frame)))
}

type seen struct {
	Type string         `json:"t"`
	RID  string         `json:"rid"`
	Room string         `json:"room"`
	P    map[string]any `json:"p"`
}

// next returns the next frame, which has to be text.
func (r raw) next() (e seen) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	kind, frame, err := r.Read(ctx)
	require.NoError(r.t, err)
	require.Equal(r.t, websocket.MessageText, kind)
	require.NoError(r.t, json.Unmarshal(frame, &e))
	return e
}

// closed reads until the connection is closed, and returns the frames before and the close code.
func (r raw) closed() (before []seen, code websocket.StatusCode) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	for {
		_, frame, err := r.Read(ctx)
		if err != nil {
			require.NoError(r.t, ctx.Err())
			return before, websocket.CloseStatus(err)
		}
		var e seen
		require.NoError(r.t, json.Unmarshal(frame, &e))
		before = append(before, e)
	}
}
