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
	return n.ActInLobby(context.WithoutCancel(n.t.Context()), db.LobbyAction{Region: lobbyRegion, Project: "p1", Session: epochOf(o), Room: room, Make: true, Act: act})
}

func (n *nexis) join(o db.OpenedRealtime, kind, room string) db.LobbyAnswer {
	n.t.Helper()
	return must.Get(n.actAs(o, room, chats(n.t).Join(lobby.Join{Type: kind, Session: o.ID, Player: o.Player})))(n.t)
}

// entries returns what the members of a room were sent, in the order of positions: the kind of each entry and the
// session that it is about.
func (n *nexis) entries(room string) (all []string) {
	n.t.Helper()
	rows := must.Get(n.Pool().Query(context.WithoutCancel(n.t.Context()), `SELECT e ->> 'k' || coalesce(' ' || (e ->> 's'), '') FROM lobbies l
		JOIN lobby_log g ON g.region = l.region AND g.lobby = l.uid, json_array_elements(g.body::json -> 'e') WITH ORDINALITY AS x(e, n) WHERE l.id = $1 ORDER BY g.pos, n`, room))(n.t)
	defer rows.Close()
	for rows.Next() {
		var entry string
		require.NoError(n.t, rows.Scan(&entry))
		all = append(all, entry)
	}
	require.NoError(n.t, rows.Err())
	return all
}

func TestRoomsHearWhenASessionIsSuspendedAndResumed(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	ann, bob := n.open(n.client("ann")), n.open(n.client("bob"))
	for _, room := range []string{"chat:1", "chat:2"} {
		n.join(ann, "chat", room)
	}
	n.join(bob, "chat", "chat:1")
	require.NoError(t, n.SuspendRealtime(t.Context(), lobbyRegion, []db.SessionEpoch{epochOf(ann)}, chats(t).Away, true, 0))
	back := n.open(n.client("ann", resuming(ann), func(o *db.OpenRealtime) { o.Back = chats(t).Back }))
	var ids []string
	for _, r := range back.Rooms {
		ids = append(ids, r.Room.ID)
		require.NotNil(t, r.Row)
		require.Contains(t, fmt.Sprint(r.Room.Members), ann.ID)
	}
	require.ElementsMatch(t, []string{"chat:1", "chat:2"}, ids)
	require.Equal(t, []string{"joined " + ann.ID, "joined " + bob.ID, "dropped " + ann.ID, "reconnected " + ann.ID}, n.entries("chat:1"))
	require.Equal(t, []string{"joined " + ann.ID, "dropped " + ann.ID, "reconnected " + ann.ID}, n.entries("chat:2"))
	n.RequireInvariants()
}

// Pins writes of a connection that still runs after its session was resumed elsewhere.
func TestAFormerOwnerChangesNothing(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	first := n.open(n.client("ann"))
	n.join(first, "chat", "chat:1")
	n.open(n.client("ann", resuming(first), func(o *db.OpenRealtime) { o.Back = chats(t).Back }))
	said := len(n.entries("chat:1"))
	for _, act := range []lobby.Action{
		chats(t).Leave(first.ID, first.Player), chats(t).Message(lobby.Message{Session: first.ID, Type: "say", Data: json.RawMessage(`{}`)}),
		chats(t).Join(lobby.Join{Type: "chat", Session: first.ID, Player: first.Player}),
	} {
		_, err := n.actAs(first, "chat:1", act)
		requireKind(t, fault.Superseded, "session_superseded", err)
	}
	_, err := n.actAs(first, "chat:2", chats(t).Join(lobby.Join{Type: "chat", Session: first.ID, Player: first.Player}))
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
	_, err := n.actAs(ann, "chat:1", chats(t).Join(lobby.Join{Type: "chat", Session: ann.ID, Player: ann.Player}))
	requireKind(t, fault.Superseded, "session_superseded", err)
}

func TestAnEndedSessionLeavesItsRoomsAndLosesItsInvitations(t *testing.T) {
	t.Parallel()
	n := setupRealtime(t)
	n.steady(n.replica)
	ann := n.open(n.client("ann", func(o *db.OpenRealtime) { o.Player = "ann" }))
	bob := n.open(n.client("bob", func(o *db.OpenRealtime) { o.Player = "bob" }))
	n.join(ann, "chat", "chat:1")
	n.join(bob, "chat", "chat:1")
	n.join(ann, "echo_room", "echo_room:1") // ends with its last member
	n.join(bob, "party", "party:1")
	_, err := n.actAs(bob, "party:1", chats(t).Message(lobby.Message{Session: bob.ID, Type: "invite", Data: json.RawMessage(`{"player":"ann"}`)}))
	require.NoError(t, err)
	require.Len(t, n.news(ann), 1)
	n.suspend(true, ann)
	n.age(ann, time.Minute)
	require.Equal(t, 1, n.endExpired())
	require.Equal(t, "none", n.row(ann.ID))
	require.Equal(t, []string{"joined " + ann.ID, "joined " + bob.ID, "dropped " + ann.ID, "left " + ann.ID}, n.entries("chat:1"))
	require.Zero(t, one[int](n.bundle, "SELECT count(*) FROM lobby_members WHERE session = $1", ann.ID))
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
					_, err := store.SuspendDeadReplicas(ctx, lobbyRegion)
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
			_, err := store.ActInLobby(ctx, db.LobbyAction{Region: lobbyRegion, Project: "p1", Session: epochOf(o), Room: room, Make: true, Act: action})
			var refused *lobby.Error
			if !errors.As(err, &refused) && !fault.Is(err, fault.Superseded) {
				require.NoError(n.t, err)
			}
		}
		switch {
		case o.ID == "" || step < 25:
			opened, err := store.OpenRealtime(ctx, n.client(fmt.Sprint("client", client), resuming(o), func(r *db.OpenRealtime) { r.Back = types.Back }))
			if !fault.Is(err, fault.TooMany) {
				require.NoError(n.t, err)
				o = opened
			}
		case step < 55:
			act(types.Join(lobby.Join{Type: "counter_room", Session: o.ID, Player: o.Player}))
		case step < 75:
			act(types.Message(lobby.Message{Session: o.ID, Type: "inc", Data: json.RawMessage(`{"by":1}`)}))
		case step < 85:
			act(types.Leave(o.ID, o.Player))
		default:
			require.NoError(n.t, store.SuspendRealtime(ctx, lobbyRegion, []db.SessionEpoch{epochOf(o)}, types.Away, step%2 == 0, 0))
			if step > 95 {
				must.Get(n.Pool().Exec(ctx, "UPDATE realtime_sessions SET suspended_at = suspended_at - interval '1 hour', expires_at = expires_at - interval '1 hour' WHERE id = $1 AND owner IS NULL", o.ID))(n.t)
			}
		}
	}
}
