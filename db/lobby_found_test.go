package db_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
)

// Pins details of a room that a replica does not see, or that a room does not keep.
func TestTheDetailsOfARoomAreRows(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.session("a", "b")
	makes := actionOf("a", "lobby:1", l.types.JoinRoom(lobby.Join{RoomType: "lobby", Session: "a", Player: "a",
		Options: lobby.Options{"metadata": json.RawMessage(`{"map":"dust","n":1}`)}}))
	makes.MakesRoom = true
	l.act(l.Store, makes)
	l.act(l.Store, l.joining("b", "lobby:2", "lobby"))
	rooms, err := l.Replica().NewestLobbies(t.Context(), "eu", "p", "lobby")
	require.NoError(t, err)
	require.Len(t, rooms, 2)
	require.Equal(t, "lobby:2", rooms[0].ID)
	require.JSONEq(t, `{"map":"dust","n":1}`, string(rooms[1].Metadata))
	require.Equal(t, [3]any{1, 16, false}, [3]any{rooms[1].MemberCount, rooms[1].MaxMembers, rooms[1].IsLocked})

	private, most := true, 3
	l.act(l.Replica(), actionOf("a", "lobby:1",
		l.types.UpdateRoom("a", lobby.Change{IsPrivate: &private, MaxMembers: &most,
			NewMetadata: json.RawMessage(`{}`)})))
	rooms, err = l.NewestLobbies(t.Context(), "eu", "p", "lobby")
	require.NoError(t, err)
	require.Len(t, rooms, 1, "the other is private")
	require.Equal(t, "t|3|", one[string](l.bundle,
		"SELECT concat_ws('|', private, max_members, coalesce(metadata::text, '')) FROM lobbies WHERE id = 'lobby:1'"))
	page, err := l.ListLobbies(t.Context(), db.LobbyQuery{Region: "eu", ProjectID: "p"})
	require.NoError(t, err)
	require.Equal(t, []string{"lobby:2"}, []string{page.Rooms[0].ID})
}

// A code belongs to one room, and a room that cannot get it fails alone.
func TestACodeNamesOneLivingRoom(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.session("a", "b", "c")
	l.act(l.Store, l.joining("a", "party:1", "party"))
	l.act(l.Store, l.joining("b", "party:2", "party"))
	share := func(session, room, code string) db.LobbyAction {
		return actionOf(session, room, l.types.ShareCode(session, code, lobby.CodeRead))
	}
	require.Equal(t, map[string]any{"code": "KX7-4ZM"}, l.act(l.Store, share("a", "party:1", "KX7-4ZM")).ActionAnswer)
	_, err := l.ActInLobby(t.Context(), share("b", "party:2", "KX7-4ZM"))
	require.ErrorIs(t, err, lobby.ErrCodeTaken)
	l.act(l.Store, share("b", "party:2", "AAA-AAA"))
	room, kind, err := l.LobbyOfCode(t.Context(), "eu", "p", "KX7-4ZM")
	require.NoError(t, err)
	require.Equal(t, [2]string{"party:1", "party"}, [2]string{room, kind})
	_, _, err = l.LobbyOfCode(t.Context(), "eu", "other", "KX7-4ZM")
	require.ErrorIs(t, err, lobby.ErrCodeUnknown)

	join := lobby.Join{RoomType: "party", Session: "c", Player: "c", RoomCode: "KX7-4ZM"}
	require.Len(t, l.act(l.Store, actionOf("c", "party:1", l.types.JoinRoom(join))).RoomSnapshot.Members, 2,
		"the code is the invitation")
	l.Exec("UPDATE lobbies SET grace = '0'")
	l.act(l.Store, l.leaving("a", "party:1"))
	require.True(t, l.act(l.Store, l.leaving("c", "party:1")).IsClosed)
	_, _, err = l.LobbyOfCode(t.Context(), "eu", "p", "KX7-4ZM")
	require.ErrorIs(t, err, lobby.ErrCodeUnknown)
	l.act(l.Store, actionOf("b", "party:2", l.types.ShareCode("b", "KX7-4ZM", lobby.CodeRenew)))
}

