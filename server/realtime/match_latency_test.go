package realtime

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/server/realtime/realtimetest"
)

// Latencies that are said over the socket are bounded as those of POST /tickets, of a session alone and of a room.
func TestLatenciesOverTheSocketAreBounded(t *testing.T) {
	t.Parallel()
	a, b := arena(t)
	a.database.AddProfile("duel",
		"mode: arena\nlatency_jump: 40ms\nteams: [{name: red, players: 2}, {name: blue, players: 2}]\n")
	latencies := func(c *realtimetest.Client) (counted, claimed map[string]uint16) {
		t.Helper()
		known, err := a.store.AnyTicket(t.Context(), "global", a.ticketOf(t, c))
		require.NoError(t, err)
		ticket, err := ticketbody.Decode(known.ID, known.CreatedAt, known.Body, "")
		require.NoError(t, err)
		return ticket.Latencies, ticket.ClaimedLatencies
	}
	ada, bo := a.client(as("ada")), b.client(as("bo"))
	say := func(c *realtimetest.Client, eu float64) {
		t.Helper()
		c.Must(t, "matchmaking.enqueue", "", map[string]any{"roomType": "duel", "latencies": map[string]any{"eu": eu}})
	}
	say(ada, 100)
	say(bo, 30)
	ada.Must(t, "matchmaking.dequeue", "", nil)
	bo.Must(t, "matchmaking.dequeue", "", nil)
	say(ada, 5)
	counted, claimed := latencies(ada)
	require.Equal(t, [2]map[string]uint16{{"eu": 60}, {"eu": 5}}, [2]map[string]uint16{counted, claimed})
	ada.Must(t, "matchmaking.dequeue", "", nil)

	party := friends{room: "party:1", kind: "duel", size: 4, members: []*realtimetest.Client{ada, bo}}
	party.gather(t)
	ada.Must(t, "room.message", "party:1",
		map[string]any{"type": "queue", "data": map[string]any{"room_type": "duel",
			"latencies": map[string]any{"eu": float64(500)}}})
	counted, claimed = latencies(bo)
	require.Equal(t, [2]map[string]uint16{{"eu": 140}, {"eu": 500}}, [2]map[string]uint16{counted, claimed})
	require.Equal(t, 2, a.database.Count("SELECT count(*) FROM player_latencies WHERE latencies IN ('{\"eu\": 100}', '{\"eu\": 30}')"), "a party changes nothing that is known")
}

// Pins a region that the client could not measure, which counted as the nearest one, with 0 ms.
func TestALatencyOfNullIsNotMeasured(t *testing.T) {
	t.Parallel()
	a, _ := arena(t)
	a.database.AddProfile("duel", "mode: arena\nteams: [{name: red, players: 2}, {name: blue, players: 2}]\n")
	c := a.client(as("ada"), withCodec("json"))
	c.Must(t, "matchmaking.enqueue", "", map[string]any{"roomType": "duel",
		"latencies": map[string]any{"eu": nil, "us": float64(30)}})
	known, err := a.store.AnyTicket(t.Context(), "global", a.ticketOf(t, c))
	require.NoError(t, err)
	ticket, err := ticketbody.Decode(known.ID, known.CreatedAt, known.Body, "")
	require.NoError(t, err)
	require.Equal(t, map[string]uint16{"us": 30}, ticket.Latencies)
}
