package lobby

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMembersOfAPartyInviteOthers(t *testing.T) {
	t.Parallel()
	h := setup(t, "party")
	h.mustJoin("s1")
	require.ErrorIs(t, h.join("s2"), ErrNotInvited)
	h.mustSend("s1", "invite", `{"player":"bo"}`)
	require.Equal(t, []Effect{{Kind: EffectInvite, Player: "bo", Session: "s1", Inviter: "ada"}}, h.room.Effects)
	h.mustJoin("s2")
	h.effects()
	h.mustSend("s2", "invite", `{"player":"ada"}`)
	require.Empty(t, h.room.Effects, "she is here")
	require.JSONEq(t, `{"name":"bo","away":false}`, h.value("m:s2"))
}

func TestAPartyHasABoundOfInvitations(t *testing.T) {
	t.Parallel()
	h := setup(t, "party")
	h.mustJoin("s1")
	for i := range maxInvitations {
		h.mustSend("s1", "invite", fmt.Sprintf(`{"player":"p%d"}`, i))
	}
	requireCode(t, "invalid", h.send("s1", "invite", `{"player":"bo"}`))
	h.room.MaxMembers = 1
	require.ErrorIs(t, h.send("s1", "invite", `{"player":"bo"}`), ErrFull)
}

func TestAPartyQueuesTogether(t *testing.T) {
	t.Parallel()
	h := setup(t, "party")
	h.mustJoin("s1", "s2", "s3")
	require.ErrorIs(t, h.send("s2", "queue", `{"room_type":"duel"}`), ErrNotOwner)
	requireCode(t, "invalid", h.send("s1", "queue", `{}`))
	requireCode(t, "invalid", h.send("s1", "queue", `{"room_type":"duel","size":2}`))
	h.mustSend("s1", "queue", `{"room_type":"ranked","size":2}`)
	require.Equal(t, []string{EffectEnqueue}, h.effects(), "the profile knows its sizes")
	h.mustSend("s1", "queue", `{"room_type":"duel","size":99}`)
	require.JSONEq(t, `{"room_type":"duel","size":16}`, h.value("queue"))
	require.Equal(t, []string{EffectDequeue, EffectEnqueue}, h.effects())
	h.mustSend("s3", "cancel", ``)
	require.Equal(t, []string{EffectDequeue}, h.effects())
	h.must(h.MarkAway("s2"))
	requireCode(t, "invalid", h.send("s1", "queue", `{"room_type":"duel"}`))
	require.Equal(t, `"open"`, h.value("phase"))
}

func TestAPartyLeavesTheQueueWithItsMembers(t *testing.T) {
	t.Parallel()
	h := setup(t, "party")
	h.mustJoin("s1", "s2")
	h.mustSend("s1", "queue", `{"room_type":"duel"}`)
	h.effects()
	h.must(h.LeaveRoom("s2", playerOf("s2")))
	require.Equal(t, []string{EffectDequeue}, h.effects())
	h.mustSend("s1", "queue", `{"room_type":"duel"}`)
	h.effects()
	h.must(h.MarkMatched("m1", "duel:match:1"))
	h.must(h.LeaveRoom("s1", playerOf("s1")))
	require.Empty(t, h.effects(), "the match was made")
}
