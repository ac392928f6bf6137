package loop_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime"
)

// lobbies is a database with sessions of the realtime lobby, whose rooms queue for a match.
type lobbies struct {
	*bundle

	types   *lobby.Types
	replica uuid.UUID
	opened  map[string]db.OpenedRealtime // by player
}

func setupLobbies(t *testing.T) *lobbies {
	t.Helper()
	types := must.Get(lobby.NewTypes(false, []byte(`{"ranked": {"logic": "match", "profile": "duel"}}`)))(t)
	l := &lobbies{types: types, opened: map[string]db.OpenedRealtime{}}
	l.bundle = newBundle(t, func(c *db.Config) {
		c.RoomTypes, c.Queueing = types, realtime.Queueing(universe, 0)
		encode := c.Queueing.EncodeDraft
		c.Queueing.LeaseTTL = time.Hour
		c.Queueing.EncodeDraft = func(d db.QueueDraft) (db.QueueBody, error) {
			d.LobbyQueue.Attributes = json.RawMessage(`{"skill": 1000}`)
			return encode(d)
		}
	})
	require.NoError(t, l.EnsureRealtimeProfiles(t.Context(), universe))
	l.replica = must.Get(l.BeginRealtimeReplica(t.Context(), region))(t)
	return l
}

// open connects a client of a player.
func (l *lobbies) open(player string) string {
	l.t.Helper()
	o := must.Get(l.OpenRealtime(l.t.Context(), db.RealtimeRequest{
		Region: region, ProjectID: "p1", PlayerSub: player, IsAuthenticated: true, TokenDigest: []byte(player),
		ResumeTTL: time.Minute, ReplicaID: l.replica, BackAction: l.types.MarkBack,
	}))(l.t)
	l.opened[player] = o
	return o.SessionID
}

// act runs an action of a player in a room.
func (l *lobbies) act(player, room string, act lobby.Action) (db.LobbyAnswer, error) {
	l.t.Helper()
	o := l.opened[player]
	return l.ActInLobby(l.t.Context(), db.LobbyAction{
		Region: region, ProjectID: "p1", Session: db.SessionEpoch{ID: o.SessionID, Epoch: o.OwnerEpoch}, RoomID: room,
		MakesRoom: true, Act: act,
	})
}

func (l *lobbies) join(roomType, room string, players ...string) {
	l.t.Helper()
	for _, p := range players {
		options := lobby.Options{"private": json.RawMessage("false")}
		_, err := l.act(p, room, l.types.JoinRoom(lobby.Join{RoomType: roomType, Session: l.opened[p].SessionID,
			Player: p, Options: options}))
		require.NoError(l.t, err, p)
	}
}

func (l *lobbies) send(player, room, kind, data string) db.LobbyAnswer {
	l.t.Helper()
	a, err := l.act(player, room, l.types.HandleMessage(lobby.Message{Session: l.opened[player].SessionID,
		Player: player, Type: kind, Data: json.RawMessage(data)}))
	require.NoError(l.t, err, kind)
	return a
}

// party makes a party of players.
func (l *lobbies) party(room string, players ...string) {
	l.t.Helper()
	for _, p := range players {
		l.open(p)
	}
	l.join("party", room, players...)
}

// lobby makes a lobby of players that are ready.
func (l *lobbies) lobby(room string, players ...string) {
	l.t.Helper()
	for _, p := range players {
		l.open(p)
	}
	l.join("lobby", room, players...)
	for _, p := range players {
		l.send(p, room, "ready", `{"ready":true}`)
	}
}

func (l *lobbies) phase(room string) (phase string) {
	l.t.Helper()
	return storetest.One[string](l.DB, "SELECT state->>'phase' FROM lobbies WHERE id = $1", room)
}

// tell lets rooms know what became of their tickets, as workers do.
func (l *lobbies) tell() {
	l.t.Helper()
	must.Get(l.DeliverTicketOutcomes(l.t.Context(), region, 100))(l.t)
}

const matchRooms = "SELECT count(*) FROM lobbies WHERE match_id IS NOT NULL"

