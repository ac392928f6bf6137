package server_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pins a changed client that is near to whatever region it likes, from ticket to ticket.
func TestLatenciesThatJumpAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.profile("ranked", ranked+"latency_jump: 40ms\n")
	b.profile("casual", "name: casual\nteams: [{name: red, players: 2}, {name: blue, players: 2}]\n")
	queue := func(sub, profile string, latencies fields, more ...string) (counted, claimed map[string]uint16) {
		t.Helper()
		body := fields{"profiles": []string{profile}, "latencies": latencies}
		if len(more) > 0 {
			body = body.with("party", more)
		}
		id := b.queue(sub, body)
		stored := b.storedTicket(id)
		counted, claimed = stored.Latencies, stored.ClaimedLatencies
		if len(claimed) > 0 {
			explained := b.ops(http.MethodGet, "explain/tickets/"+id, nil).ok(http.StatusOK)
			require.Len(t, explained["claimed_latencies"], len(claimed))
		}
		b.ticketCall(sub, http.MethodDelete, "/"+id, nil).ok(http.StatusOK)
		return counted, claimed
	}
	hourLater := func() { b.store.Exec(`UPDATE player_latencies SET measured_at = measured_at - interval '61 minutes'`) }

	counted, claimed := queue("alice", "ranked", fields{"eu": 100, "us": 20})
	require.Equal(t, map[string]uint16{"eu": 100, "us": 20}, counted, "nothing is known")
	require.Empty(t, claimed)
	for range 3 { // again and again within the hour
		counted, claimed = queue("alice", "ranked", fields{"eu": 5, "us": 30, "asia": 200})
		require.Equal(t, map[string]uint16{"eu": 60, "us": 30, "asia": 200}, counted)
		require.Equal(t, map[string]uint16{"eu": 5}, claimed)
	}
	counted, claimed = queue("alice", "casual", fields{"eu": 5})
	require.Equal(t, map[string]uint16{"eu": 5}, counted, "a profile that does not ask for it")
	require.Empty(t, claimed)
	hourLater()
	queue("alice", "ranked", fields{"eu": 5})
	counted, _ = queue("alice", "ranked", fields{"eu": 5, "us": 500})
	require.Equal(t, map[string]uint16{"eu": 20, "us": 60}, counted, "one jump further after an hour; a region that was left out is still known")

	b.store.Exec(`INSERT INTO stored_players (region, sub, attributes, avoid, may_party_with, updated_by) VALUES ('global', 'alice', '{}', '{}', '{bob}', 'test')`)
	queue("bob", "ranked", fields{"eu": 180})
	counted, claimed = queue("alice", "ranked", fields{"eu": 200, "us": 300}, "alice", "bob")
	require.Equal(t, map[string]uint16{"eu": 200, "us": 60}, counted, "of the member who is farthest away")
	require.Equal(t, map[string]uint16{"us": 300}, claimed)
	b.store.Exec(`UPDATE player_latencies SET measured_at = measured_at - interval '2 days'`)
	counted, _ = queue("alice", "ranked", fields{"eu": 7})
	require.Equal(t, map[string]uint16{"eu": 7}, counted, "after a day nothing is known")
	hourLater()
	b.store.Exec(`UPDATE player_latencies SET measured_at = measured_at - interval '2 days'`)
	forgotten, err := b.store.ForgetLatencies(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, 2, forgotten)
}

// Pins clients that each measure something else, since nobody says what to measure.
func TestRegionsToMeasure(t *testing.T) {
	t.Parallel()
	b := setup(t)
	list := func() any {
		return b.get("/regions", b.as("alice")).ok(http.StatusOK)["regions"]
	}
	require.Equal(t, []any{}, list())
	for _, region := range []string{"us", "eu"} {
		_, err := b.store.As("console:ada").SetBeacon(t.Context(), region, "https://"+region+".ping.example/healthz")
		require.NoError(t, err)
	}
	require.Equal(t, []any{
		map[string]any{"region": "eu", "beacon": "https://eu.ping.example/healthz"}, map[string]any{"region": "us", "beacon": "https://us.ping.example/healthz"},
	}, list())
}
