package db_test

import (
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/logtest"
	"github.com/lattice-director/director/lobby"
)

func TestARoomLivesFromItsFirstMemberToItsLast(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.session("a", "b")
	made := l.act(l.Store, l.joining("a", "counter:1", "counter_plugin_room"))
	require.Equal(t, int64(1), made.RoomSnapshot.StateSeq)
	require.Equal(t, int64(1), made.RoomSnapshot.LogPosition)
	require.Equal(t, int64(0), made.PreviousPos)
	require.Empty(t, made.LogRow.Patch, "the first state is no change")
	require.Equal(t, []lobby.Entry{{Kind: lobby.EntryJoined, Session: "a"}}, made.LogRow.Entries)
	joined := l.act(l.Replica(), l.joining("b", "counter:1", "counter_plugin_room"))
	require.Equal(t, made.LobbyUID, joined.LobbyUID)
	require.Len(t, joined.LogRow.Members, 2)
	said := l.act(l.Store, l.saying("b", "counter:1", "inc"))
	require.Equal(t, int64(2), said.RoomSnapshot.StateSeq)
	require.Equal(t, []lobby.Op{{Op: "set", Path: "/counter", Value: json.RawMessage("1")}}, said.LogRow.Patch)

	f := follow(*made.RoomSnapshot)
	for _, row := range l.log(made.LobbyUID, 1) {
		f.apply(t, row)
	}
	f.requireEqual(t, l.snapshot(made.LobbyUID).Snapshot)
	f.requireEqual(t, *said.RoomSnapshot)

	again := l.act(l.Store, l.joining("b", "counter:1", "counter_plugin_room"))
	require.Nil(t, again.LogRow, "a member that joins again changes nothing")
	require.Equal(t, said.RoomSnapshot.LogPosition, again.RoomSnapshot.LogPosition)

	l.act(l.Store, l.leaving("a", "counter:1"))
	last := l.act(l.Store, l.leaving("b", "counter:1"))
	require.True(t, last.IsClosed)
	require.Zero(t, one[int](l.bundle, "SELECT count(*) FROM lobbies"))
	require.Zero(t, one[int](l.bundle, "SELECT count(*) FROM lobby_members"))
	require.Len(t, l.log(made.LobbyUID, 3), 2, "members on other replicas receive that they left")
	_, err := l.ActInLobby(t.Context(), l.leaving("b", "counter:1"))
	require.ErrorIs(t, err, lobby.ErrNotFound)

	anew := l.act(l.Store, l.joining("a", "counter:1", "counter_plugin_room"))
	require.NotEqual(t, made.LobbyUID, anew.LobbyUID, "a room that is made again has its own log")
	require.Equal(t, int64(1), anew.RoomSnapshot.StateSeq)
}

func TestOnlyTheOwnerOfASessionActs(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.session("a", "b")
	l.act(l.Store, l.joining("a", "r", "counter_plugin_room"))
	l.Exec("UPDATE realtime_sessions SET epoch = 2 WHERE id = 'a'")
	l.Exec("UPDATE realtime_sessions SET owner = NULL, suspended_at = now(), expires_at = now() WHERE id = 'b'")
	late := map[string]db.LobbyAction{
		"old epoch": l.saying("a", "r", "inc"), "suspended": l.joining("b", "r", "counter_plugin_room"),
		"no session": l.joining("c", "r", "counter_plugin_room"),
	}
	for name, a := range late {
		_, err := l.ActInLobby(t.Context(), a)
		requireKind(t, fault.Superseded, "session_superseded", err)
		require.Equal(t, int64(1), l.snapshot(l.room("r")).Snapshot.LogPosition, name)
	}
	now := l.saying("a", "r", "inc")
	now.Session.Epoch = 2
	require.Equal(t, int64(2), l.act(l.Store, now).RoomSnapshot.LogPosition)
	director := actionOf("", "r", l.types.LeaveRoom("a", "a"))
	director.Session = db.SessionEpoch{}
	require.True(t, l.act(l.Store, director).IsClosed, "the director itself has no session")
}

func (l *lobbies) room(id string) uuid.UUID {
	l.t.Helper()
	return one[uuid.UUID](l.bundle, "SELECT uid FROM lobbies WHERE id = $1", id)
}

