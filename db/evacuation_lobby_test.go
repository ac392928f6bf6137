package db_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// Players of the realtime lobby stay where they are, and their sessions wait again: the next match invites them. Pins
// tickets whose sessions hear of no match, and sessions that have ended and wait.
func TestSessionsOfTheLobbyWaitAgain(t *testing.T) {
	t.Parallel()
	n := setupQueue(t)
	n.AddServer("a", 64)
	ada, bo := n.open(n.client("ada")), n.open(n.client("bo"))
	queued := []db.QueuedRealtime{n.enqueue(wants(ada, "duel", 2)), n.enqueue(wants(bo, "duel", 2))}
	n.Exec("UPDATE tickets SET created = created - 60000000000")
	owner, d := n.decided(queued...)
	d.Modes, d.Regions = []string{"duel"}, []string{"eu"}
	for i := range d.Tickets {
		d.Tickets[i].History = &db.TicketHistory{Profiles: []string{d.Profile}, Party: []string{queued[i].PlayerSub}, Attributes: json.RawMessage(`{}`)}
	}
	commit := func(m db.NewMatch) {
		t.Helper()
		out, err := n.CommitMatches(t.Context(), universe, "eu", db.HostShare{}, []db.MatchOwner{owner},
			[]db.NewMatch{m}, assignmentOf)
		require.NoError(t, err)
		require.Equal(t, db.MatchCommitted, out[0].Kind, "%+v", out[0])
		_, err = n.KeepTickets(t.Context(), universe, out[0].LeftTickets)
		require.NoError(t, err)
	}
	commit(d)
	require.Zero(t, one[int](n.bundle, "SELECT count(*) FROM realtime_tickets"))
	n.Exec("DELETE FROM realtime_sessions WHERE id = $1", bo.SessionID)

	id := n.evacuate("'eu', requeue => true")
	require.Equal(t, db.EvacuationStep{ClosedSessions: 1, ReleasedPlayers: 2, EmptiedServers: 1, QueuedPlayers: 2},
		n.finish(id))
	require.Equal(t, []string{ada.SessionID + "|duel|2"},
		n.Rows("SELECT session, room_type, size FROM realtime_tickets"))
	require.Equal(t, 2, one[int](n.bundle,
		"SELECT count(*) FROM tickets WHERE created < (extract(epoch FROM now()) * 1e9)::bigint - 59000000000"))
	ended, err := n.EndMatchRooms(t.Context(), lobbyRegion, 10)
	require.NoError(t, err)
	require.Equal(t, 1, ended, "the room of the match hears that it has ended")

	next := d
	next.ID, next.DecidedAt = d.ID, time.Now()
	next.ID[0]++
	next.Tickets = nil
	for _, q := range queued {
		ticket := one[string](n.bundle, "SELECT next_ticket FROM ops.evacuated_players WHERE player = $1", q.PlayerSub)
		next.Tickets = append(next.Tickets,
			db.MatchTicket{ID: ticket, Players: []db.MatchPlayer{{Sub: q.PlayerSub, Team: "players"}}})
	}
	n.Exec("SELECT ops.undrain_region('eu')")
	commit(next)
	require.Equal(t, 2, one[int](n.bundle,
		"SELECT count(*) FROM lobby_members WHERE session = $1 AND state = 'invited'", ada.SessionID))
	n.RequireInvariants()
}
