package orchestrator

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	commands "github.com/lattice-director/director/internal/rivalis/command"
	"github.com/lattice-director/director/internal/rivalis/roster"
	"github.com/lattice-director/director/internal/testkit/background"
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
			stream, err := events.OpenStream(ctx, lastEventID)
			if err != nil {
				return nil, err
			}
			return stream, nil
		},
	}))(t)
	r.Server = httptest.NewServer(face)
	for _, run := range []func(context.Context) error{copied.Run, events.Run, caller.Run} {
		background.Run(t, run)
	}
	t.Cleanup(func() { stop(); r.Server.Close() })
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

func (r *apiReplica) call(t *testing.T, method, path, body string) webtest.Answer {
	t.Helper()
	return webtest.Send(t, r.Client(), webtest.Request(t, method, r.URL+path, body, "Authorization",
		"Bearer "+adminKey))
}

// follow opens a stream of events, which may be refused.
func (r *apiReplica) follow(t *testing.T, after string) (status int, events <-chan webtest.Event, cut func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	a, events := webtest.Events(t, r.Client(), webtest.Request(t, http.MethodGet, r.URL+"/v1/events", nil,
		"Authorization", "Bearer "+adminKey, "Last-Event-ID", after).WithContext(ctx))
	return a.Status, events, cancel
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
	status, onB, _ := b.follow(t, "")
	require.Equal(t, http.StatusOK, status)
	b.host(t, "562cfc2cbeef8cf4", "eu0")
	kind, joined := nextEvent(t, onB)
	require.Equal(t, roster.InstanceJoined, kind)

	made := a.call(t, http.MethodPost, "/v1/rooms", `{"type":"match","roomId":"match-42"}`)
	require.Equal(t, http.StatusCreated, made.Status, made.Body)
	room := `{"id":"match-42","type":"match","connections":0,"instanceId":"562cfc2cbeef8cf4","endpointUrl":"wss://eu0.example","local":false}`
	require.Equal(t, data(room), made.Body)
	for _, r := range []*apiReplica{a, b} {
		found := r.call(t, http.MethodGet, "/v1/rooms/match-42", "")
		require.Equal(t, http.StatusOK, found.Status)
		require.Equal(t, data(room), found.Body)
		twice := r.call(t, http.MethodPost, "/v1/rooms", `{"type":"match","roomId":"match-42"}`)
		require.Equal(t, http.StatusConflict, twice.Status)
		require.Contains(t, twice.Body, db.CodeRoomExists)
	}
	require.Equal(t, data("["+room+"]"), a.call(t, http.MethodGet, "/v1/rooms", "").Body,
		"the caller reads what it wrote, in lists too")
	kind, created := nextEvent(t, onB)
	require.Equal(t, roster.RoomCreated, kind)

	require.Eventually(t, func() bool {
		one := a.call(t, http.MethodGet, "/v1/stats", "").Header.Get("ETag")
		return one != "" && one == b.call(t, http.MethodGet, "/v1/instances", "").Header.Get("ETag")
	}, patience, 10*time.Millisecond, "the entity tags of replicas become equal")

	require.Equal(t, http.StatusOK, a.call(t, http.MethodPost, "/v1/instances/562cfc2cbeef8cf4/drain", "").Status)
	for _, r := range []*apiReplica{a, b} {
		require.Contains(t, r.call(t, http.MethodGet, "/v1/instances/562cfc2cbeef8cf4", "").Body, `"status":"draining"`)
		full := r.call(t, http.MethodPost, "/v1/rooms", `{"type":"match"}`)
		require.Equal(t, http.StatusConflict, full.Status)
		require.Contains(t, full.Body, db.CodeNoCandidate)
	}
	require.Equal(t, http.StatusOK, b.call(t, http.MethodPost, "/v1/instances/562cfc2cbeef8cf4/undrain", "").Status)

	require.Equal(t, http.StatusOK, a.call(t, http.MethodDelete, "/v1/rooms/match-42", "").Status)
	for _, r := range []*apiReplica{a, b} {
		require.Equal(t, http.StatusNotFound, r.call(t, http.MethodGet, "/v1/rooms/match-42", "").Status)
	}
	kind, destroyed := nextEvent(t, onB)
	require.Equal(t, roster.RoomDestroyed, kind)

	// A stream that was cut resumes on the other replica without losing events.
	_, resumed, cut := a.follow(t, joined)
	defer cut()
	kind, id := nextEvent(t, resumed)
	require.Equal(t, []string{roster.RoomCreated, created}, []string{kind, id})
	kind, id = nextEvent(t, resumed)
	require.Equal(t, []string{roster.RoomDestroyed, destroyed}, []string{kind, id})
}

// Streams beyond the limit are refused. A stream that ends frees its slot.
func TestTooManyStreams(t *testing.T) {
	t.Parallel()
	r := newReplica(t, dbtest.New(t), 2)
	_, _, cut := r.follow(t, "")
	status, _, _ := r.follow(t, "")
	require.Equal(t, http.StatusOK, status)
	refused := r.call(t, http.MethodGet, "/v1/events", "")
	require.Equal(t, http.StatusTooManyRequests, refused.Status)
	require.JSONEq(t, `{"status":"rejected","cause":"SSE_LIMIT"}`, refused.Body)
	cut()
	require.Eventually(t, func() bool {
		status, _, cut := r.follow(t, "")
		cut()
		return status == http.StatusOK
	}, patience, 10*time.Millisecond)
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
		status, _, cut := r.follow(t, id)
		require.Equal(t, http.StatusOK, status)
		cut()
	})
}
