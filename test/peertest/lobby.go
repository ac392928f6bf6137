package peertest

import (
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/test/rigtest"
)

// lobbyMember is a member of a room, as the package describes it.
type lobbyMember struct {
	Session, Name string
	Team          any
	Ready, Away   bool
	Data          object
}

// lobbyRoom is a room, as the package describes it.
type lobbyRoom struct {
	ID, Type string
	State    object
	Seq      int
	Sessions []string
	Members  []lobbyMember
	Me       *lobbyMember
	IsOwner  bool
}

// lobbyEvent is an event of a client, with the fields of all kinds.
type lobbyEvent struct {
	URL, Session, Room, From, Name, Reason string
	Resumed, Self                          bool
	RoomType                               string `json:"room_type"`
	FromPlayer                             string `json:"from_player"`
	Size                                   int
	Participants                           []string
}

// listedRoom is a room in a list.
type listedRoom struct {
	Members    int
	MaxMembers int `json:"max_members"`
	Metadata   object
}

// listedFriend is the presence of a player.
type listedFriend struct {
	Player string
	Online bool
}

// isEmpty reports whether a list without rooms has arrived. nil is no list yet.
func isEmpty(all []listedRoom) bool { return all != nil && len(all) == 0 }

func showsMap(name string) func([]listedRoom) bool {
	return func(all []listedRoom) bool { return len(all) > 0 && all[0].Metadata["map"] == name }
}

// lobbyLine is a message in a room.
type lobbyLine struct {
	Room, Type, From string
	Data             object
}

// enterLobby connects a player to the first of the replicas that accepts it, and returns its session.
func (r *Rig) enterLobby(player string, at ...*rigtest.LobbyReplica) string {
	r.T.Helper()
	return r.enterLobbyWith(player, []string{rigtest.LobbyToken(player)}, at...)
}

// enterLobbyWith is enterLobby with tokens of its own: the client takes the next one when one is refused.
func (r *Rig) enterLobbyWith(player string, tokens []string, at ...*rigtest.LobbyReplica) string {
	r.T.Helper()
	var urls []string
	for _, replica := range at {
		urls = append(urls, replica.Lobby)
	}
	return ask[lobbyEvent](r, "lobby", object{"player": player, "urls": urls, "tokens": tokens}).Session
}

// replicaOf returns the one of two replicas to which a player is connected, and the other one.
func (r *Rig) replicaOf(player string, a, b *rigtest.LobbyReplica) (connected, other *rigtest.LobbyReplica) {
	r.T.Helper()
	if ask[string](r, "lobbyURL", object{"player": player}) == b.Lobby {
		return b, a
	}
	return a, b
}

// lobbyCall calls a method of a client that returns a room.
func (r *Rig) lobbyCall(player, method string, args ...any) lobbyRoom {
	r.T.Helper()
	return ask[lobbyRoom](r, "lobbyCall", object{"player": player, "method": method, "args": args})
}

// roomCall calls a method of a room that must succeed. Its value is dropped.
func (r *Rig) roomCall(player, room, method string, args ...any) {
	r.T.Helper()
	ask[any](r, "roomCall", object{"player": player, "room": room, "method": method, "args": args})
}

// refusalOf calls a method of a room that fails, and returns the code.
func (r *Rig) refusalOf(player, room, method string, args ...any) string {
	r.T.Helper()
	_, failed := try[any](r, "roomCall", object{"player": player, "room": room, "method": method, "args": args})
	require.NotNil(r.T, failed, method)
	require.Equal(r.T, "LobbyError", failed.Name, "%+v", failed)
	return failed.Code
}

// awaitRoom waits until a room is as a test wants it, by the copy of a player, and returns it.
func (r *Rig) awaitRoom(player, room string, holds func(lobbyRoom) bool) lobbyRoom {
	r.T.Helper()
	return until(r, "roomSeen", object{"player": player, "room": room}, holds)
}

func isInPhase(phase string) func(lobbyRoom) bool {
	return func(room lobbyRoom) bool { return room.State["phase"] == phase }
}

func hasMembers(n int) func(lobbyRoom) bool {
	return func(room lobbyRoom) bool { return len(room.Members) == n && len(room.Sessions) == n }
}

// isComplete reports whether no member is away.
func (room lobbyRoom) isComplete() bool {
	return !slices.ContainsFunc(room.Members, func(m lobbyMember) bool { return m.Away })
}

func (room lobbyRoom) setting(key string) any {
	settings, _ := room.State["settings"].(object)
	return settings[key]
}

func showsCharacter(character string) func(lobbyRoom) bool {
	return func(room lobbyRoom) bool {
		return slices.ContainsFunc(room.Members, func(m lobbyMember) bool { return m.Data["character"] == character })
	}
}

