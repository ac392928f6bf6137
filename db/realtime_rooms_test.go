package db_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/lobby"
)

// chats are the types of rooms in these tests.
func chats(t *testing.T) *lobby.Types {
	t.Helper()
	return must.Get(lobby.NewTypes(true, nil))(t)
}

func (n *nexis) actAs(o db.OpenedRealtime, room string, act lobby.Action) (db.LobbyAnswer, error) {
	return n.ActInLobby(context.WithoutCancel(n.t.Context()),
		db.LobbyAction{Region: lobbyRegion, ProjectID: "p1", Session: epochOf(o), RoomID: room, MakesRoom: true,
			Act: act})
}

func (n *nexis) join(o db.OpenedRealtime, kind, room string) db.LobbyAnswer {
	n.t.Helper()
	return must.Get(n.actAs(o, room, chats(n.t).JoinRoom(lobby.Join{RoomType: kind, Session: o.SessionID,
		Player: o.PlayerSub})))(n.t)
}

func TestRoomsHearWhenASessionIsSuspendedAndResumed(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	ann, bob := n.open(n.client("ann")), n.open(n.client("bob"))
	for _, room := range []string{"chat:1", "chat:2"} {
		n.join(ann, "chat", room)
	}
	n.join(bob, "chat", "chat:1")
	require.NoError(t, n.SuspendRealtime(t.Context(), lobbyRegion, []db.SessionEpoch{epochOf(ann)},
		db.Suspension{AwayAction: chats(t).MarkAway, IsAnnounced: true}))
	back := n.open(n.client("ann", resuming(ann), func(o *db.RealtimeRequest) { o.BackAction = chats(t).MarkBack }))
	var ids []string
	for _, r := range back.RoomAnswers {
		ids = append(ids, r.RoomSnapshot.ID)
		require.NotNil(t, r.LogRow)
		require.Contains(t, fmt.Sprint(r.RoomSnapshot.Members), ann.SessionID)
	}
	require.ElementsMatch(t, []string{"chat:1", "chat:2"}, ids)
	require.Equal(t, []string{"joined " + ann.SessionID, "joined " + bob.SessionID, "dropped " + ann.SessionID,
		"reconnected " + ann.SessionID}, n.entries("chat:1"))
	require.Equal(t, []string{"joined " + ann.SessionID, "dropped " + ann.SessionID, "reconnected " + ann.SessionID},
		n.entries("chat:2"))
	n.RequireInvariants()
}

// Pins writes of a connection that still runs after its session was resumed elsewhere.
func TestAFormerOwnerChangesNothing(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	first := n.open(n.client("ann"))
	n.join(first, "chat", "chat:1")
	n.open(n.client("ann", resuming(first), func(o *db.RealtimeRequest) { o.BackAction = chats(t).MarkBack }))
	said := len(n.entries("chat:1"))
	for _, act := range []lobby.Action{
		chats(t).LeaveRoom(first.SessionID, first.PlayerSub), chats(t).HandleMessage(lobby.Message{Session: first.SessionID, Type: "say", Data: json.RawMessage(`{}`)}),
		chats(t).JoinRoom(lobby.Join{RoomType: "chat", Session: first.SessionID, Player: first.PlayerSub}),
	} {
		_, err := n.actAs(first, "chat:1", act)
		requireKind(t, fault.Superseded, "session_superseded", err)
	}
	_, err := n.actAs(first, "chat:2", chats(t).JoinRoom(lobby.Join{RoomType: "chat", Session: first.SessionID,
		Player: first.PlayerSub}))
	requireKind(t, fault.Superseded, "session_superseded", err)
	n.suspend(true, first)
	require.Len(t, n.entries("chat:1"), said)
	n.RequireInvariants()
}

// Pins an action that its connection began before it closed, and that committed behind the suspension.
func TestASuspendedSessionActsNoMore(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	ann := n.open(n.client("ann"))
	n.suspend(true, ann)
	_, err := n.actAs(ann, "chat:1", chats(t).JoinRoom(lobby.Join{RoomType: "chat", Session: ann.SessionID,
		Player: ann.PlayerSub}))
	requireKind(t, fault.Superseded, "session_superseded", err)
}

func TestAnEndedSessionLeavesItsRoomsAndLosesItsInvitations(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	n.steady(n.replica)
	ann := n.open(n.client("ann", func(o *db.RealtimeRequest) { o.PlayerSub = "ann" }))
	bob := n.open(n.client("bob", func(o *db.RealtimeRequest) { o.PlayerSub = "bob" }))
	n.join(ann, "chat", "chat:1")
	n.join(bob, "chat", "chat:1")
	n.join(ann, "echo_room", "echo_room:1") // ends with its last member
	n.join(bob, "party", "party:1")
	_, err := n.actAs(bob, "party:1", chats(t).HandleMessage(lobby.Message{Session: bob.SessionID, Type: "invite", Data: json.RawMessage(`{"player":"ann"}`)}))
	require.NoError(t, err)
	require.Len(t, n.news(ann), 1)
	n.suspend(true, ann)
	n.age(ann, time.Minute)
	require.Equal(t, 1, n.endExpired())
	require.Equal(t, "none", n.row(ann.SessionID))
	require.Equal(t, []string{"joined " + ann.SessionID, "joined " + bob.SessionID, "dropped " + ann.SessionID,
		"left " + ann.SessionID}, n.entries("chat:1"))
	require.Zero(t, one[int](n.bundle, "SELECT count(*) FROM lobby_members WHERE session = $1", ann.SessionID))
	require.Zero(t, one[int](n.bundle, "SELECT count(*) FROM lobbies WHERE id = 'echo_room:1'"))
	n.RequireInvariants()
}

