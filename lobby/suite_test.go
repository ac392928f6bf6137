package lobby

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryTypeHasMembersThatJoinAndLeave(t *testing.T) {
	t.Parallel()
	eachType(t, func(t *testing.T, h *house) {
		h.mustJoin("s1")
		require.EqualValues(t, 1, h.room.StateSeq)
		require.Equal(t, []string{"s1"}, h.sessions())
		entries, _ := h.news()
		require.JSONEq(t, `[{"k":"joined","s":"s1"}]`, entries)

		h.must(h.MarkAway("s1"))
		h.must(h.MarkAway("s1"))
		require.True(t, h.room.Members[0].IsAway)
		h.must(h.MarkBack("s1"))
		h.must(h.MarkBack("s1"))
		require.False(t, h.room.Members[0].IsAway)
		entries, _ = h.news()
		require.JSONEq(t, `[{"k":"dropped","s":"s1"},{"k":"reconnected","s":"s1"},{"k":"reconnected","s":"s1"}]`, entries)

		h.must(h.LeaveRoom("s1", playerOf("s1")))
		require.Empty(t, h.sessions())
		entries, _ = h.news()
		require.JSONEq(t, `[{"k":"left","s":"s1"}]`, entries)
		require.NotContains(t, h.state(), `"m:s1"`)
		require.ErrorIs(t, h.do(h.LeaveRoom("s1", playerOf("s1"))), ErrNotMember)
		require.ErrorIs(t, h.send("s1", "say", `{"text":"hi"}`), ErrNotMember)
	})
}

// The SDK never looks at the answer of a join, and a client whose answer was lost joins again.
func TestAMemberOfEveryTypeMayJoinAgain(t *testing.T) {
	t.Parallel()
	eachType(t, func(t *testing.T, h *house) {
		h.mustJoin("s1")
		before := copyOf(h.room)
		require.NoError(t, h.join("s1"))
		require.Equal(t, before, copyOf(h.room))
		require.ErrorIs(t, h.do(h.JoinRoom(Join{RoomType: "another", Session: "s1"})), ErrWrongType)
	})
}

// One transaction has the actions of many sessions. Pins a second join that made a new room once more.
func TestSessionsJoinANewRoomInOneTransaction(t *testing.T) {
	t.Parallel()
	eachType(t, func(t *testing.T, h *house) {
		for i := 1; i <= 3; i++ {
			h.room.IsPrivate = false
			require.NoError(t, h.JoinRoom(Join{RoomType: h.typ, Session: session(i),
				Player: playerOf(session(i))})(h.room))
		}
		require.Equal(t, []string{"s1", "s2", "s3"}, h.sessions())
	})
}

func TestEveryTypeHasABoundOfMembers(t *testing.T) {
	t.Parallel()
	eachType(t, func(t *testing.T, h *house) {
		h.mustJoin("s1")
		h.room.MaxMembers, h.room.IsPrivate, h.room.Participants = 1, false, nil
		require.ErrorIs(t, h.do(h.JoinRoom(Join{RoomType: h.typ, Session: "s2", Player: "bo"})), ErrFull)
	})
}

func TestOnlyInvitedSessionsJoinAPrivateRoomOfAnyType(t *testing.T) {
	t.Parallel()
	eachType(t, func(t *testing.T, h *house) {
		if h.room.Participants != nil {
			require.ErrorIs(t, h.join("s4"), ErrNotInvited)
			h.room.InvitedMembers = append(h.room.InvitedMembers, Member{Session: "s4", Player: "di"})
			require.ErrorIs(t, h.join("s4"), ErrNotInvited, "an invitation is not enough for the room of a match")
			return
		}
		require.NoError(t, h.join("s1", "private", "true"))
		require.ErrorIs(t, h.join("s2"), ErrNotInvited)
		h.room.InvitedMembers = []Member{{Session: "s2", Player: "bo"}, {Session: "s9", Player: "cy"}}
		require.NoError(t, h.join("s2"))
		require.Equal(t, []Member{{Session: "s9", Player: "cy"}}, h.room.InvitedMembers)
		require.NoError(t, h.join("s3"), "another session of the player that is invited")
	})
}

func TestAnInvitationToAnyTypeCanBeDeclined(t *testing.T) {
	t.Parallel()
	eachType(t, func(t *testing.T, h *house) {
		h.mustJoin("s1")
		h.room.InvitedMembers = []Member{{Session: "s2", Player: "bo"}}
		h.news()
		h.must(h.LeaveRoom("s2", playerOf("s2")))
		require.Empty(t, h.room.InvitedMembers)
		require.Empty(t, h.room.Entries)
	})
}