// awaitLobbyEvent waits until a client has n events of a kind, and returns the last.
func (r *Rig) awaitLobbyEvent(player, kind string, n int) lobbyEvent {
	r.T.Helper()
	all := until(r, "lobbyEvents", object{"player": player, "kind": kind},
		func(all []lobbyEvent) bool { return len(all) >= n })
	return all[len(all)-1]
}

// awaitLines waits until a client has received n messages, and returns all of them.
func (r *Rig) awaitLines(player string, n int) []lobbyLine {
	r.T.Helper()
	return until(r, "lobbySaid", object{"player": player}, func(all []lobbyLine) bool { return len(all) >= n })
}

// Friends on two replicas go from an invitation to the game server of their match.
func partyReachesItsServer(r *Rig) {
	r.Installation.NextEnv = append(r.Installation.NextEnv,
		`DIRECTOR_REALTIME_ROOMS={"ranked": {"logic": "match", "profile": "pairs"}}`)
	one, other := r.Installation.ServeLobby("--work"), r.Installation.ServeLobby("--work")
	r.Installation.ApplyProfile("name: pairs\nmode: duel\nteams: [{name: all, players: 2}]\n")
	server := r.startGameServer(one.Process, other.Process)
	adas := r.enterLobby("ada", one)
	bos := r.enterLobby("bo", other)
	party := r.lobbyCall("ada", "createParty", object{"name": "Ada"})
	require.True(r.T, strings.HasPrefix(party.ID, "party:"), party.ID)
	require.True(r.T, party.IsOwner)
	require.Equal(r.T, &lobbyMember{Session: adas, Name: "Ada"}, party.Me)

	r.roomCall("ada", party.ID, "invite", "bo")
	invited := r.awaitLobbyEvent("bo", "invited", 1)
	require.Equal(r.T, []string{party.ID, "party", adas, "ada"},
		[]string{invited.Room, invited.RoomType, invited.From, invited.FromPlayer})
	r.lobbyCall("bo", "join", "party", invited.Room, object{"name": "Bo"})
	r.awaitRoom("ada", party.ID, hasMembers(2))
	r.roomCall("bo", party.ID, "say", "shall we?")
	require.Equal(r.T, []lobbyLine{{party.ID, "say", bos, object{"text": "shall we?"}}}, r.awaitLines("ada", 1))
	require.Equal(r.T, "refused", r.refusalOf("bo", party.ID, "queue", object{"room_type": "ranked"}))
	r.roomCall("ada", party.ID, "queue", object{"room_type": "ranked", "latencies": object{"eu": 20}})
	for _, player := range []string{"ada", "bo"} {
		found := r.awaitLobbyEvent(player, "match", 1)
		room := r.lobbyCall(player, "joinMatch", object{"room": found.Room, "room_type": found.RoomType},
			object{"name": player})
		require.Equal(r.T, "ready", room.State["phase"])
		seat := ask[match](r, "roomCall", object{"player": player, "room": found.Room, "method": "resolve"})
		require.Equal(r.T, "127.0.0.1:7777", seat.Endpoint)
		admission, err := server.Admit(r.T.Context(), seat.Token)
		require.NoError(r.T, err)
		require.Equal(r.T, player, admission.Sub)
	}
	r.awaitRoom("ada", party.ID, isInPhase("matched"))
	// Twice: a player who has left already may leave again.
	r.roomCall("ada", party.ID, "leave")
	r.roomCall("ada", party.ID, "leave")
	require.Zero(r.T, ask[lobbyRoom](r, "roomSeen", object{"player": "ada", "room": party.ID}).Seq)
	require.True(r.T, r.awaitRoom("bo", party.ID, func(room lobbyRoom) bool { return len(room.Members) == 1 }).IsOwner,
		"the longest member follows the owner")
}

