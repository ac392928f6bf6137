package orchestrator

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	commands "github.com/lattice-director/director/internal/rivalis/command"
	"github.com/lattice-director/director/internal/rivalis/roster"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/internal/testkit/webtest"
)

// apiReplica is the REST API of one replica on a real database. The test plays the agents' connections.
type apiReplica struct {
	*httptest.Server

	store *db.Store
	id    uuid.UUID
}

func newReplica(t testing.TB, url string, maxStreams int) *apiReplica {
	t.Helper()
	store := storetest.Open(t, url)
	r := &apiReplica{store: store}
	r.id = must.Get(store.BeginReplica(t.Context(), "global"))(t)
	copied := must.Get(roster.New(store, "global", roster.Config{}))(t)
	events := must.Get(roster.NewEvents(store, copied, maxStreams, roster.Config{}))(t)
	caller := commands.New(store, "global", commands.Options{
		Replica: func() uuid.UUID { return r.id }, Timeout: patience,
		WaitFor: func(ctx context.Context, tx uint64) { _ = copied.WaitFor(ctx, tx) },
	})
	ctx, stop := context.WithCancel(context.Background())
	face := must.Get(NewREST(RESTOptions{
		Region: "global", Roster: copied, Lookup: store, Commander: caller, AdminKeys: []string{adminKey},
		CheckReady: func(context.Context) error { return nil }, Stopping: ctx,
		FollowEvents: func(ctx context.Context, lastEventID string) (Follower, error) {
			stream, err := events.Stream(ctx, lastEventID)
			if err != nil {
				return nil, err
			}
			return stream, nil
		},
	}))(t)
	r.Server = httptest.NewServer(face)
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{copied.Run, events.Run, caller.Run} {
		running.Go(func() { _ = run(ctx) }) // Run only fails if it is called twice
	}
	t.Cleanup(func() {
		stop()
		r.Server.Close()
		running.Wait()
	})
	require.Eventually(t, copied.Ready, patience, time.Millisecond)
	return r
}

// host joins an agent that is connected to this replica, and acks its commands.
func (r *apiReplica) host(t *testing.T, id, name string) {
	t.Helper()
	ref := db.AgentRef{Region: "global", ID: id, ReplicaID: r.id}
	must.Get(r.store.JoinAgent(t.Context(), db.AgentJoin{
		Ref: ref, KeyFingerprint: "key#00000000", StateHash: "h", ReplySeq: 1, Content: db.AgentContent{
			Name: name, ProcessUID: "p_" + id, AgentVersion: "8.0.0", ProtocolVersion: 3,
			EndpointURL: "wss://" + name + ".example", RoomTypes: []string{"match"},
			Labels: map[string]string{"region": "eu"}, AutoCreate: true, Status: statusActive,
		},
	}))(t)
	wake, stop := r.store.Subscribe(db.TopicReplica(r.id), "global")
	t.Cleanup(stop)
	go func() {
		for {
			select {
			case <-wake:
			case <-t.Context().Done():
				return
			}
			pending, _ := r.store.PendingCommands(t.Context(), "global", r.id, uuid.Nil)
			for _, c := range pending {
				_, _ = r.store.AcknowledgeCommand(t.Context(),
					db.CommandAck{AgentRef: ref, CommandID: c.ID, IsOK: true, RoomType: c.RoomType, RawID: c.RawID})
			}
		}
	}()
}

// call returns the status, the body and the entity tag of an answer.
func (r *apiReplica) call(t *testing.T, method, path, body string) (status int, text, etag string) {
	t.Helper()
	a := webtest.Send(t, r.Client(), webtest.Request(t, method, r.URL+path, body, "Authorization", "Bearer "+adminKey))
	return a.Status, a.Body, a.Header.Get("ETag")
}

// follow opens a stream of events.
func (r *apiReplica) follow(t *testing.T, after string) (events <-chan webtest.Event, cut func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	status, events := r.begin(ctx, t, after)
	require.Equal(t, http.StatusOK, status)
	return events, cancel
}

// nextEvent returns the type and the id of the next event other than sync, because the number of sync events is not
// fixed.
func nextEvent(t *testing.T, events <-chan webtest.Event) (kind, id string) {
	t.Helper()
	for {
		if e := webtest.NextEvent(t, events); e.Name != roster.Sync {
			return e.Name, e.ID
		}
	}
}

