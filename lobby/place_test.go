package lobby

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Pins an owner who reloads the page: the ownership, the team, the readiness and the place in the queue were lost,
// since the old session left before the new one was in.
func TestANewSessionHasAllThatItsPlayerHadInALobby(t *testing.T) {
	t.Parallel()
	h := setup(t, "lobby")
	h.mustJoin("s1", "s2")
	h.mustSend("s1", "team", `{"team":"red"}`)
	h.mustSend("s1", "ready", `{}`)
	h.mustSend("s2", "ready", `{}`)
	h.mustSend("s1", "start", `{"room_type":"duel","size":4}`)
	h.must(h.MarkAway("s1"))
	h.news()
	require.NoError(t, h.join("s5"))
	require.Equal(t, []string{"s5", "s2"}, h.sessions(), "it has stayed the longest")
	require.JSONEq(t, `{"name":"ada","team":"red","ready":true,"away":false}`, h.value("m:s5"))
	require.Empty(t, h.value("m:s1"))
	require.Equal(t, `"s5"`, h.value("owner"))
	require.Equal(t, `"queued"`, h.value("phase"))
	require.Contains(t, h.room.Effects, Effect{Kind: EffectSucceed, Player: "ada", FromSession: "s1", Session: "s5"})
	entries, _ := h.news()
	require.JSONEq(t, `[{"k":"left","s":"s1","r":"replaced"},{"k":"joined","s":"s5"}]`, entries)
	require.ErrorIs(t, h.send("s1", "say", `{"text":"hi"}`), ErrNotMember)
	h.mustSend("s5", "cancel", ``)
}

func TestANewSessionMayBeCalledOtherwise(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"lobby", "party"} {
		h := setup(t, typ)
		h.mustJoin("s1", "s2")
		require.NoError(t, h.join("s6", "name", `"Bo"`))
		require.Contains(t, h.value("m:s6"), `"Bo"`)
		requireCode(t, "invalid", h.join("s2", "name", `1`))
		require.Equal(t, []string{"s1", "s6"}, h.sessions())
		require.Equal(t, `"s1"`, h.value("owner"))
	}
}

// A lobby that is full, locked or has begun a countdown has its player still.
func TestANewSessionNeedsNoFreePlace(t *testing.T) {
	t.Parallel()
	h := setup(t, "lobby")
	h.mustJoin("s1", "s2")
	h.mustSend("s1", "lock", `{}`)
	h.room.MaxMembers = 2
	for _, s := range []string{"s1", "s2"} {
		h.mustSend(s, "ready", `{}`)
	}
	h.mustSend("s1", "countdown", `{}`)
	require.NoError(t, h.join("s5"))
	require.Equal(t, `"countdown"`, h.value("phase"))
	require.ErrorIs(t, h.join("s3"), ErrLocked)
}

// Pins match rooms that admitted sessions: a client that crashed heard not_invited while its seat waited.
func TestAMatchAdmitsThePlayerWithAnotherSession(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"match", "counter_room", "lobby", "nobody-configured"} {
		for _, hasJoined := range []bool{true, false} {
			h := setup(t, "match")
			h.typ, h.room = typ, h.MatchRoom(threePlayers(typ))()
			h.room.IsNew = false
			if hasJoined {
				h.mustJoin("s1")
			}
			h.mustJoin("s2")
			require.NoError(t, h.join("s5"), typ)
			require.ElementsMatch(t, []string{"s2", "s5"}, h.sessions())
			require.Equal(t, []string{"s5", "s2", "s3"}, h.room.Participants)
			require.Equal(t, []Member{{Session: "s3", Player: "cy"}}, h.room.InvitedMembers)
			require.ErrorIs(t, h.join("s7"), ErrNotInvited)
			require.NoError(t, h.join("s1"), "the old session is one of the same player")
			require.Equal(t, []string{"s1", "s2", "s3"}, h.room.Participants)
		}
	}
}

func TestThePlaceInAMatchOutlivesItsSession(t *testing.T) {
	t.Parallel()
	h := setup(t, "match")
	h.mustJoin("s1", "s2", "s3")
	h.must(h.EndSession("s1"))
	require.Empty(t, h.room.Effects)
	require.NoError(t, h.join("s5"))
	h.must(h.LeaveRoom("s5", "ada"))
	require.Equal(t, []Effect{{Kind: EffectWithdraw, Player: "ada"}}, h.room.Effects)
}

