package realtime

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/realtime/realtimetest"
)

// skilledDuel is the document of profile duel whose rules need values of the players.
const skilledDuel = `teams: [{name: red, players: 1}, {name: blue, players: 1}]
rules: [{near: skill, within: 100}, {latency: 60ms}]
`

// Pins sessions that wait for ever with a ticket that can be in no match of the profile of their room type, or whose
// profile does not exist.
func TestSessionsDoNotQueueForNothing(t *testing.T) {
	t.Parallel()
	a, b := matchmaking(t)
	first, second := a.client(), b.client()
	enqueue := func(c *realtimetest.Client, p map[string]any) realtimetest.Response {
		p["roomType"] = "duel"
		return c.Ask(t, "matchmaking.enqueue", "", p)
	}
	require.Equal(t, "profile_unknown", enqueue(first, map[string]any{}).Code())
	a.database.AddProfile("duel", skilledDuel)
	near := map[string]any{"eu": float64(20)}
	for want, p := range map[string]map[string]any{
		"has no value of attribute skill": {"latencies": near},
		"that rule near-skill can":        {"latencies": near, "attributes": map[string]any{"skill": "1500"}},
		"within 60ms":                     {"latencies": map[string]any{"eu": float64(61)}, "attributes": map[string]any{"skill": float64(1)}},
	} {
		refused := enqueue(first, p)
		require.Equal(t, "cannot_match", refused.Code(), "%v", refused)
		require.Contains(t, refused["error"], want)
	}
	require.Zero(t, a.database.Count("SELECT count(*) FROM tickets"))
	require.True(t, enqueue(first, map[string]any{"latencies": near, "attributes": map[string]any{"skill": float64(1)}}).OK())

	a.database.AddProfile("duel", "teams: [{name: red, players: 1}, {name: blue, players: 1}]\n")
	require.True(t, enqueue(second, map[string]any{}).OK(), "each replica judges by the version that is live")
	a.database.AddProfile("duel", skilledDuel)
	require.Equal(t, "cannot_match", enqueue(a.client(), map[string]any{}).Code())
}

// Pins a party that waits for ever, or leaves the queue without a word of why.
func TestPartiesDoNotQueueForNothing(t *testing.T) {
	t.Parallel()
	a, _ := matchmaking(t)
	a.database.AddProfile("duel", skilledDuel)
	ada := a.client()
	party := friends{room: "party:1", kind: "duel", size: 2, members: []*realtimetest.Client{ada}}
	party.gather(t)
	party.queue(t)
	for {
		delivered, err := a.store.DeliverTicketOutcomes(t.Context(), "global", 10)
		require.NoError(t, err)
		if delivered > 0 {
			break
		}
	}
	var p map[string]any
	ada.Wait(t, "the reason", func(v *realtimetest.View) bool {
		i := slices.IndexFunc(v.Events(), func(e realtimetest.Event) bool { return e.Type == "room.message" && e.Text("type") == "unqueued" })
		if i >= 0 {
			p, _ = v.Events()[i].P["data"].(map[string]any)
		}
		return i >= 0
	})
	require.Equal(t, "cannot_match", p["reason"])
	require.Regexp(t, `^profile "duel" can never match this ticket: the ticket measured no latency, .*attribute skill`, p["detail"])
	require.Equal(t, "open", ada.Room("party:1").State["phase"])
	require.Zero(t, a.database.Count("SELECT count(*) FROM tickets"))
}
