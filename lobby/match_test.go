package lobby

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheRoomOfAMatch(t *testing.T) {
	t.Parallel()
	types := newTypes(t)
	m := threePlayers("duel") // of no type that is configured
	m.Profile = "ranked-1v1"
	m.GameServer = &Server{Endpoint: "game.example:7777", SessionID: "x", SessionHandle: "h", Region: "eu",
		Mode: "arena"}
	made := types.MatchRoom(m)
	r := made()
	require.Equal(t, made(), r)
	require.NotSame(t, made(), r)
	require.True(t, r.IsNew)
	require.True(t, r.IsPrivate)
	require.Equal(t, 3, r.MaxMembers)
	require.Equal(t, []string{"s1", "s2", "s3"}, r.Participants)
	require.Equal(t, []Member{{Session: "s1", Player: "ada"}, {Session: "s2", Player: "bo"},
		{Session: "s3", Player: "cy"}}, r.InvitedMembers)
	require.JSONEq(t, `{"phase":"ready","match":{"id":"m1","profile":"ranked-1v1","room_type":"duel","size":3},
		"server":{"endpoint":"game.example:7777","session_id":"x","session_handle":"h","region":"eu","mode":"arena"}}`, string(r.State.JSON()))
}

func TestParticipantsTalkInTheRoomOfAMatch(t *testing.T) {
	t.Parallel()
	h := setup(t, "match")
	require.NoError(t, h.join("s2", "name", `"Bo"`))
	h.mustJoin("s1")
	require.JSONEq(t, `{"player":"bo","name":"Bo","away":false}`, h.value("m:s2"))
	require.Len(t, h.room.InvitedMembers, 1)
	h.news()
	h.mustSend("s1", "ping", `[1]`)
	entries, _ := h.news()
	require.JSONEq(t, `[{"k":"message","s":"s1","t":"ping","d":[1]}]`, entries)
	h.must(h.MarkAway("s2"))
	require.JSONEq(t, `{"player":"bo","name":"Bo","away":true}`, h.value("m:s2"))
	h.must(h.LeaveRoom("s2", playerOf("s2")))
	h.mustJoin("s2")
	h.must(h.EndMatch())
	require.Equal(t, `"ended"`, h.value("phase"))
}

func TestNobodyMakesTheRoomOfAMatchByJoining(t *testing.T) {
	t.Parallel()
	h := &house{Types: newTypes(t), t: t, typ: "match", room: &Room{IsNew: true}}
	require.ErrorIs(t, h.join("s1"), ErrNotFound)
	h.typ = "nothing"
	require.ErrorIs(t, h.join("s1"), ErrWrongType)
	require.Equal(t, &Room{IsNew: true}, h.room)
}

// A type may be matched and have another logic: scripts written for Nexis expect the counter in the room of their
// match.
func TestTheRoomOfAMatchHasTheLogicOfItsType(t *testing.T) {
	t.Parallel()
	types := newTypes(t)
	require.JSONEq(t, `{"counter":0}`, string(types.MatchRoom(threePlayers("counter_room"))().State.JSON()))
	h := &house{Types: types, t: t, typ: "lobby", room: types.MatchRoom(threePlayers("lobby"))()}
	h.mustJoin("s2")
	require.Equal(t, `"s2"`, h.value("owner"))
	h.must(h.EndMatch())
	require.Equal(t, `"open"`, h.value("phase"))
}

func TestProcessesWithoutConfigurationMakeMatches(t *testing.T) {
	t.Parallel()
	var types *Types
	r := types.MatchRoom(threePlayers("duel"))()
	require.JSONEq(t, `{"phase":"ready","match":{"id":"m1","room_type":"duel","size":3}}`, string(r.State.JSON()))
	require.Positive(t, r.GracePeriod)
	require.NoError(t, types.EndMatch()(r))
	require.ErrorIs(t, types.JoinRoom(Join{RoomType: "chat", Session: "s1"})(&Room{IsNew: true}), ErrWrongType)
}
