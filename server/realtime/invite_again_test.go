package realtime

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/realtime/realtimetest"
)

// Pins an invitation that a player never receives, because it had declined an earlier one to the room, or had been
// removed from it.
func TestAPlayerIsInvitedAgain(t *testing.T) {
	t.Parallel()
	v := serve(t)
	ada, bo := v.client(), v.client()
	room := ada.Join(t, "party", "party:x", nil)
	say := func(kind string, data map[string]any) {
		t.Helper()
		ada.Must(t, "room.message", room, map[string]any{"type": kind, "data": data})
	}
	invites := func(n int) {
		t.Helper()
		say("invite", map[string]any{"player": bo.SessionID()})
		bo.Wait(t, "an invitation", func(v *realtimetest.View) bool { return v.Count("room.invited", room) == n })
	}
	invites(1)
	bo.Leave(t, room)
	invites(2)
	require.Equal(t, room, bo.Join(t, "party", room, nil))
	say("kick", map[string]any{"session": bo.SessionID()})
	bo.Wait(t, "its removal", func(v *realtimetest.View) bool { return v.Count("room.left", room) == 1 })
	invites(3)
}
