package db_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match"
)

// matches is a database in which a worker decides for the profile "duels", and an instance "a" in eu hosts duels.
type matches struct {
	*bundle
	owner db.MatchOwner
}

func setupMatches(t *testing.T, change ...func(*db.Config)) *matches {
	t.Helper()
	b := setup(t, change...)
	b.AddServer("a", 64)
	return &matches{b, b.takeProfile("duels")}
}

// takeProfile makes a new worker the owner of a profile.
func (b *bundle) takeProfile(profile string) db.MatchOwner {
	b.t.Helper()
	id := uuid.New()
	require.NoError(b.t, b.RenewLoopWorker(b.t.Context(), db.LoopWorker{ID: id}, time.Hour))
	epochs := must.Get(b.TakeProfiles(b.t.Context(), universe, id, []string{profile}))(b.t)
	require.Contains(b.t, epochs, profile)
	return db.MatchOwner{Universe: universe, WorkerID: id, ProfileName: profile, Epoch: epochs[profile]}
}

// queued puts a party into the queue, and returns its ticket as a decision has it.
func (b *bundle) queued(team string, party ...string) db.MatchTicket {
	b.t.Helper()
	id := b.ticket(ticketOf(match.Fields{}, "")).ID
	k := db.MatchTicket{ID: id, Tx: one[uint64](b, "SELECT tx FROM tickets WHERE id = $1", id)}
	for _, sub := range party {
		k.Players = append(k.Players, db.MatchPlayer{Sub: sub, Team: team})
		b.Exec("INSERT INTO ticket_players (region, sub, profile, ticket_id, request_hash) VALUES ($1, $2, $3, $4, '')",
			universe, sub, "duels-"+id, id)
	}
	k.History = &db.TicketHistory{Profiles: []string{"duels"}, Party: party, Attributes: json.RawMessage(`{"skill": 1000}`)}
	return k
}

// matchOf is a decided match of a duel, with a team for each ticket.
func matchOf(tickets ...db.MatchTicket) db.NewMatch {
	size := 0
	for _, k := range tickets {
		size += len(k.Players)
	}
	return db.NewMatch{
		ID: uuid.New(), Profile: "duels", Version: 3, Seed: 1<<63 + 7, DecidedAt: time.Now(), Modes: []string{"duel"},
		Regions: []string{"eu"},
		Size:    size, Tickets: tickets, Why: json.RawMessage(`{"rules": []}`), Chosen: json.RawMessage(`{"map": "dust"}`),
	}
}

// duel is a match of two parties of one.
func (m *matches) duel(a, b string) db.NewMatch {
	m.t.Helper()
	return matchOf(m.queued("red", a), m.queued("blue", b))
}

func assignmentOf(m *db.NewMatch, p db.Placement) []byte {
	return fmt.Appendf(nil, "%s at %s", m.ID, p.Endpoint)
}

func (m *matches) commit(all ...db.NewMatch) []db.MatchOutcome {
	m.t.Helper()
	return m.commitBy(m.Store, m.owner, all...)
}

func (m *matches) commitBy(s *db.Store, owner db.MatchOwner, all ...db.NewMatch) []db.MatchOutcome {
	m.t.Helper()
	out := must.Get(s.CommitMatches(m.t.Context(), universe, "eu", db.HostShare{}, []db.MatchOwner{owner}, all,
		assignmentOf))(m.t)
	require.Len(m.t, out, len(all))
	m.keep(out...)
	return out
}

// keep writes the history of committed matches, as the loop does.
func (m *matches) keep(outcomes ...db.MatchOutcome) {
	m.t.Helper()
	for _, out := range outcomes {
		refused := must.Get(m.KeepTickets(m.t.Context(), universe, out.LeftTickets))(m.t)
		require.Zero(m.t, refused)
	}
}

func (m *matches) requireCommitted(out db.MatchOutcome) db.Placement {
	m.t.Helper()
	require.Equal(m.t, db.MatchCommitted.String(), out.Kind.String(), "%+v", out)
	return out.SessionPlacement
}

// state is the last state of a ticket that players were shown.
func (b *bundle) state(ticket string) string {
	b.t.Helper()
	return one[string](b, `SELECT coalesce((SELECT state || coalesce(' ' || reason, '') FROM ticket_events WHERE ticket_id = $1 ORDER BY n DESC LIMIT 1), 'none')`, ticket)
}
