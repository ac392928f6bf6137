package realtime

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/realtime/realtimetest"
)

// partyOf makes a private party of a client.
func partyOf(t *testing.T, c *realtimetest.Client) (room string) {
	t.Helper()
	return c.Join(t, "party", "party:"+c.SessionID(), nil)
}

func invitePlayer(t *testing.T, c *realtimetest.Client, room, player string) realtimetest.Response {
	t.Helper()
	return c.Ask(t, "room.message", room, map[string]any{"type": "invite", "data": map[string]any{"player": player}})
}

// Pins invitations that were rows of the sessions of that moment: who was offline got nothing and could not join, and
// the inviter heard ok.
func TestAnInvitationWaitsForItsPlayer(t *testing.T) {
	t.Parallel()
	a := serve(t)
	a.key("p1", "k1")
	b := serveOn(t, a.database.URL)
	ada := a.client(as("ada"))
	party := partyOf(t, ada)
	require.Equal(t, realtimetest.Response{"ok": true, "reached": float64(0)}, invitePlayer(t, ada, party, "bo"))
	require.Equal(t, float64(0), invitePlayer(t, ada, party, "nobody")["reached"])

	bo := b.client(as("bo"))
	require.Equal(t, "ada", bo.Hear(t, "room.invited").P["from_player"])
	other := a.client(as("bo"))
	require.Equal(t, party, other.Hear(t, "room.invited").P["room"])
	require.Equal(t, float64(2), invitePlayer(t, ada, party, "bo")["reached"])
	bo.Join(t, "party", party, nil)
	third := b.client(as("bo"))
	third.Must(t, "room.list", "", nil)
	require.Empty(t, third.EventsOf("room.invited", ""), "it was accepted")

	cy := a.client(as("cy"))
	require.Equal(t, float64(1), invitePlayer(t, ada, party, "cy")["reached"])
	cy.Hear(t, "room.invited")
	again := b.client(as("cy"))
	again.Hear(t, "room.invited")
	again.Leave(t, party)
	last := a.client(as("cy"))
	last.Must(t, "room.list", "", nil)
	require.Empty(t, last.EventsOf("room.invited", ""), "it was declined")
	require.Equal(t, "not_invited", last.Ask(t, "room.join_or_create", party,
		map[string]any{"roomType": "party"}).Code())
	require.Zero(t, a.database.Count("SELECT coalesce(sum(violations), 0) FROM ops.invariants"))
}

// A player who makes rooms without end invites no more than so many others.
func TestAPlayerInvitesAtARate(t *testing.T) {
	t.Parallel()
	a := serve(t)
	a.key("p1", "k1")
	ada, other := a.client(as("ada")), a.client(as("ada"))
	first, second := partyOf(t, ada), partyOf(t, other)
	for i := range 40 {
		require.True(t, invitePlayer(t, ada, first, fmt.Sprint("p", i)).OK())
	}
	for i := range 24 {
		require.True(t, invitePlayer(t, other, second, fmt.Sprint("p", i)).OK())
	}
	refused := invitePlayer(t, other, second, "p30")
	require.Equal(t, "rate_limited", refused.Code(), "%v", refused)
	require.True(t, invitePlayer(t, other, second, "p3").OK(), "the same again is no other one")
	bo := a.client(as("bo"))
	require.True(t, invitePlayer(t, bo, partyOf(t, bo), "p30").OK())
	a.database.Exec("UPDATE lobby_invitations SET expires_at = clock_timestamp()")
	require.True(t, invitePlayer(t, other, second, "p30").OK())
}

func TestAPlayerBlocksAnother(t *testing.T) {
	t.Parallel()
	a := serve(t)
	a.key("p1", "k1")
	ada, bo, cy := a.client(as("ada")), a.client(as("bo")), a.client(as("cy"))
	party := partyOf(t, ada)
	require.Equal(t, float64(1), invitePlayer(t, ada, party, "bo")["reached"])
	bo.Hear(t, "room.invited")
	bo.Must(t, "player.block", "", map[string]any{"player": "ada"})
	require.Equal(t, []any{"ada"}, bo.Must(t, "player.blocked", "", nil)["players"])
	require.Equal(t, realtimetest.Response{"ok": true, "reached": float64(0)}, invitePlayer(t, ada, party, "bo"),
		"who is blocked is not told")
	require.Equal(t, float64(1), invitePlayer(t, cy, partyOf(t, cy), "bo")["reached"])
	opened := a.client(as("bo"))
	require.Equal(t, "cy", opened.Hear(t, "room.invited").P["from_player"])
	require.Len(t, opened.EventsOf("room.invited", ""), 1)
	bo.Must(t, "player.unblock", "", map[string]any{"player": "ada"})
	require.Equal(t, []any{}, bo.Must(t, "player.blocked", "", nil)["players"])
	require.Equal(t, float64(2), invitePlayer(t, ada, party, "bo")["reached"])

	require.Equal(t, "invalid", bo.Ask(t, "player.block", "", map[string]any{"player": "bo"}).Code())
	require.Equal(t, "invalid", bo.Ask(t, "player.block", "", map[string]any{}).Code())
	nameless := a.client()
	require.Equal(t, "refused", nameless.Ask(t, "player.block", "", map[string]any{"player": "ada"}).Code())
	a.database.Exec("INSERT INTO player_blocks (region, project, player, blocked) SELECT 'global', 'p1', 'bo', 'x' || n FROM generate_series(1, 500) n")
	require.Equal(t, "too_many_blocks", bo.Ask(t, "player.block", "", map[string]any{"player": "ada"}).Code())
}
