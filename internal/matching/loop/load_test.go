package loop

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// scripted is a database whose tickets change between the readings of a queue.
type scripted struct {
	Store // nil: other calls fail

	pages   [][]db.Candidate
	changed []db.Candidate
	left    []db.Settled
}

func (s *scripted) CandidatesAfter(context.Context, string, string) (page []db.Candidate, full bool, err error) {
	page, s.pages = s.pages[0], s.pages[1:]
	return page, len(s.pages) > 0, nil
}

func (s *scripted) CandidatesSince(context.Context, string, db.FeedPoint) (db.CandidatePage, error) {
	page := db.CandidatePage{Candidates: s.changed}
	s.changed = nil
	return page, nil
}

func (s *scripted) SettledSince(context.Context, string, db.FeedPoint) (db.SettledPage, error) {
	page := db.SettledPage{SettledTickets: s.left}
	s.left = nil
	return page, nil
}

func candidates(tx uint64, numbers ...int) (page []db.Candidate) {
	for _, n := range numbers {
		page = append(page, db.Candidate{TicketID: fmt.Sprint(n), ChangedTx: tx, Body: playable(1)})
	}
	return page
}

// A page is read while the loop works on the one before it. What changed or left meanwhile is newer than the page.
func TestAPageReadAheadIsOlderThanChanges(t *testing.T) {
	t.Parallel()
	s := &scripted{pages: [][]db.Candidate{candidates(1, 1, 2), candidates(1, 3, 4, 5)}}
	q := newQueue(Options{Store: s, PlayerArg: "player", MaxCandidates: 100, Memory: 1 << 20}, undecided{})
	require.NoError(t, q.loadPage(t.Context()))
	page := <-q.nextPage.readDone // the second page was read before what follows
	q.nextPage.readDone <- page
	s.changed = candidates(2, 4)
	s.changed[0].PendingUntil = time.Unix(100, 0)
	s.left = []db.Settled{{TicketID: "1"}, {TicketID: "3"}}
	require.NoError(t, q.followChanges(t.Context()))
	require.NoError(t, q.loadPage(t.Context()))
	require.True(t, q.isFullyRead)
	require.ElementsMatch(t, []string{"2", "4", "5"}, q.ids())
	require.Equal(t, uint64(2), q.entryByID["4"].lastTx)
	require.Contains(t, q.inMatches, "4")
}

func (q *queue) ids() []string { return slices.Collect(maps.Keys(q.entryByID)) }
