package orchestrator

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/rivalis/roster"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/variant"
)

const (
	adminKey = "an-admin-key-of-32-characters-00"
	gameKey  = "an-agent-key-of-32-characters-00"
)

// fleet is a fake backend of REST, for states that are rare in a real fleet. It has a real roster, which reads an
// in-memory fleet.
type fleet struct {
	agents  []db.InstanceInfo
	away    bool // the database does not answer
	answer  db.CommandAnswer
	err     error // returned by commands
	unready bool

	mu       sync.Mutex
	created  []db.NewRoom
	commands []string // as in "destroy lobby by key#01234567"
}

func duelFleet() *fleet {
	two, sixtyFour := int32(2000), int32(64)
	rooms := []db.RoomInfo{
		{ID: "lobby%20%231%2F%C3%BC", Type: "lobby", Connections: 3, InstanceID: "562cfc2cbeef8cf4",
			EndpointURL: "wss://eu0.game.example.com/?a=1&b=<2>", Local: true},
		{ID: "match-42", Type: "match", Connections: 7, InstanceID: "562cfc2cbeef8cf4",
			EndpointURL: "wss://eu0.game.example.com/?a=1&b=<2>"},
	}
	return &fleet{agents: []db.InstanceInfo{
		{
			ID: "562cfc2cbeef8cf4", Name: "eu0", ProcessUID: "p_78ef19167edc060162262184",
			EndpointURL: "wss://eu0.game.example.com/?a=1&b=<2>",
			Labels:      map[string]string{"region": "eu", "tier": "a:b"}, RoomTypes: []string{"lobby", "match"},
			Rooms: rooms, Connections: 10,
			Capacity: db.AgentCapacity{MaxConnections: &two, MaxRooms: &sixtyFour}, AutoCreate: true, Status: "active",
			LastSyncAt: 1_795_000_000_123, AgentVersion: "8.0.0", ProtocolVersion: 3,
		},
		{
			ID: "0000000000000001", ProcessUID: "p_2", EndpointURL: "ws://[::1]:1", Labels: map[string]string{},
			RoomTypes: []string{},
			Rooms:     []db.RoomInfo{}, Status: "draining", LastSyncAt: 1_795_000_000_000, AgentVersion: "8.0.0",
			ProtocolVersion: 3,
		},
	}}
}

var (
	errAway     = &fault.Error{Kind: fault.Unavailable, Code: "unavailable", Detail: "away", RetryAfter: time.Second}
	errNoAgent  = &fault.Error{Kind: fault.NotFound, Code: db.CodeInstanceNotFound}
	errNoRoom   = &fault.Error{Kind: fault.NotFound, Code: db.CodeRoomNotFound}
	theReplica  = uuid.MustParse("0190b5a0-0000-7000-8000-000000000001")
	duelsJoined = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
)

func (f *fleet) FindAgent(_ context.Context, _, id string) (db.InstanceInfo, error) {
	if f.away {
		return db.InstanceInfo{}, errAway
	}
	for _, a := range f.agents {
		if a.ID == id {
			return a, nil
		}
	}
	return db.InstanceInfo{}, errNoAgent
}

func (f *fleet) FindRoom(_ context.Context, _, id string) (db.RoomInfo, error) {
	if f.away {
		return db.RoomInfo{}, errAway
	}
	for _, a := range f.agents {
		for _, r := range a.Rooms {
			if r.ID == id {
				return r, nil
			}
		}
	}
	return db.RoomInfo{}, errNoRoom
}

func (f *fleet) Create(_ context.Context, r db.NewRoom) (db.CommandAnswer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.created = append(f.created, r)
	return f.answer, f.err
}

func (f *fleet) command(words ...string) (db.CommandAnswer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commands = append(f.commands, strings.Join(words, " "))
	return f.answer, f.err
}

func (f *fleet) Destroy(_ context.Context, roomID, actor string) (db.CommandAnswer, error) {
	return f.command("destroy", roomID, "by", actor)
}

func (f *fleet) Drain(_ context.Context, agentID, actor string, keep bool) (db.CommandAnswer, error) {
	if keep {
		return f.command("drain", agentID, "for good by", actor)
	}
	return f.command("drain", agentID, "by", actor)
}

func (f *fleet) Undrain(_ context.Context, agentID, actor string) (db.CommandAnswer, error) {
	return f.command("undrain", agentID, "by", actor)
}

// Subscribe, FeedEnd, RosterAfter and RosterSince implement the store of a roster.
func (f *fleet) Subscribe(string, string) (<-chan struct{}, func()) { return nil, func() {} }

func (f *fleet) FeedEnd(context.Context) (db.FeedPoint, error) { return db.FeedPoint{}, nil }

func (f *fleet) RosterAfter(context.Context, string, string) (page db.RosterPage, full bool, err error) {
	page.Replicas = []db.RosterReplica{{ID: theReplica, IsLive: true}}
	for i := range f.agents {
		page.Agents = append(page.Agents,
			db.RosterAgent{InstanceInfo: f.agents[i], ReplicaID: theReplica,
				JoinedAt: duelsJoined.Add(time.Duration(i) * time.Second), ChangedTx: 7})
	}
	return page, false, nil
}

func (f *fleet) RosterSince(_ context.Context, _ string, since db.FeedPoint) (db.RosterPage, error) {
	return db.RosterPage{NextPoint: since, Replicas: []db.RosterReplica{{ID: theReplica, IsLive: true}}}, nil
}

// rig is the REST handler of a fleet, with its log.
type rig struct {
	*REST
	*fleet

	log *bytes.Buffer
}

func newRig(t testing.TB, f *fleet, change ...func(*RESTOptions)) rig {
	t.Helper()
	b := rig{fleet: f, log: new(bytes.Buffer)}
	copied := must.Get(roster.New(f, "global", roster.Config{}))(t)
	background.Run(t, copied.Run)
	require.Eventually(t, copied.Ready, patience, time.Millisecond)
	o := variant.Apply(RESTOptions{
		Region: "global", Roster: copied, Lookup: f, Commander: f,
		AdminKeys: []string{adminKey, "a-second-admin-key-of-32-chars-0"},
		CheckReady: func(context.Context) error {
			if f.unready {
				return errAway
			}
			return nil
		},
		FollowEvents: func(context.Context, string) (Follower, error) { return nil, errAway },
		Log:          slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelInfo})),
	}, change...)
	b.REST = must.Get(NewREST(o))(t)
	return b
}

// call makes a request with the admin key. headers are alternating names and values; an empty value removes the header.
func (b rig) call(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+adminKey)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Del(headers[i])
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	return b.serve(r)
}

func (b rig) serve(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

func (b rig) get(target string, headers ...string) *httptest.ResponseRecorder {
	return b.call(http.MethodGet, target, "", headers...)
}

// rejected compares an error answer byte for byte.
func rejected(t testing.TB, w *httptest.ResponseRecorder, status int, cause string) {
	t.Helper()
	require.Equal(t, `{"status":"rejected","cause":"`+cause+`"}`, w.Body.String())
	require.Equal(t, status, w.Code)
	require.Equal(t, "application/json; charset=utf-8", w.Header().Get("Content-Type"))
	require.Empty(t, w.Header().Get("Retry-After"))
}
