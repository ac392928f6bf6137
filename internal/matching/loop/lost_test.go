package loop_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/loop"
)

// refusing is a store that takes the tickets of the first matches for gone. It passes on the tickets of each commit.
type refusing struct {
	*db.Store

	refusals int // that are left
	commits  chan []string
}

func (s *refusing) CommitMatches(ctx context.Context, universe, region string, share db.HostShare, owners []db.MatchOwner,
	matches []db.NewMatch, assign db.AssignMatch,
) ([]db.MatchOutcome, error) {
	var tickets []string
	for _, m := range matches {
		for _, k := range m.Tickets {
			tickets = append(tickets, k.ID)
		}
	}
	s.commits <- tickets
	if s.refusals == 0 {
		return s.Store.CommitMatches(ctx, universe, region, share, owners, matches, assign)
	}
	s.refusals--
	return []db.MatchOutcome{{Kind: db.MatchTicketsGone, GoneTickets: tickets}}, nil
}

// Pins a loop that decided the same match, and had it refused, thousands of times a second.
func TestAMatchThatIsRefusedWithoutAReasonPauses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 100, "arena")
	b.AddProfile("duel", duel)
	s := &refusing{Store: b.store(), refusals: 2, commits: make(chan []string, 100)}
	b.ticket(1000, party("ada"), "duel")
	b.ticket(1000, party("bo"), "duel")
	b.worker(func(o *loop.Options) { o.Store = s })
	<-s.commits
	refused := time.Now()
	<-s.commits
	<-s.commits
	require.Greater(t, time.Since(refused), 2*time.Second, "a second, then two")
	b.Eventually(2, "SELECT count(*) FROM seats")
}

// Pins a ticket that nobody can match, whose matches were refused one after another: its id was issued for another
// region.
func TestATicketThatWasNotIssuedIsNoCandidate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 100, "arena")
	b.AddProfile("duel", duel)
	id := b.ticket(1000, party("ada"), "duel")
	b.Exec("UPDATE tickets SET id = reverse(id) WHERE id = $1", id)
	b.Exec("UPDATE ticket_players SET ticket_id = reverse(ticket_id) WHERE ticket_id = $1",
		id)
	b.ticket(1000, party("bo"), "duel")
	s := &refusing{Store: b.store(), commits: make(chan []string, 100)}
	b.worker(func(o *loop.Options) { o.Store = s })
	require.Len(t, <-s.commits, 2)
	b.ticket(1000, party("cy"), "duel")
	b.Eventually(2, "SELECT count(*) FROM seats")
	require.Len(t, s.commits, 1, "ada's ticket is in one match only")
	require.Equal(t, 1, b.Count("SELECT count(*) FROM tickets"))
}