// From the rooms to the match: what a client sees of it.
func TestAPartyAndALobbyMeetInAMatch(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.party("party:1", "ada", "bo")
	l.lobby("lobby:1", "cy", "di")
	l.send("ada", "party:1", "queue", `{"room_type":"arena","size":4}`)
	l.send("cy", "lobby:1", "start", `{"room_type":"arena","size":4}`)
	l.worker()
	l.Eventually(1, matchRooms)
	l.tell()
	require.Equal(t, "matched", l.phase("party:1"))
	require.Equal(t, "matched", l.phase("lobby:1"))

	var room string
	require.NoError(t, l.Pool().QueryRow(t.Context(), "SELECT id FROM lobbies WHERE match_id IS NOT NULL").Scan(&room))
	require.Equal(t, 1, l.Count("SELECT count(*) FROM lobbies WHERE id = 'party:1' AND state->'match'->>'room' = $1",
		room))
	l.open("eve")
	_, err := l.act("eve", room, l.types.JoinRoom(lobby.Join{RoomType: "arena", Session: l.opened["eve"].SessionID,
		Player: "eve"}))
	require.ErrorIs(t, err, lobby.ErrNotInvited)
	l.join("arena", room, "ada", "bo", "cy", "di")
	require.Equal(t, 4, l.Count("SELECT members FROM lobbies WHERE id = $1", room))
	require.Zero(t, l.Count("SELECT count(*) FROM realtime_tickets"))
	l.tell()
	require.Equal(t, 2, l.Count("SELECT count(*) FROM lobbies WHERE state->>'phase' = 'matched'"))
	l.RequireInvariants()
}

// A type with a profile seats its players on a game server, in the transaction of the match.
func TestAPartyIsSeatedByAProfile(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.AddProfile("duel", duel)
	l.host("host-1", 100, "arena")
	l.party("party:1", "ada")
	l.party("party:2", "bo")
	for i, owner := range []string{"ada", "bo"} {
		l.send(owner, fmt.Sprint("party:", i+1), "queue", `{"room_type":"ranked"}`)
	}
	l.worker()
	l.Eventually(2, "SELECT count(*) FROM seats WHERE sub IN ('ada', 'bo')")
	require.Equal(t, 1, l.Count(matchRooms+
		" AND type = 'ranked' AND state->'server'->>'endpoint' = 'host-1:7777' AND session_id IS NOT NULL"))
	l.tell()
	require.Equal(t, "matched", l.phase("party:1"))
	l.RequireInvariants()
}

// Each of these takes the members out of the queue in the transaction of the change, so that no match is made of them.
func TestAPartyThatChangesIsInNoMatch(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.party("party:1", "ada", "bo")
	queue := func() { l.send("ada", "party:1", "queue", `{"room_type":"arena","size":2}`) }
	waiting := "SELECT count(*) FROM realtime_tickets"
	queue()
	require.Equal(t, 2, l.Count(waiting))
	l.send("bo", "party:1", "cancel", `{}`)
	require.Zero(t, l.Count(waiting))
	queue()
	_, err := l.act("bo", "party:1", l.types.LeaveRoom(l.opened["bo"].SessionID, "bo"))
	require.NoError(t, err)
	require.Zero(t, l.Count(waiting))
	require.Zero(t, l.Count("SELECT count(*) FROM tickets"))
	require.Equal(t, "open", l.phase("party:1"))
	l.tell()
	require.Equal(t, "open", l.phase("party:1"))
	l.RequireInvariants()
}

// The tickets of the house end in many ways; the room hears of each.
func TestAPartyWhoseTicketLeavesTheQueueIsOpenAgain(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.party("party:1", "ada", "bo")
	l.send("ada", "party:1", "queue", `{"room_type":"arena","size":4}`)
	l.Exec("UPDATE tickets SET expires_at = clock_timestamp(), ends_at = clock_timestamp()")
	n, err := l.SweepTickets(t.Context(), universe, 100)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	n, err = l.SettleLostTickets(t.Context(), region, 100, ticketbody.Connection)
	require.NoError(t, err)
	require.Equal(t, 2, n, "sessions")
	l.tell()
	require.Equal(t, "open", l.phase("party:1"))
	require.Equal(t, 1, l.Count("SELECT count(*) FROM lobby_log WHERE body LIKE '%unqueued%'"))
	require.Zero(t, l.Count("SELECT count(*) FROM realtime_tickets"))
	l.RequireInvariants()
}

// A member that queues alone cannot be in two matches: its party leaves the queue.
func TestAMemberThatQueuesAloneTakesItsPartyOutOfTheQueue(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.party("party:1", "ada", "bo")
	l.send("ada", "party:1", "queue", `{"room_type":"arena","size":4}`)
	o := l.opened["bo"]
	_, err := l.EnqueueRealtime(t.Context(), db.RealtimeEnqueueRequest{
		Region: region, ProjectID: "p1", Session: db.SessionEpoch{ID: o.SessionID, Epoch: o.OwnerEpoch}, Player: "bo",
		Queue: lobby.Queue{RoomType: "arena", MatchSize: 2},
	})
	require.NoError(t, err)
	l.tell()
	require.Equal(t, "open", l.phase("party:1"))
	require.Equal(t, 1, l.Count("SELECT count(*) FROM realtime_tickets"))
	require.Equal(t, 1, l.Count("SELECT count(*) FROM tickets"))
	l.RequireInvariants()
}