// Members of a lobby choose teams and become ready; the owner decides who may join and when they start.
func lobbyStarts(r *Rig) {
	at := r.Installation.ServeLobby("--work")
	for _, player := range []string{"ada", "bo", "cy"} {
		r.enterLobby(player, at)
	}
	room := r.lobbyCall("ada", "createLobby",
		object{"name": "Ada", "max_members": 3, "settings": object{"map": "dust"}}).ID
	bos := r.lobbyCall("bo", "join", "lobby", room, object{"name": "Bo"}).Me.Session
	cys := r.lobbyCall("cy", "join", "lobby", room).Me.Session
	listed := ask[struct{ Rooms []struct{ ID string } }](r, "lobbyCall",
		object{"player": "cy", "method": "list", "args": []any{object{"room_type": "lobby"}}})
	require.Equal(r.T, room, listed.Rooms[0].ID)

	r.roomCall("ada", room, "set", "map", "nuke")
	r.roomCall("bo", room, "team", "red")
	r.roomCall("ada", room, "lock", true)
	r.roomCall("ada", room, "kick", cys)
	require.Equal(r.T, "kicked", r.awaitLobbyEvent("cy", "left", 1).Reason)
	require.Equal(r.T, "invalid", r.refusalOf("ada", room, "start", object{"room_type": "squad", "size": 4}))
	for _, player := range []string{"ada", "bo"} {
		r.roomCall(player, room, "ready", true)
	}
	r.roomCall("ada", room, "countdown", 5)
	r.awaitRoom("bo", room, isInPhase("countdown"))
	r.roomCall("ada", room, "start", object{"room_type": "squad", "size": 4})
	r.awaitRoom("bo", room, isInPhase("queued"))
	r.roomCall("bo", room, "cancelQueue")
	r.roomCall("ada", room, "giveOwnership", bos)
	seen := r.awaitRoom("ada", room, func(room lobbyRoom) bool { return room.State["phase"] == "open" && !room.IsOwner })
	require.Equal(r.T, []any{bos, "nuke"}, []any{seen.State["owner"], seen.State["settings"].(object)["map"]})

	place := ask[struct{ Position int }](r, "lobbyCall",
		object{"player": "cy", "method": "enqueue", "args": []any{object{"room_type": "duel", "size": 2}}})
	require.Equal(r.T, 1, place.Position)
	// The second call finds no place in the queue, which is no error.
	for _, removed := range []bool{true, false} {
		require.Equal(r.T, removed, ask[bool](r, "lobbyCall", object{"player": "cy", "method": "dequeue"}))
	}
	_, failed := try[any](r, "lobbyCall", object{"player": "cy", "method": "join", "args": []any{"chess"}})
	require.Equal(r.T, "unsupported_room_type", failed.Code)
	require.Contains(r.T, failed.Message, "there are chat, lobby, party", "the hint")
}

// A replica is killed: its client resumes its session at the other, with what changed meanwhile, and all hear one
// order. A client that takes over a session again and again ends the other.
func lobbySurvivesReplica(r *Rig) {
	a, b := r.Installation.ServeLobby("--work"), r.Installation.ServeLobby("--work")
	session := r.enterLobby("bo", a, b)
	dies, stays := r.replicaOf("bo", a, b)
	r.enterLobby("ada", stays)
	const room = "lobby:x"
	for _, player := range []string{"ada", "bo"} {
		r.lobbyCall(player, "join", "lobby", room, object{"name": player})
	}
	dies.Process.Process.Kill()
	r.roomCall("ada", room, "set", "map", "dust")
	back := r.awaitLobbyEvent("bo", "connected", 1)
	require.Equal(r.T, []any{stays.Lobby, session, true}, []any{back.URL, back.Session, back.Resumed})
	r.awaitLobbyEvent("bo", "disconnected", 1)
	seen := r.awaitRoom("bo", room, func(room lobbyRoom) bool { return room.setting("map") == "dust" && room.isComplete() })
	require.Equal(r.T, seen.State, r.awaitRoom("ada", room, lobbyRoom.isComplete).State)
	for range 3 {
		for _, player := range []string{"ada", "bo"} {
			r.roomCall(player, room, "say", "still here")
		}
	}
	require.Equal(r.T, r.awaitLines("ada", 6), r.awaitLines("bo", 6))

	ask[any](r, "lobby", object{"player": "twin", "urls": []string{stays.Lobby},
		"tokens": []string{rigtest.LobbyToken("bo")}, "session": session})
	require.Equal(r.T, "EndedError", r.awaitLobbyEvent("bo", "ended", 1).Name)
	_, failed := try[any](r, "roomCall", object{"player": "bo", "room": room, "method": "say", "args": []any{"x"}})
	require.Equal(r.T, "EndedError", failed.Name)
}