// An action that fails, panics or has data that Postgres refuses must not change the room, nor fail the others of its
// batch.
func TestABadActionFailsAlone(t *testing.T) {
	t.Parallel()
	log := &logtest.Buffer{}
	l := setupLobbies(t, func(c *db.Config) { c.Log = slog.New(slog.NewTextHandler(log, nil)) })
	l.session("a")
	first := actionOf("a", "r", setting("good", "1"))
	first.MakesRoom = true
	uid := l.act(l.Store, first).LobbyUID
	big, _ := json.Marshal(string(make([]byte, 70<<10)))
	bad := map[string]lobby.Action{
		"refused": func(r *lobby.Room) error {
			r.State["bad"], r.Members, r.Entries = json.RawMessage("1"), nil, append(r.Entries,
				lobby.Entry{Kind: "bad"})
			return lobby.ErrLocked
		},
		"panics":    func(r *lobby.Room) error { r.State["bad"] = json.RawMessage("1"); panic("a bug") },
		"too large": setting("bad", string(big)),
		"no JSON":   setting("bad", "{"),
		"no UTF-8":  setting("bad", "\"\xff\""),
		"more than its size": func(r *lobby.Room) error {
			r.MaxMembers = 0
			return l.types.JoinRoom(lobby.Join{RoomType: "test", Session: "x"})(r)
		},
	}
	hold := l.Hold("SELECT FROM lobbies WHERE uid = $1 FOR UPDATE", uid)
	answers := map[string]chan error{}
	begun := make(chan error, 1)
	go func() { _, err := l.ActInLobby(t.Context(), actionOf("a", "r", adding)); begun <- err }()
	l.AwaitBlocked(1)
	for name, act := range bad { // they wait for the first, and are one batch
		answers[name] = make(chan error, 1)
		go func() { _, err := l.ActInLobby(t.Context(), actionOf("a", "r", act)); answers[name] <- err }()
	}
	good := make(chan error, 20)
	for range cap(good) {
		go func() { _, err := l.ActInLobby(t.Context(), actionOf("a", "r", adding)); good <- err }()
	}
	hold()
	require.NoError(t, <-begun)
	for range cap(good) {
		require.NoError(t, <-good)
	}
	require.ErrorIs(t, <-answers["refused"], lobby.ErrLocked)
	require.ErrorIs(t, <-answers["too large"], lobby.ErrStateTooBig)
	for _, name := range []string{"panics", "no JSON", "no UTF-8", "more than its size"} {
		require.Error(t, <-answers[name], name)
	}
	require.Equal(t, 1, log.Count("an action in a room panicked"))
	s := l.snapshot(uid)
	require.JSONEq(t, `{"good":1,"counter":21}`, string(s.Snapshot.State.JSON()))
	f := follow(lobby.Snapshot{LogPosition: 0, StateSeq: 1, State: lobby.State{"good": json.RawMessage("1")}})
	for _, row := range l.log(uid, 0) {
		f.apply(t, row)
		require.Empty(t, row.Entries)
	}
	f.requireEqual(t, s.Snapshot)
}

// Pins jsonb, which refuses U+0000 and changes numbers, and a log that loses them.
func TestAStateIsKeptAsItIs(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.session("a")
	for _, value := range []string{`"\u0000"`, `1e+21`, "\"<&> \u2028\"", `{"__proto__":1}`, `[1.5,null,true]`} {
		a := actionOf("a", "r", setting("k", value))
		a.MakesRoom = true
		answer := l.act(l.Store, a)
		s := l.snapshot(answer.LobbyUID)
		require.Equal(t, answer.RoomSnapshot.State.JSON(), s.Snapshot.State.JSON(), value)
		if answer.LogRow != nil {
			require.Equal(t, answer.LogRow.Patch[0].Value, l.log(answer.LobbyUID, answer.PreviousPos)[0].Patch[0].Value,
				value)
		}
	}
}

func TestIDsThatNoRoomHas(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.session("a")
	for _, id := range []string{"", "a b", "\x00", "\xff", string(make([]byte, 129))} {
		_, err := l.ActInLobby(t.Context(), l.joining("a", id, "counter_plugin_room"))
		var refused *lobby.Error
		require.ErrorAs(t, err, &refused, "%q", id)
	}
}
