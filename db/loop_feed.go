package db

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// Candidate is a ticket of the queue as the director loop reads it.
type Candidate struct {
	TicketID  string
	CreatedAt time.Time
	Body      []byte
	ChangedTx uint64 // the transaction that made it a candidate; 0: an older release made the ticket
	IsPaused  bool
	// PendingUntil is when the ticket leaves the match that it is in, unless it is assigned or released before; zero:
	// it is in no match.
	PendingUntil time.Time
	ReadyCheck   uuid.UUID // the match whose ready check the ticket is in; zero: none, or it is in a match of a cycle
	SeenAt       time.Time // when a worker first had the ticket; zero: not recorded; see [Sighting]
}

// IsFree reports whether a match may have the ticket now.
func (c Candidate) IsFree(now time.Time) bool { return !c.IsPaused && !c.PendingUntil.After(now) }

// CandidatePage is a part of the queue's changes.
type CandidatePage struct {
	Candidates    []Candidate
	NextPoint     FeedPoint // where the next reading begins
	HasMore       bool      // there are more changes up to the moment at which this reading began
	ServerChanged bool      // Postgres was restarted or replaced: the whole queue must be read again
}

const (
	// queuePage is how many tickets one reading of the whole queue returns.
	queuePage = 5000
	// changesPage is how many changed tickets one reading returns, beside those of its last transaction.
	changesPage = 2000
)

// CandidatesAfter returns the tickets of the queue with ids after a given one, "" for the first page, in the order of
// their ids. full reports whether the page has its 5,000 tickets: another page may follow. Errors: Unavailable.
func (s *Store) CandidatesAfter(ctx context.Context, universe, after string) (page []Candidate, full bool, err error) {
	rows, err := s.q.CandidatesAfter(ctx,
		query.CandidatesAfterParams{Region: universe, After: after, PendingFor: s.cfg.Timing.PendingFor,
			Page: queuePage})
	for _, r := range rows {
		page = append(page, candidateOf(query.CandidatesSinceRow(r)))
	}
	return page, len(rows) == queuePage, frame.Classify(err)
}

// NewestCandidates returns the newest tickets of the queue, at most so many, in any order. Errors: Unavailable.
func (s *Store) NewestCandidates(ctx context.Context, universe string, most int) ([]Candidate, error) {
	rows, err := s.q.NewestCandidates(ctx,
		query.NewestCandidatesParams{Region: universe, PendingFor: s.cfg.Timing.PendingFor,
			Most: int32(min(most, queuePage))})
	newest := make([]Candidate, 0, len(rows))
	for _, r := range rows {
		newest = append(newest, candidateOf(query.CandidatesSinceRow(r)))
	}
	return newest, frame.Classify(err)
}

// CandidateIDsAfter returns the ids of the page that [Store.CandidatesAfter] returns, each with the transaction that
// changed its ticket. Errors: Unavailable.
func (s *Store) CandidateIDsAfter(ctx context.Context,
	universe, after string) (page []query.CandidateIDsAfterRow, full bool, err error) {
	page, err = s.q.CandidateIDsAfter(ctx,
		query.CandidateIDsAfterParams{Region: universe, After: after, Page: queuePage})
	return page, len(page) == queuePage, frame.Classify(err)
}

// Candidates returns those of the tickets that are in the queue, in any order. Errors: Unavailable.
func (s *Store) Candidates(ctx context.Context, universe string, ids []string) ([]Candidate, error) {
	rows, err := s.q.CandidatesByID(ctx,
		query.CandidatesByIDParams{Region: universe, Ids: ids, PendingFor: s.cfg.Timing.PendingFor})
	found := make([]Candidate, 0, len(rows))
	for _, r := range rows {
		found = append(found, candidateOf(query.CandidatesSinceRow(r)))
	}
	return found, frame.Classify(err)
}

// CandidatesSince returns tickets that became candidates, or ceased to be candidates without leaving the queue. Called
// with the NextPoint of each page, it leaves no ticket out, whatever the order in which transactions commit; a ticket
// may be returned twice. A transaction that stays open does not make it read anything again. [Store.SettledSince]
// returns tickets that left the queue. Errors: Unavailable.
func (s *Store) CandidatesSince(ctx context.Context, universe string, since FeedPoint) (CandidatePage, error) {
	var p tx.Pipeline
	var now query.CurrentSnapshotRow
	var late []query.CandidatesLateRow
	var newer []query.CandidatesSinceRow
	pending := s.cfg.Timing.PendingFor
	// The first transaction that neither the snapshot nor an earlier page of this reading can include.
	from := max(snapshotEnd(since.readSnapshot), since.afterTx+1)
	query.Queue(&p, &now, func(q *query.Queries, ctx context.Context, _ struct{}) (query.CurrentSnapshotRow, error) {
		return q.CurrentSnapshot(ctx)
	}, struct{}{})
	query.Queue(&p, &late, (*query.Queries).CandidatesLate, query.CandidatesLateParams{
		Region: universe, Before: since.readSnapshot, After: since.afterTx, Page: changesPage, PendingFor: pending,
	})
	query.Queue(&p, &newer, (*query.Queries).CandidatesSince,
		query.CandidatesSinceParams{Region: universe, Since: from, Page: changesPage, PendingFor: pending})
	if err := s.q.Send(ctx, &p); err != nil {
		return CandidatePage{NextPoint: since}, frame.Classify(err)
	}
	// Another server numbers its transactions otherwise, so the caller reads the whole queue.
	if !since.isOf(now) {
		return CandidatePage{NextPoint: FeedPoint{serverStartedAt: now.Server, readSnapshot: now.Snapshot},
			ServerChanged: true}, nil
	}
	rows := make([]query.CandidatesSinceRow, 0, len(late)+len(newer))
	for _, r := range late {
		rows = append(rows, query.CandidatesSinceRow(r))
	}
	rows, next, more := advanceFeed(since, now, rows, newer, changesPage,
		func(r query.CandidatesSinceRow) uint64 { return r.Tx })
	page := CandidatePage{NextPoint: next, HasMore: more}
	for _, r := range rows {
		page.Candidates = append(page.Candidates, candidateOf(r))
	}
	return page, nil
}

func candidateOf(r query.CandidatesSinceRow) Candidate {
	c := Candidate{TicketID: r.ID, CreatedAt: time.Unix(0, r.Created).UTC(), Body: r.Body, ChangedTx: r.Tx,
		IsPaused: r.Paused}
	if r.PendingUntil.Unix() > 0 {
		c.PendingUntil = r.PendingUntil
	}
	if r.SeenAt.Unix() > 0 {
		c.SeenAt = r.SeenAt
	}
	if id, ours := readyCheckOf(r.MatchedIn); ours {
		c.ReadyCheck = id
	}
	return c
}
