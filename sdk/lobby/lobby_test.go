package lobby_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/sdk/lobby"
)

// Friends go from an invitation to a match, on two replicas.
func TestAPartyFindsItsMatch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	one, other := r.ServeLobby("--work"), r.ServeLobby()
	ada, bo := connect(t, "ada", one, other), connect(t, "bo", other, one)
	ctx := within(t)
	party := ada.join("party", "party:x", lobby.JoinOptions{Name: "Ada"})
	reached, err := party.Invite(ctx, "bo")
	require.NoError(t, err)
	require.Equal(t, 1, reached)
	invited := hears[lobby.Invited](bo, 1)
	require.Equal(t, lobby.Invited{Room: "party:x", RoomType: "party", From: ada.Status().Session, FromPlayer: "ada"},
		invited)
	bo.join(invited.RoomType, invited.Room, lobby.JoinOptions{Name: "Bo"})
	for _, g := range []*guest{ada, bo} {
		g.eventually("party:x", "both members",
			func(s lobby.State) bool { return len(s.Members()) == 2 && len(s.Sessions) == 2 })
	}
	require.Equal(t, "Bo", party.State().Members()[bo.Status().Session].Name)

	require.NoError(t, bo.Room("party:x").Say(ctx, "shall we?"))
	line := hears[lobby.Message](ada, 1)
	require.Equal(t, []string{"party:x", "say", bo.Status().Session, `{"text":"shall we?"}`},
		[]string{line.Room, line.Type, line.From, string(line.Data)})

	err = bo.Room("party:x").Queue(ctx, lobby.Queue{RoomType: "duel"})
	require.Equal(t, "refused", lobby.CodeOf(err))
	require.ErrorContains(t, err, "room.message queue: ")
	require.NoError(t, party.Queue(ctx, lobby.Queue{RoomType: "duel"}))
	for _, g := range []*guest{ada, bo} {
		found := hears[lobby.MatchFound](g, 1)
		require.Equal(t, []any{"duel", 2, 2}, []any{found.RoomType, found.Size, len(found.Participants)})
		match := g.join(found.RoomType, found.Room, lobby.JoinOptions{Name: g.name})
		require.Equal(t, "ready", match.State().Text("phase"))
		_, err := match.Resolve(ctx)
		require.Equal(t, "refused", lobby.CodeOf(err), "a match without a game server: %v", err)
	}
	ada.eventually("party:x", "the match", func(s lobby.State) bool { return s.Text("phase") == "matched" })
	require.NoError(t, party.Leave(ctx))
	require.NoError(t, party.Leave(ctx), "a second time, as after a lost answer")
	require.Equal(t, lobby.Left{Room: "party:x", Session: ada.Status().Session}, hears[lobby.Left](bo, 1))
	require.Zero(t, party.State().Seq)
}

// Everything that members of a lobby do, and who may.
func TestALobby(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.ServeLobby("--work")
	ada, bo, cy := connect(t, "ada", at), connect(t, "bo", at), connect(t, "cy", at)
	ctx := within(t)
	room := ada.join("lobby", "lobby:x",
		lobby.JoinOptions{Name: "Ada", MaxMembers: 3, Settings: map[string]any{"map": "dust"}})
	bos, cys := bo.join("lobby", "lobby:x", lobby.JoinOptions{Name: "Bo"}), cy.join("lobby", "lobby:x",
		lobby.JoinOptions{})
	rooms, next, err := cy.List(ctx, lobby.RoomQuery{RoomType: "lobby", Limit: 10})
	require.NoError(t, err)
	require.Empty(t, next)
	require.Len(t, rooms, 1)
	require.Equal(t, []any{"lobby:x", "lobby", 3}, []any{rooms[0].ID, rooms[0].RoomType, rooms[0].Members})

	require.NoError(t, room.Set(ctx, "map", "nuke"))
	require.NoError(t, bos.Team(ctx, "red"))
	require.NoError(t, room.Lock(ctx, true))
	require.NoError(t, room.Kick(ctx, cy.Status().Session))
	require.Equal(t, lobby.Left{Room: "lobby:x", Session: cy.Status().Session, Reason: "kicked", Self: true},
		hears[lobby.Left](cy, 1))
	require.Zero(t, cys.State().Seq)
	_, err = cy.Join(ctx, "lobby", "lobby:x", lobby.JoinOptions{})
	require.Contains(t, []string{"room_locked", "not_invited", "banned"}, lobby.CodeOf(err), "%v", err)

	require.Equal(t, "invalid", lobby.CodeOf(room.Start(ctx, lobby.Queue{RoomType: "duel"})), "nobody is ready")
	for _, member := range []*lobby.Room{room, bos} {
		require.NoError(t, member.Ready(ctx, true))
	}
	require.NoError(t, room.Countdown(ctx, 5*time.Second))
	bo.eventually("lobby:x", "the countdown", func(s lobby.State) bool { return s.Text("phase") == "countdown" })
	require.NoError(t, room.Start(ctx, lobby.Queue{RoomType: "squad", Size: 4}))
	bo.eventually("lobby:x", "the queue", func(s lobby.State) bool { return s.Text("phase") == "queued" })
	require.NoError(t, bos.CancelQueue(ctx))
	require.NoError(t, room.GiveOwnership(ctx, bo.Status().Session))
	ada.eventually("lobby:x", "the owner", func(s lobby.State) bool {
		return s.Text("owner") == bo.Status().Session && s.Members()[bo.Status().Session].Team == "red"
	})
	require.Equal(t, "refused", lobby.CodeOf(room.Set(ctx, "map", "dust")))
	ada.eventually("lobby:x", "one state", func(s lobby.State) bool { return s.Equal(bos.State()) })
}