// A call on one replica reaches an agent of another replica, and both replicas show the change at once.
func TestACallReachesAnAgentOfAnotherReplica(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	a, b := newReplica(t, url, 10), newReplica(t, url, 10)
	onB, _ := b.follow(t, "")
	b.host(t, "562cfc2cbeef8cf4", "eu0")
	kind, joined := nextEvent(t, onB)
	require.Equal(t, roster.InstanceJoined, kind)

	status, body, _ := a.call(t, http.MethodPost, "/v1/rooms", `{"type":"match","roomId":"match-42"}`)
	require.Equal(t, http.StatusCreated, status, body)
	room := `{"id":"match-42","type":"match","connections":0,"instanceId":"562cfc2cbeef8cf4","endpointUrl":"wss://eu0.example","local":false}`
	require.Equal(t, data(room), body)
	for _, r := range []*apiReplica{a, b} {
		status, body, _ = r.call(t, http.MethodGet, "/v1/rooms/match-42", "")
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, data(room), body)
		status, body, _ = r.call(t, http.MethodPost, "/v1/rooms", `{"type":"match","roomId":"match-42"}`)
		require.Equal(t, http.StatusConflict, status)
		require.Contains(t, body, db.CodeRoomExists)
	}
	_, body, _ = a.call(t, http.MethodGet, "/v1/rooms", "")
	require.Equal(t, data("["+room+"]"), body, "the caller reads what it wrote, in lists too")
	kind, created := nextEvent(t, onB)
	require.Equal(t, roster.RoomCreated, kind)

	require.Eventually(t, func() bool { return sameTag(t, a, b) }, patience, 10*time.Millisecond,
		"the entity tags of replicas become equal")

	status, _, _ = a.call(t, http.MethodPost, "/v1/instances/562cfc2cbeef8cf4/drain", "")
	require.Equal(t, http.StatusOK, status)
	for _, r := range []*apiReplica{a, b} {
		_, body, _ = r.call(t, http.MethodGet, "/v1/instances/562cfc2cbeef8cf4", "")
		require.Contains(t, body, `"status":"draining"`)
		status, body, _ = r.call(t, http.MethodPost, "/v1/rooms", `{"type":"match"}`)
		require.Equal(t, http.StatusConflict, status)
		require.Contains(t, body, db.CodeNoCandidate)
	}
	status, _, _ = b.call(t, http.MethodPost, "/v1/instances/562cfc2cbeef8cf4/undrain", "")
	require.Equal(t, http.StatusOK, status)

	status, _, _ = a.call(t, http.MethodDelete, "/v1/rooms/match-42", "")
	require.Equal(t, http.StatusOK, status)
	for _, r := range []*apiReplica{a, b} {
		status, _, _ = r.call(t, http.MethodGet, "/v1/rooms/match-42", "")
		require.Equal(t, http.StatusNotFound, status)
	}
	kind, destroyed := nextEvent(t, onB)
	require.Equal(t, roster.RoomDestroyed, kind)

	// A stream that was cut resumes on the other replica without losing events.
	resumed, cut := a.follow(t, joined)
	defer cut()
	kind, id := nextEvent(t, resumed)
	require.Equal(t, []string{roster.RoomCreated, created}, []string{kind, id})
	kind, id = nextEvent(t, resumed)
	require.Equal(t, []string{roster.RoomDestroyed, destroyed}, []string{kind, id})
}

func sameTag(t *testing.T, a, b *apiReplica) bool {
	_, _, one := a.call(t, http.MethodGet, "/v1/stats", "")
	_, _, other := b.call(t, http.MethodGet, "/v1/instances", "")
	return one == other && one != ""
}

// Streams beyond the limit are refused. A stream that ends frees its slot.
func TestTooManyStreams(t *testing.T) {
	t.Parallel()
	r := newReplica(t, dbtest.New(t), 2)
	_, cut := r.follow(t, "")
	_, _ = r.follow(t, "")
	status, body, _ := r.call(t, http.MethodGet, "/v1/events", "")
	require.Equal(t, http.StatusTooManyRequests, status)
	require.JSONEq(t, `{"status":"rejected","cause":"SSE_LIMIT"}`, body)
	cut()
	require.Eventually(t, func() bool { return r.opens(t) }, patience, 10*time.Millisecond)
}

// opens reports whether a stream can be opened, and then closes it.
func (r *apiReplica) opens(t *testing.T) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	status, _ := r.begin(ctx, t, "")
	return status == http.StatusOK
}

func (r *apiReplica) begin(ctx context.Context, t *testing.T, after string) (status int, events <-chan webtest.Event) {
	t.Helper()
	request := webtest.Request(t, http.MethodGet, r.URL+"/v1/events", nil, "Authorization", "Bearer "+adminKey,
		"Last-Event-ID", after)
	a, events := webtest.Events(t, r.Client(), request.WithContext(ctx))
	return a.Status, events
}

// FuzzLastEventID checks that a stream begins with any header value: after that event, at the present, or with a
// resync.
func FuzzLastEventID(f *testing.F) {
	for _, id := range []string{"", "x", "7.0190b5a0-0000-7000-8000-000000000001.0",
		"18446744073709551615.0190b5a0-0000-7000-8000-000000000001.9", "-1..", "7.x.0"} {
		f.Add(id)
	}
	r := newReplica(f, dbtest.New(f), 10_000)
	f.Fuzz(func(t *testing.T, id string) {
		if strings.IndexFunc(id, func(c rune) bool { return c < ' ' || c > '~' }) >= 0 {
			return // not a valid HTTP header
		}
		_, cut := r.follow(t, id)
		cut()
	})
}