func (l *lobbies) project() {
	l.t.Helper()
	l.Exec("INSERT INTO projects (id, name, region) VALUES ('p', 'arena', 'eu')")
}

func (l *lobbies) asIvy() db.RoomAct {
	return l.As("operator:ivy").Because("insults").InRoom("p", "lobby:1")
}

// A ban is a row with the room, and an event names who decided it, in the same transaction.
func TestARoomIsModeratedFromOutside(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.project()
	l.session("a", "b")
	made := l.act(l.Store, l.joining("a", "lobby:1", "lobby"))
	l.act(l.Store, l.joining("b", "lobby:1", "lobby"))
	require.NoError(t, l.asIvy().Ban(t.Context(), "b", 0))
	require.Equal(t, "operator:ivy|b|lobby:1|p", one[string](l.bundle, `SELECT concat_ws('|', actor, detail ->> 'player', detail ->> 'room', detail ->> 'project')
		FROM events WHERE kind = 'lobby.player_banned'`))
	rows := l.log(made.LobbyUID, 2)
	require.Equal(t, []lobby.Entry{{Kind: lobby.EntryLeft, Session: "b", Reason: "banned"}}, rows[0].Entries)
	_, err := l.Replica().ActInLobby(t.Context(), l.joining("b", "lobby:1", "lobby"))
	require.ErrorIs(t, err, lobby.ErrBanned)
	d, err := l.ReadLobby(t.Context(), "p", "lobby:1")
	require.NoError(t, err)
	require.Equal(t, []db.LobbySanction{{Player: "b", Reason: "insults"}}, d.Banned)
	require.Equal(t, []db.LobbyMember{{Session: "a", Player: "a"}}, d.Members)

	events := one[int](l.bundle, "SELECT count(*) FROM events")
	requireKind(t, fault.NotFound, "player_not_in_room", l.asIvy().Kick(t.Context(), "nobody"))
	require.Equal(t, events, one[int](l.bundle, "SELECT count(*) FROM events"), "what has no effect has no event")
	require.NoError(t, l.As("").InRoom("p", "lobby:1").Close(t.Context()))
	require.Contains(t, one[string](l.bundle, "SELECT actor FROM events WHERE kind = 'lobby.closed'"), "sql:",
		"the login, where nobody is named")
	require.Zero(t, one[int](l.bundle, "SELECT count(*) FROM lobbies"))
	requireKind(t, fault.NotFound, "lobby_unknown", l.asIvy().Close(t.Context()))
	l.act(l.Store, l.joining("b", "lobby:1", "lobby")) // another room, in which nobody is banned
}

// Pins a moderation that is lost because the room changes at the same time.
func TestModerationRacesWithMembers(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.project()
	l.session("a", "b")
	l.act(l.Store, l.joining("a", "lobby:1", "lobby"))
	joins := make(chan error, 1)
	other := l.Replica()
	go func() {
		var err error
		for range 20 {
			if _, err = other.ActInLobby(context.Background(), l.joining("b", "lobby:1", "lobby")); err != nil {
				break
			}
			if _, err = other.ActInLobby(context.Background(), l.leaving("b", "lobby:1")); err != nil {
				break
			}
		}
		joins <- err
	}()
	require.NoError(t, l.asIvy().Ban(t.Context(), "b", 0))
	if err := <-joins; err != nil {
		require.True(t, errors.Is(err, lobby.ErrBanned) || errors.Is(err, lobby.ErrNotMember), "%v", err)
	}
	require.Equal(t, []lobby.Member{{Session: "a", Player: "a", JoinOrder: 1}}, l.snapshot(l.room("lobby:1")).Snapshot.Members)
}