// Strangers find a lobby by what its owner says of it, see the list change, and friends join by a code.
func TestFindingARoom(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	one, other := r.ServeLobby("--work"), r.ServeLobby()
	ada, bo, cy := connect(t, "ada", one), connect(t, "bo", other, one), connect(t, "cy", other)
	ctx := within(t)
	lists, stop := make(chan []lobby.ListedRoom, 64), make(chan error, 1)
	watching, end := context.WithCancel(ctx)
	go func() {
		stop <- bo.WatchRooms(watching, lobby.RoomQuery{RoomType: "lobby", Joinable: true,
			Filter: map[string]any{"map": []string{"dust", "nuke"}}},
			func(rooms []lobby.ListedRoom) { lists <- rooms })
	}()
	shows := func(what string, holds func([]lobby.ListedRoom) bool) {
		t.Helper()
		for {
			select {
			case rooms := <-lists:
				if holds(rooms) {
					return
				}
			case err := <-stop:
				require.NoError(t, err, what)
			case <-ctx.Done():
				require.NoError(t, ctx.Err(), what)
			}
		}
	}
	shows("no room", func(rooms []lobby.ListedRoom) bool { return len(rooms) == 0 })
	room := ada.join("lobby", "lobby:x", lobby.JoinOptions{Metadata: map[string]any{"map": "dust"}, MaxMembers: 4})
	shows("the new room", func(rooms []lobby.ListedRoom) bool {
		return len(rooms) == 1 && rooms[0].ID == "lobby:x" && rooms[0].Metadata["map"] == "dust" &&
			rooms[0].MaxMembers == 4
	})
	other.Process.Process.Kill()
	require.NoError(t, room.Update(ctx, lobby.RoomChange{Metadata: map[string]any{"map": "nuke"}}))
	shows("what changed while it was away",
		func(rooms []lobby.ListedRoom) bool { return len(rooms) == 1 && rooms[0].Metadata["map"] == "nuke" })
	require.NoError(t, room.Update(ctx, lobby.RoomChange{Private: new(true)}))
	shows("no room again", func(rooms []lobby.ListedRoom) bool { return len(rooms) == 0 })
	end()
	require.ErrorIs(t, <-stop, context.Canceled)

	code, err := room.Code(ctx)
	require.NoError(t, err)
	require.Len(t, code.Code, len("KX7-4ZM"))
	joined, err := bo.JoinByCode(ctx, strings.ToLower(code.Code), lobby.JoinOptions{Name: "Bo"})
	require.NoError(t, err)
	require.Equal(t, "lobby:x", joined.ID)
	require.Equal(t, "Bo", joined.State().Members()[bo.Status().Session].Name)
	renewed, err := room.RenewCode(ctx)
	require.NoError(t, err)
	require.NotEqual(t, code, renewed)
	require.NoError(t, room.RemoveCode(ctx))
	_, err = bo.JoinByCode(ctx, renewed.Code, lobby.JoinOptions{})
	require.Equal(t, "code_unknown", lobby.CodeOf(err))
	cy.Close()
}

// A member that joins later reads what was said.
func TestHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.ServeLobby()
	ada, bo := connect(t, "ada", at), connect(t, "bo", at)
	ctx := within(t)
	room := ada.join("chat", "chat:x", lobby.JoinOptions{})
	for _, text := range []string{"one", "two"} {
		require.NoError(t, room.Say(ctx, text))
	}
	bos := bo.join("chat", "chat:x", lobby.JoinOptions{})
	lines, err := bos.History(ctx, 0)
	require.NoError(t, err)
	require.Len(t, lines, 2)
	require.Equal(t, []any{"chat:x", "say", "ada", `{"text":"one"}`}, []any{lines[0].Room, lines[0].Type, lines[0].FromPlayer, string(lines[0].Data)})
	require.Positive(t, lines[0].At)
	rest, err := bos.History(ctx, lines[0].Number)
	require.NoError(t, err)
	require.Equal(t, lines[1:], rest)
	_, err = connect(t, "cy", at).Room("chat:x").History(ctx, 0)
	require.Equal(t, "not_a_member", lobby.CodeOf(err))
}