// Strangers find a lobby by what its owner says of it, and see the list change, also over the end of a replica; friends
// join by a code, and read what was said.
func lobbyIsFound(r *Rig) {
	a, b := r.Installation.ServeLobby("--work"), r.Installation.ServeLobby("--work")
	r.enterLobby("bo", a, b)
	dies, stays := r.replicaOf("bo", a, b)
	r.enterLobby("ada", stays)
	awaitListed := func(holds func([]listedRoom) bool) { until(r, "lobbyListed", object{"player": "bo"}, holds) }
	query := object{"room_type": "lobby", "joinable": true, "filter": object{"map": []string{"dust", "nuke"}}}
	ask[any](r, "lobbyWatch", object{"player": "bo", "query": query})
	awaitListed(isEmpty)
	room := r.lobbyCall("ada", "createLobby",
		object{"name": "Ada", "max_members": 4, "metadata": object{"map": "dust"}}).ID
	awaitListed(func(all []listedRoom) bool {
		return showsMap("dust")(all) && all[0].Members == 1 && all[0].MaxMembers == 4
	})
	dies.Process.Process.Kill()
	r.roomCall("ada", room, "update", object{"metadata": object{"map": "nuke"}})
	awaitListed(showsMap("nuke"))
	r.roomCall("ada", room, "update", object{"private": true})
	awaitListed(isEmpty)
	ask[any](r, "lobbyUnwatch", object{"player": "bo"})

	r.roomCall("ada", room, "say", "first")
	code := ask[struct{ Code string }](r, "roomCall", object{"player": "ada", "room": room, "method": "code"}).Code
	require.Len(r.T, code, len("KX7-4ZM"))
	joined := r.lobbyCall("bo", "joinByCode", strings.ToLower(code), object{"name": "Bo"})
	require.Equal(r.T, []string{room, "lobby", "Bo"}, []string{joined.ID, joined.Type, joined.Me.Name})
	lines := ask[[]lobbyLine](r, "roomCall", object{"player": "bo", "room": room, "method": "history"})
	require.Equal(r.T, object{"text": "first"}, lines[0].Data)
	r.roomCall("ada", room, "ban", joined.Me.Session)
	_, failed := try[any](r, "lobbyCall", object{"player": "bo", "method": "joinByCode", "args": []any{code}})
	require.Equal(r.T, "banned", failed.Code)
	r.roomCall("ada", room, "code", object{"remove": true})
	_, failed = try[any](r, "lobbyCall", object{"player": "bo", "method": "joinByCode", "args": []any{code}})
	require.Equal(r.T, "code_unknown", failed.Code)
}

// Players write to each other, see each other's presence, also over the end of a replica, and each other's characters.
func lobbyFriends(r *Rig) {
	a, b := r.Installation.ServeLobby("--work"), r.Installation.ServeLobby("--work")
	r.enterLobby("bo", a, b)
	dies, stays := r.replicaOf("bo", a, b)
	r.enterLobby("ada", stays)
	sent := ask[int](r, "lobbyCall", object{"player": "ada", "method": "sendTo",
		"args": []any{"bo", "say", object{"text": "hello"}}})
	require.Equal(r.T, 1, sent)
	require.Equal(r.T, "ada", r.awaitLobbyEvent("bo", "mail", 1).FromPlayer)
	require.Len(r.T, ask[[]any](r, "lobbyCall", object{"player": "bo", "method": "inbox"}), 1)
	ask[any](r, "lobbyCall", object{"player": "bo", "method": "markRead", "args": []any{1}})
	ask[any](r, "lobbyCall", object{"player": "bo", "method": "block", "args": []any{"cy"}})
	require.Equal(r.T, []string{"cy"}, ask[[]string](r, "lobbyCall", object{"player": "bo", "method": "blocked"}))
	ask[any](r, "lobbyCall", object{"player": "bo", "method": "block", "args": []any{"cy", false}})

	isOnline := func(player string) func([]listedFriend) bool {
		return func(all []listedFriend) bool {
			return slices.ContainsFunc(all, func(f listedFriend) bool { return f.Player == player && f.Online })
		}
	}
	awaitListed := func(holds func([]listedFriend) bool) { until(r, "lobbyListed", object{"player": "bo"}, holds) }
	ask[any](r, "lobbyFriends", object{"player": "bo", "players": []string{"ada", "cy"}})
	awaitListed(func(all []listedFriend) bool { return len(all) == 2 && isOnline("ada")(all) && !isOnline("cy")(all) })
	dies.Process.Process.Kill()
	r.enterLobby("cy", stays)
	awaitListed(isOnline("cy"))
	ask[any](r, "lobbyUnwatch", object{"player": "bo"})

	const room = "lobby:x"
	r.lobbyCall("ada", "join", "lobby", room, object{"data": object{"character": "fox"}})
	r.lobbyCall("bo", "join", "lobby", room)
	r.awaitRoom("bo", room, showsCharacter("fox"))
	r.roomCall("ada", room, "setData", object{"character": "owl"})
	r.awaitRoom("bo", room, showsCharacter("owl"))
}

// A token that was refused is replaced once. A client that has no good token, or a wrong URL, ends with an error.
func lobbyTokens(r *Rig) {
	at := r.Installation.ServeLobby()
	r.enterLobbyWith("ada", []string{"wrong", rigtest.LobbyToken("ada")}, at)
	for _, tokens := range [][]string{{"wrong"}, {"wrong", "wrong too", "and again"}} {
		_, failed := try[any](r, "lobby", object{"player": "bo", "urls": []string{at.Lobby}, "tokens": tokens})
		require.Equal(r.T, "token_refused", failed.Code)
		require.NotContains(r.T, failed.Message, "wrong")
	}
	_, failed := try[any](r, "lobby", object{"player": "bo", "urls": []string{"http://a"}, "tokens": []string{""}})
	require.Equal(r.T, "TypeError", failed.Name)
	require.Contains(r.T, failed.Message, "ws(s)://")
}