// Pins deadlocks and lost updates between connections that act, close, come back elsewhere and are swept, in rooms that
// they share.
func TestSessionsAndRoomsAgreeUnderRandomRaces(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	types := chats(t)
	stores := []*db.Store{n.Store, n.withoutDeadlockCheck(), n.Replica()}
	ctx := context.WithoutCancel(t.Context())
	rapid.Check(t, func(rt *rapid.T) {
		var wg sync.WaitGroup
		for client := range 8 {
			seed := rapid.SliceOfN(rapid.IntRange(0, 99), 12, 12).Draw(rt, fmt.Sprint("client ", client))
			wg.Go(func() { n.wander(ctx, types, stores, client, seed) })
		}
		for _, store := range stores[1:] {
			wg.Go(func() {
				for range 6 {
					_, err := store.SuspendUnowned(ctx, lobbyRegion)
					require.NoError(t, err)
					_, err = store.AnnounceSuspended(ctx, lobbyRegion)
					require.NoError(t, err)
					_, err = store.EndExpiredRealtime(ctx, lobbyRegion)
					require.NoError(t, err)
				}
			})
		}
		wg.Wait()
		n.RequireInvariants()
		require.Zero(t, one[int](n.bundle, `SELECT count(*) FROM lobby_members m JOIN realtime_sessions s ON s.region = m.region AND s.id = m.session
			WHERE m.state = 'joined' AND s.owner IS NOT NULL AND m.away`), "who is connected is not away")
		require.Zero(t, one[int](n.bundle, `SELECT count(*) FROM (SELECT g.lobby FROM lobby_log g JOIN lobbies l ON l.region = g.region AND l.uid = g.lobby
			GROUP BY g.lobby, l.pos HAVING count(*) <> l.pos OR max(g.pos) <> l.pos) gaps`), "positions have no gaps")
	})
}

// wander is a client that does what the steps say.
func (n *nexis) wander(ctx context.Context, types *lobby.Types, stores []*db.Store, client int, steps []int) {
	var o db.OpenedRealtime
	for _, step := range steps {
		store := stores[step%len(stores)]
		room := fmt.Sprintf("counter_room:%d", step%3)
		act := func(action lobby.Action) {
			_, err := store.ActInLobby(ctx,
				db.LobbyAction{Region: lobbyRegion, ProjectID: "p1", Session: epochOf(o), RoomID: room, MakesRoom: true,
					Act: action})
			var refused *lobby.Error
			if !errors.As(err, &refused) && !fault.Is(err, fault.Superseded) {
				require.NoError(n.t, err)
			}
		}
		switch {
		case o.SessionID == "" || step < 25:
			opened, err := store.OpenRealtime(ctx,
				n.client(fmt.Sprint("client", client), resuming(o),
					func(r *db.RealtimeRequest) { r.BackAction = types.MarkBack }))
			if !fault.Is(err, fault.TooMany) {
				require.NoError(n.t, err)
				o = opened
			}
		case step < 55:
			act(types.JoinRoom(lobby.Join{RoomType: "counter_room", Session: o.SessionID, Player: o.PlayerSub}))
		case step < 75:
			act(types.HandleMessage(lobby.Message{Session: o.SessionID, Type: "inc", Data: json.RawMessage(`{"by":1}`)}))
		case step < 85:
			act(types.LeaveRoom(o.SessionID, o.PlayerSub))
		default:
			require.NoError(n.t, store.SuspendRealtime(ctx, lobbyRegion, []db.SessionEpoch{epochOf(o)},
				db.Suspension{AwayAction: types.MarkAway, IsAnnounced: step%2 == 0}))
			if step > 95 {
				must.Get(n.Pool().Exec(ctx,
					"UPDATE realtime_sessions SET suspended_at = suspended_at - interval '1 hour', expires_at = expires_at - interval '1 hour' WHERE id = $1 AND owner IS NULL", o.SessionID))(n.t)
			}
		}
	}
}

// entries returns what the members of a room were sent, in the order of positions: the kind of each entry and the
// session that it is about.
func (n *nexis) entries(room string) []string {
	return n.Rows(`SELECT e ->> 'k' || coalesce(' ' || (e ->> 's'), '') FROM lobbies l
		JOIN lobby_log g ON g.region = l.region AND g.lobby = l.uid, json_array_elements(g.body::json -> 'e') WITH ORDINALITY AS x(e, n) WHERE l.id = $1 ORDER BY g.pos, n`, room)
}