// Where players are matched by session, both sessions of a player have a place. The next one takes that of the one that
// is gone.
func TestAPlayerWhoIsInAMatchTwice(t *testing.T) {
	t.Parallel()
	h := setup(t, "match")
	m := threePlayers("duel")
	m.Participants = append(m.Participants, Member{Session: "s5", Player: "ada"})
	m.Seats = []string{"s1", "s2", "s3", "s5"}
	h.typ, h.room = "duel", h.MatchRoom(m)()
	h.room.IsNew = false
	h.mustJoin("s1", "s5")
	require.Len(t, h.room.Members, 2)
	h.must(h.MarkAway("s5"))
	require.NoError(t, h.do(h.JoinRoom(Join{RoomType: "duel", Session: "s9", Player: "ada"})))
	require.Equal(t, []string{"s1", "s2", "s3", "s9"}, h.room.Participants)
	require.Equal(t, "s5", h.room.seatOf("s9"), "the game server keeps the seat for the player of the ticket")
}

// A session without a name is nobody else.
func TestASessionWithoutANameHasItsOwnPlace(t *testing.T) {
	t.Parallel()
	h := setup(t, "match")
	m := threePlayers("duel")
	m.Participants = append(m.Participants, Member{Session: "s8", Player: "s8"})
	h.typ, h.room = "duel", h.MatchRoom(m)()
	h.room.IsNew = false
	require.ErrorIs(t, h.do(h.JoinRoom(Join{RoomType: "duel", Session: "s9", Player: "s9"})), ErrNotInvited)
	require.ErrorIs(t, h.do(h.JoinRoom(Join{RoomType: "duel", Session: "s9", Player: "s8"})), ErrNotInvited,
		"a sub may look like a session")
	h = setup(t, "lobby")
	h.mustJoin("s8")
	require.NoError(t, h.do(h.JoinRoom(Join{RoomType: "lobby", Session: "s9", Player: "s8"})))
	require.Len(t, h.room.Members, 2)
}

// Pins kicked players who came back by the invitation of their other device.
func TestAnInvitationOfAPlayerIsUsedOnce(t *testing.T) {
	t.Parallel()
	h := setup(t, "party")
	h.mustJoin("s1")
	h.room.InvitedMembers = []Member{{Player: "bo"}, {Session: "s2", Player: "bo"}, {Session: "s6", Player: "bo"}}
	require.NoError(t, h.join("s2"))
	require.Empty(t, h.room.InvitedMembers)
	h.mustSend("s1", "kick", `{"session":"s2"}`)
	require.ErrorIs(t, h.join("s6"), ErrNotInvited)
	h.room.InvitedMembers = []Member{{Player: "bo"}}
	h.must(h.LeaveRoom("s2", "bo"))
	require.ErrorIs(t, h.join("s6"), ErrNotInvited, "it was declined")
}

// Pins rooms that admitted nobody for their grace, not even their owner.
func TestAnEmptyRoomIsThatOfTheNextOne(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"lobby", "party", "squads", "chat"} {
		h := setup(t, typ)
		require.NoError(t, h.join("s1", "private", "true"))
		if typ != "chat" {
			h.mustSend("s1", "lock", `{}`)
		}
		h.must(h.LeaveRoom("s1", "ada"))
		require.NoError(t, h.join("s2"))
		if typ != "chat" {
			require.Equal(t, `"s2"`, h.value("owner"))
			require.ErrorIs(t, h.join("s3"), ErrNotInvited)
		}
	}
}

// Pins invitations to a locked room that said ok and then admitted nobody.
func TestAnInvitationOpensALockedRoom(t *testing.T) {
	t.Parallel()
	h := setup(t, "party")
	h.mustJoin("s1", "s2")
	h.mustSend("s1", "lock", `{}`)
	require.ErrorIs(t, h.send("s2", "invite", `{"player":"cy"}`), ErrLocked, "the lock is the owner's")
	h.mustSend("s1", "invite", `{"player":"cy"}`)
	h.room.InvitedMembers = []Member{{Player: "cy"}}
	require.NoError(t, h.join("s3"))
	require.ErrorIs(t, h.join("s4"), ErrNotInvited)
}