// Players write to each other and see each other's presence and characters, also over the end of a replica.
func TestFriends(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	one, other := r.ServeLobby("--work"), r.ServeLobby()
	ada, bo := connect(t, "ada", one), connect(t, "bo", other, one)
	ctx := within(t)
	reached, err := ada.SendTo(ctx, "bo", "say", map[string]any{"text": "hello"})
	require.NoError(t, err)
	require.Equal(t, 1, reached)
	mail := hears[lobby.PlayerMessage](bo, 1)
	require.Equal(t, []any{"say", "ada", `{"text":"hello"}`, int64(1)}, []any{mail.Type, mail.FromPlayer, string(mail.Data), mail.Number})
	inbox, err := bo.Inbox(ctx, 0)
	require.NoError(t, err)
	require.Equal(t, []lobby.PlayerMessage{mail}, inbox)
	require.NoError(t, bo.MarkRead(ctx, mail.Number))
	require.NoError(t, bo.Block(ctx, "cy"))
	blocked, err := bo.Blocked(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"cy"}, blocked)
	require.NoError(t, bo.Unblock(ctx, "cy"))

	seen, stop := make(chan []lobby.FriendPresence, 64), make(chan error, 1)
	watching, end := context.WithCancel(ctx)
	go func() {
		stop <- bo.WatchFriends(watching, []string{"ada", "cy"},
			func(friends []lobby.FriendPresence) { seen <- friends })
	}()
	first := <-seen
	require.Equal(t, []any{"ada", true, "cy", false},
		[]any{first[0].Player, first[0].Online, first[1].Player, first[1].Online})
	other.Process.Process.Kill()
	connect(t, "cy", one)
	for friends := first; !friends[1].Online; {
		select {
		case friends = <-seen:
		case <-ctx.Done():
			require.NoError(t, ctx.Err())
		}
	}
	end()
	require.ErrorIs(t, <-stop, context.Canceled)

	room := ada.join("lobby", "lobby:x", lobby.JoinOptions{Data: map[string]any{"character": "fox"}})
	bo.join("lobby", "lobby:x", lobby.JoinOptions{})
	require.NoError(t, room.SetData(ctx, map[string]any{"character": "owl"}))
	bo.eventually("lobby:x", "the character", func(s lobby.State) bool {
		return s.Members()[ada.Status().Session].Data["character"] == "owl"
	})
}

// A session alone queues, asks again, and leaves the queue.
func TestTheQueueOfASession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.ServeLobby("--work")
	ada := connect(t, "ada", at)
	ctx := within(t)
	for range 2 {
		place, err := ada.Enqueue(ctx, lobby.Queue{RoomType: "duel", Size: 2, Latencies: map[string]int{"eu": 20}})
		require.NoError(t, err)
		require.Equal(t, lobby.Place{RoomType: "duel", Size: 2, Position: 1}, place)
	}
	for _, removed := range []bool{true, false} {
		got, err := ada.Dequeue(ctx)
		require.NoError(t, err)
		require.Equal(t, removed, got)
	}
	_, err := ada.Enqueue(ctx, lobby.Queue{RoomType: "duel", Latencies: map[string]int{"eu": -1}})
	require.Equal(t, "invalid", lobby.CodeOf(err))
	var refused *lobby.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "latencies.eu", refused.Field)
	require.NotEmpty(t, lobby.CodeOf(ada.Accept(ctx, "00000000-0000-0000-0000-000000000000")))
	require.NotEmpty(t, lobby.CodeOf(ada.Decline(ctx, "00000000-0000-0000-0000-000000000000")))
}

