package db_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// A transaction that deletes the tickets of all its matches at once, and cannot commit one of them, commits the others.
func TestMatchesBesideOneThatLostATicket(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	first, second, third := m.duel("ann", "bob"), m.duel("cid", "dan"), m.duel("eve", "fay")
	gone := second.Tickets[0].ID
	require.NoError(t, m.DeleteTicket(t.Context(), universe, gone))
	out := m.commit(first, second, third)
	m.requireCommitted(out[0])
	m.requireCommitted(out[2])
	require.Equal(t, db.MatchTicketsGone, out[1].Kind)
	require.Equal(t, []string{gone}, out[1].GoneTickets)
	require.Equal(t, []string{second.Tickets[1].ID}, m.Rows("SELECT id FROM tickets"),
		"the other ticket stays in the queue")
	require.Equal(t, []string{"4|4|1"}, m.Rows(`SELECT (SELECT count(*) FROM seats), (SELECT count(*) FROM ticket_events WHERE state = 'assigned'),
		(SELECT count(*) FROM ticket_players WHERE ticket_id = $1)`, second.Tickets[1].ID))
	m.RequireInvariants()
}

// What a client of Open Match reads of an assigned ticket: all of one that it created, and of a player's its id and its
// assignment.
func TestBodiesOfAssignedTickets(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d := m.duel("ann", "bob")
	theirs, players := d.Tickets[0].ID, d.Tickets[1].ID
	m.Exec("UPDATE tickets SET ends_at = now() + interval '1 hour' WHERE id = $1", players)
	body := one[string](m.bundle, "SELECT encode(body, 'escape') FROM tickets WHERE id = $1", theirs)
	m.requireCommitted(m.commit(d)[0])
	for id, want := range map[string]string{theirs: body, players: "\n" + string(rune(len(players))) + players} {
		got, err := m.GetTicket(t.Context(), universe, id)
		require.NoError(t, err)
		require.Equal(t, want, string(got.Body))
		require.NotEmpty(t, got.EncodedAssignment)
	}
}

// Two transactions of one region seat matches at the same time, each on its share of the game servers.
func TestTransactionsWithSharesOfTheGameServers(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	for _, id := range []string{"b", "c", "d"} {
		m.AddServer(id, 64)
	}
	holder, err := m.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = holder.Rollback(t.Context()) }()
	// lane 0 of 2: even places
	_, err = holder.Exec(t.Context(), "SELECT FROM instances WHERE id IN ('b', 'd') FOR NO KEY UPDATE")
	require.NoError(t, err)
	var all []db.NewMatch
	for _, pair := range [][2]string{{"ann", "bob"}, {"cid", "dan"}, {"eve", "fay"}, {"gus", "hal"}} {
		all = append(all, m.duel(pair[0], pair[1]))
	}
	out, err := m.CommitMatches(t.Context(), universe, "eu", db.HostShare{Lane: 1, LaneCount: 2},
		[]db.MatchOwner{m.owner}, all, assignmentOf)
	require.NoError(t, err)
	for _, o := range out {
		m.requireCommitted(o)
	}
	require.Equal(t, []string{"a|2", "c|2"}, m.Rows("SELECT instance_id, count(*) FROM sessions GROUP BY 1 ORDER BY 1"))
	require.NoError(t, holder.Rollback(t.Context()))
}

// A share without room is no reason to answer that there is none.
func TestAFullShareOfTheGameServers(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	out, err := m.CommitMatches(t.Context(), universe, "eu", db.HostShare{Lane: 0, LaneCount: 2},
		[]db.MatchOwner{m.owner}, []db.NewMatch{m.duel("ann", "bob")}, assignmentOf)
	require.NoError(t, err)
	require.Equal(t, "a:7777", m.requireCommitted(out[0]).Endpoint, "the only game server is of the other share")
}

// Matches of all lanes are committed, whatever the order in which the lanes find hosts.
func TestLanesCommitAllMatches(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	m.AddServer("b", 64)
	const lanes, each = 3, 6
	batches := make([][]db.NewMatch, lanes)
	for lane := range batches {
		for i := range each {
			name := string(rune('a'+lane)) + string(rune('a'+i))
			batches[lane] = append(batches[lane], m.duel(name+"1", name+"2"))
		}
	}
	outcomes := make([][]db.MatchOutcome, lanes)
	var running sync.WaitGroup
	for lane, batch := range batches {
		running.Go(func() {
			outcomes[lane], _ = m.CommitMatches(t.Context(), universe, "eu", db.HostShare{Lane: lane, LaneCount: lanes},
				[]db.MatchOwner{m.owner}, batch, assignmentOf)
		})
	}
	running.Wait()
	for _, all := range outcomes {
		require.Len(t, all, each)
		for _, o := range all {
			m.requireCommitted(o)
		}
	}
	m.RequireInvariants()
}

// History that Postgres refuses is left out, and keeps nothing else from being written.
func TestRefusedHistory(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d := m.duel("ann", "bob")
	var kept []db.LeftTicket
	for i, k := range d.Tickets {
		k.History.Attributes = json.RawMessage([]string{`{"skill": "\u0000"}`, `{"skill": 1}`}[i])
		kept = append(kept, db.LeftTicket{Ticket: k, LeftAt: time.Now(), ProfileName: "duels", MatchID: d.ID})
	}
	refused, err := m.KeepTickets(t.Context(), universe, kept)
	require.NoError(t, err)
	require.Equal(t, 1, refused)
	require.Equal(t, []string{d.Tickets[1].ID}, m.Rows("SELECT id FROM ticket_history"))
}
