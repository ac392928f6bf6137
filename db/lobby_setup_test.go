package db_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/lobby"
)

// lobbies is a database with realtime sessions of the project "p" in the region "eu".
type lobbies struct {
	*bundle

	types *lobby.Types
	owner uuid.UUID
}

func setupLobbies(t *testing.T, change ...func(*db.Config)) *lobbies {
	t.Helper()
	types := must.Get(lobby.NewTypes(true, nil))(t)
	return &lobbies{bundle: setup(t, change...), types: types, owner: uuid.New()}
}

// session inserts a session whose player has its name.
func (l *lobbies) session(ids ...string) {
	l.t.Helper()
	for _, id := range ids {
		l.Exec(`INSERT INTO realtime_sessions (region, id, project, player, authenticated, ttl, owner) VALUES ('eu', $1, 'p', $1, true, '30 s', $2)`, id, l.owner)
	}
}

// actionOf is an action of a session of the first epoch.
func actionOf(session, room string, act lobby.Action) db.LobbyAction {
	return db.LobbyAction{Region: "eu", ProjectID: "p", Session: db.SessionEpoch{ID: session, Epoch: 1}, RoomID: room,
		Act: act}
}

func (l *lobbies) joining(session, room, kind string) db.LobbyAction {
	a := actionOf(session, room, l.types.JoinRoom(lobby.Join{RoomType: kind, Session: session, Player: session}))
	a.MakesRoom = true
	return a
}

func (l *lobbies) leaving(session, room string) db.LobbyAction {
	return actionOf(session, room, l.types.LeaveRoom(session, session))
}

func (l *lobbies) saying(session, room, kind string) db.LobbyAction {
	return actionOf(session, room, l.types.HandleMessage(lobby.Message{Session: session, Player: session, Type: kind, Data: json.RawMessage(`{}`)}))
}

func (l *lobbies) act(s *db.Store, a db.LobbyAction) db.LobbyAnswer {
	l.t.Helper()
	return must.Get(s.ActInLobby(l.t.Context(), a))(l.t)
}

// setting is an action that sets a key of the state of a room that it makes.
func setting(key, value string) lobby.Action {
	return func(r *lobby.Room) error {
		if r.IsNew {
			r.Type, r.State, r.MaxMembers = "test", lobby.State{}, 10
			r.GracePeriod = 60_000_000_000
		}
		r.State[key] = json.RawMessage(value)
		return nil
	}
}

// adding is an action that adds one to a counter of the state.
func adding(r *lobby.Room) error {
	n, _ := strconv.Atoi(string(r.State["counter"]))
	return setting("counter", strconv.Itoa(n+1))(r)
}

// log returns the rows of a room's log behind a position.
func (l *lobbies) log(room uuid.UUID, after int64) []db.LobbyRow {
	l.t.Helper()
	rows, _, err := l.LobbyLog(l.t.Context(), "eu", []db.LobbyPos{{LobbyUID: room, LogPos: after}})
	require.NoError(l.t, err)
	return rows
}

func (l *lobbies) snapshot(room uuid.UUID) db.LobbySnapshot {
	l.t.Helper()
	all := must.Get(l.LobbySnapshots(l.t.Context(), "eu", []uuid.UUID{room}))(l.t)
	require.Len(l.t, all, 1)
	return all[0]
}

// memberCopy is the copy of a room that a member has.
type memberCopy struct {
	state   lobby.State
	members map[string]bool
	pos     int64
	seq     int64
}

// apply applies the next row of a log, as a member does.
func (f *memberCopy) apply(t require.TestingT, row db.LobbyRow) {
	require.Equal(t, f.pos+1, row.LogPos, "a gap or a double")
	f.pos = row.LogPos
	if len(row.Patch) > 0 {
		require.Equal(t, f.seq+1, row.StateSeq)
		f.seq = row.StateSeq
	}
	for _, op := range row.Patch {
		if op.Op == "del" {
			delete(f.state, op.Path[1:])
			continue
		}
		f.state[op.Path[1:]] = op.Value
	}
	for _, e := range row.Entries {
		switch e.Kind {
		case lobby.EntryJoined:
			require.False(t, f.members[e.Session], "%s joined twice", e.Session)
			f.members[e.Session] = true
		case lobby.EntryLeft:
			require.True(t, f.members[e.Session], "%s left without joining", e.Session)
			delete(f.members, e.Session)
		}
	}
}

// follow returns the copy of a member that begins with a snapshot.
func follow(s lobby.Snapshot) *memberCopy {
	f := &memberCopy{state: s.State.Clone(), members: map[string]bool{}, pos: s.LogPosition, seq: s.StateSeq}
	for _, m := range s.Members {
		f.members[m.Session] = true
	}
	return f
}

// requireEqual requires that the copy is what a snapshot says.
func (f *memberCopy) requireEqual(t require.TestingT, s lobby.Snapshot) {
	want := follow(s)
	require.Equal(t, want.pos, f.pos)
	require.Equal(t, want.seq, f.seq)
	require.JSONEq(t, string(want.state.JSON()), string(f.state.JSON()))
	require.Equal(t, want.members, f.members)
}