// A replica is killed: its clients resume their sessions at the other one, with what changed meanwhile, and a request
// that waits for a connection is carried out once.
func TestAClientFollowsItsSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dies, stays := r.ServeLobby(), r.ServeLobby("--work")
	ada, bo := connect(t, "ada", stays), connect(t, "bo", dies, stays)
	ctx := within(t)
	room := ada.join("chat", "chat:x", lobby.JoinOptions{Topic: "news"})
	bo.join("chat", "chat:x", lobby.JoinOptions{})
	lobbyOfAda := ada.join("lobby", "lobby:x", lobby.JoinOptions{})
	bo.join("lobby", "lobby:x", lobby.JoinOptions{Name: "Bo"})
	session := bo.Status().Session

	dies.Process.Process.Kill()
	require.NoError(t, lobbyOfAda.Set(ctx, "map", "dust"))
	require.NoError(t, bo.Await(ctx, func() bool { return bo.Status().Resumed == 1 }))
	require.Equal(t, session, bo.Status().Session)
	require.Equal(t, stays.Lobby, bo.Status().URL)
	bo.eventually("lobby:x", "what changed meanwhile", func(s lobby.State) bool { return s.Equal(lobbyOfAda.State()) })
	require.Len(t, heard[lobby.Disconnected](bo), 1)
	require.Equal(t, []lobby.Connected{{URL: dies.Lobby, Session: session},
		{URL: stays.Lobby, Session: session, Resumed: true}}, heard[lobby.Connected](bo))
	for i := range 5 {
		require.NoError(t, room.Say(ctx, fmt.Sprint(i)))
		require.NoError(t, bo.Room("chat:x").Say(ctx, fmt.Sprint(i)))
	}
	for _, g := range []*guest{ada, bo} {
		hears[lobby.Message](g, 10)
	}
	require.True(t, slices.EqualFunc(heard[lobby.Message](ada), heard[lobby.Message](bo),
		func(a, b lobby.Message) bool {
			return a.From == b.From && string(a.Data) == string(b.Data)
		}), "one order for all")
}

// A process that was started again resumes the session of the former one.
func TestASessionIsResumedByItsID(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.ServeLobby()
	ada := connect(t, "ada", at)
	ada.join("lobby", "lobby:x", lobby.JoinOptions{})
	session := ada.Status().Session
	ada.Close()
	require.ErrorIs(t, ada.Room("lobby:x").Say(t.Context(), "x"), lobby.ErrClosed)

	again := connectWith(t, "ada", lobby.Options{Session: session}, at)
	require.Equal(t, session, again.Status().Session)
	require.Equal(t, 1, again.Status().Resumed)
	again.eventually("lobby:x", "the room of the former process", func(s lobby.State) bool { return s.Seq > 0 })
}

// A client that was away for longer than its session lasts joins its rooms again, and hears of those that it may not
// join.
func TestAClientJoinsItsRoomsAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, "DIRECTOR_REALTIME_SESSION_TTL=5s", "DIRECTOR_LEASE_TTL=3s")
	stays, dies := r.ServeLobby("--work"), r.ServeLobby()
	bo, ada := connect(t, "bo", stays), connect(t, "ada", dies)
	ctx := within(t)
	bos := bo.join("lobby", "lobby:x", lobby.JoinOptions{Name: "Bo"})
	bo.join("lobby", "lobby:y", lobby.JoinOptions{})
	for _, id := range []string{"lobby:x", "lobby:y"} {
		ada.join("lobby", id, lobby.JoinOptions{Name: "Ada"})
		// Else the end of the session below would be seen before its beginning.
		bo.eventually(id, "the join", func(s lobby.State) bool { return len(s.Members()) == 2 })
	}
	session := ada.Status().Session
	require.NoError(t, bo.Room("lobby:y").Lock(ctx, true))

	dies.Process.Process.Kill()
	bo.eventually("lobby:x", "the end of the session", func(s lobby.State) bool { return len(s.Members()) == 1 })
	bo.eventually("lobby:y", "the end of the session", func(s lobby.State) bool { return len(s.Members()) == 1 })
	r.ServeLobby("--realtime-addr", strings.TrimPrefix(dies.Lobby, "ws://"))
	bo.eventually("lobby:x", "the new session", func(s lobby.State) bool { return len(s.Members()) == 2 })
	require.NotEqual(t, session, ada.Status().Session)
	require.Equal(t, "Ada", bos.State().Members()[ada.Status().Session].Name)
	left := hears[lobby.Left](ada, 1)
	require.Equal(t, lobby.Left{Room: "lobby:y", Session: ada.Status().Session, Reason: "room_locked", Self: true},
		left)
}

// A client whose token or URL cannot work says so at once; one that is taken over again and again ends.
func TestAClientThatCannotConnect(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.ServeLobby()
	_, err := lobby.Connect(within(t), lobby.Options{URLs: []string{at.Lobby}, Token: lobby.StaticToken("wrong")})
	require.Equal(t, "token_refused", lobby.CodeOf(err))
	require.ErrorContains(t, err, "has two parts")
	require.NotContains(t, err.Error(), "wrong")
	for _, o := range []lobby.Options{{}, {URLs: []string{"ftp://a"}}, {URLs: []string{at.Lobby}}} {
		_, err := lobby.Connect(within(t), o)
		require.ErrorContains(t, err, "lobby: ")
	}

	ada := connect(t, "ada", at)
	same := lobby.Options{Session: ada.Status().Session}
	connectWith(t, "ada", same, at)
	require.ErrorIs(t, hears[lobby.Ended](ada, 1).Err, lobby.ErrSuperseded)
}