// A room of another replica's configuration: nobody joins or sends, but sessions end.
func TestMembersLeaveARoomOfATypeThatIsNotKnownHere(t *testing.T) {
	t.Parallel()
	eachType(t, func(t *testing.T, h *house) {
		h.mustJoin("s1", "s2")
		h.room.Participants = nil
		h.room.Type = "elsewhere"
		require.ErrorIs(t, h.do(h.JoinRoom(Join{RoomType: "elsewhere", Session: "s3"})), ErrWrongType)
		require.ErrorIs(t, h.send("s1", "x", "1"), ErrWrongType)
		require.ErrorIs(t, h.do(h.MarkMatched("m", "r")), ErrWrongType)
		h.must(h.MarkAway("s1"))
		h.must(h.MarkBack("s1"))
		h.must(h.EndMatch())
		h.must(h.LeaveRoom("s1", playerOf("s1")))
		require.Equal(t, []string{"s2"}, h.sessions())
	})
}

// Clients send these; they are data like any other.
func TestOddTextPassesThroughEveryType(t *testing.T) {
	t.Parallel()
	odd := `{"__proto__":{"a":1},"constructor":"\u0000","x":"\ud800","y":1e400,"a":1,"a":2,"<":"\u2028"}`
	wanted := "{\"<\":\"\u2028\",\"__proto__\":{\"a\":1},\"a\":2,\"constructor\":\"\\u0000\",\"x\":\"\uFFFD\",\"y\":null}"
	for _, typ := range []string{"chat", "match", "town", "ranked"} {
		h := setup(t, typ)
		h.mustJoin("s1")
		h.news()
		h.mustSend("s1", "\xff<&>", odd)
		require.Len(t, h.room.Entries, 1)
		require.Equal(t, wanted, string(h.room.Entries[0].Data))
		require.Equal(t, "\uFFFD<&>", h.room.Entries[0].Type)
	}
	h := setup(t, "lobby")
	h.mustJoin("s1")
	h.mustSend("s1", "set", `{"key":"__proto__","value":`+odd+`}`)
	require.Equal(t, `{"__proto__":`+wanted+`}`, h.value("settings"))
}

func TestMessagesHaveBounds(t *testing.T) {
	t.Parallel()
	h := setup(t, "chat")
	h.mustJoin("s1")
	requireCode(t, "invalid", h.send("s1", "", "1"))
	requireCode(t, "invalid", h.send("s1", strings.Repeat("x", 129), "1"))
	requireCode(t, "invalid", h.send("s1", "x", "{"))
	require.ErrorIs(t, h.send("s1", "x", `"`+strings.Repeat("x", maxDataBytes)+`"`), ErrTooLarge)
	h.mustSend("s1", "x", "")
	require.Equal(t, "null", string(h.room.Entries[len(h.room.Entries)-1].Data))
}

func TestBytesArePaddedBase64OfAtMost8KiB(t *testing.T) {
	t.Parallel()
	h := setup(t, "chat")
	h.mustJoin("s1")
	send := func(data string) error {
		return h.do(h.HandleMessage(Message{Session: "s1", Type: "b", Data: encodeJSON(data), IsBytes: true}))
	}
	h.news()
	require.NoError(t, send("AAE="))
	require.Equal(t, []Entry{{Kind: EntryBytes, Session: "s1", Type: "b", Data: encodeJSON("AAE=")}}, h.room.Entries)
	for _, bad := range []string{"AAE", "A-==", "AAE=\n", "AAF="} {
		requireCode(t, "invalid", send(bad))
	}
	require.NoError(t, send(strings.Repeat("AAAA", 2730)))
	require.ErrorIs(t, send(strings.Repeat("AAAA", 2731)), ErrTooLarge)
	requireCode(t, "invalid", h.do(h.HandleMessage(Message{Session: "s1", Type: "b", Data: encodeJSON(1),
		IsBytes: true})))
}

// The bound leaves space for what the director does itself: those actions must not fail.
func TestAStateOfMoreThan64KiBLeavesTheRoomUnchanged(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"lobby", "party", "match", "squads", "ranked"} {
		h := setup(t, typ)
		h.mustJoin("s1", "s2")
		h.room.IsPrivate = false
		h.room.State["filler"] = encodeJSON(strings.Repeat("x",
			maxStateBytes-directorBytes-h.room.State.JSONBytes()-20))
		before := copyOf(h.room)
		require.ErrorIs(t, h.join("s3"), ErrStateTooBig)
		require.Equal(t, before, copyOf(h.room))
		for _, act := range []Action{h.MarkAway("s1"), h.MarkBack("s1"), h.EndMatch(),
			h.LeaveRoom("s1", playerOf("s1"))} {
			h.must(act)
		}
		if h.room.Participants == nil {
			h.must(h.MarkMatched("m1", strings.Repeat("r", maxIDBytes)))
		}
		require.LessOrEqual(t, h.room.State.JSONBytes(), maxStateBytes)
	}
}
