package db_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// marked puts the tickets of a match into a cycle's, as AcceptMatches does.
func (m *matches) marked(d *db.NewMatch) db.MarkedTickets {
	m.t.Helper()
	return m.markedAs("m", d)
}

// markedAs does so for a match with this match_id.
func (m *matches) markedAs(matchID string, d *db.NewMatch) db.MarkedTickets {
	m.t.Helper()
	k := db.MarkedTickets{MatchMark: db.CycleRef{ID: uuid.New()}.Mark(matchID)}
	for _, t := range d.Tickets {
		k.TicketIDs = append(k.TicketIDs, t.ID)
	}
	m.Exec("UPDATE tickets SET pending_at = clock_timestamp(), matched_in = $1 WHERE id = ANY ($2)", k.MatchMark,
		k.TicketIDs)
	return k
}

// The marks of its own cycle are free for a match; those of another are not.
func TestAMatchOfACycleIsCommitted(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d, e := m.duel("ann", "bob"), m.duel("cat", "dan")
	d.Mark = m.marked(&d).MatchMark
	m.marked(&e)
	e.Mark = d.Mark
	out := m.commit(d, e)
	m.requireCommitted(out[0])
	require.Equal(t, db.MatchTicketsGone.String(), out[1].Kind.String())
	require.ElementsMatch(t, []string{e.Tickets[0].ID, e.Tickets[1].ID}, out[1].GoneTickets)
	m.RequireInvariants()
}

// Only tickets that are still in their match are freed.
func TestMarkedTicketsAreFreed(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d := m.duel("ann", "bob")
	k := m.marked(&d)
	m.Exec("UPDATE tickets SET matched_in = 'another' WHERE id = $1", k.TicketIDs[1])
	require.NoError(t, m.FreeMarkedTickets(t.Context(), universe, []db.MarkedTickets{k}))
	require.Equal(t, []string{"t", "f"},
		m.Rows("SELECT pending_at IS NULL AND matched_in IS NULL AND tx::text::bigint > $1::bigint FROM tickets ORDER BY matched_in IS NOT NULL", d.Tickets[0].Tx))
	d.Tickets[0].Tx, d.Mark = 0, k.MatchMark
	require.Equal(t, []string{k.TicketIDs[1]}, m.commit(d)[0].GoneTickets)
	m.RequireInvariants()
}

// Only the tickets of matches that functions proposed to former owners are freed: not the tickets of the current owner,
// of another profile, or of a caller of Open Match.
func TestTicketsOfFormerOwnersAreFreed(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	of := func(sub string) db.NewMatch { return matchOf(m.queued("red", sub)) }
	former, own, longer, caller := of("ann"), of("bob"), of("cat"), of("dan")
	m.markedAs(db.FunctionMatchID("duels", 6), &former)
	m.markedAs(db.FunctionMatchID("duels", 7), &own)
	m.markedAs(db.FunctionMatchID("duels-2", 6), &longer)
	m.markedAs("\xff", &caller)
	m.propose(m.duel("eve", "fay"))
	freed, err := m.FreeAbandonedTickets(t.Context(), universe, map[string]int64{"duels": 7})
	require.NoError(t, err)
	require.Equal(t, 1, freed)
	require.Equal(t, []string{former.Tickets[0].ID}, m.Rows("SELECT id FROM tickets WHERE pending_at IS NULL"))
	freed, err = m.FreeAbandonedTickets(t.Context(), universe, map[string]int64{"duels": 7})
	require.NoError(t, err)
	require.Zero(t, freed)
}
