package db

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// ReadyCheck is what a player sees of the ready check that its ticket is in.
type ReadyCheck struct {
	MatchID       uuid.UUID
	AnswerUntil   time.Time
	PlayerCount   int
	AcceptedCount int   // players that accepted
	YouAccepted   *bool // whether the player accepted; nil before it answered
	// IsDone means that the ready check has ended: all players have answered, or one declined.
	IsDone bool
}

// ReadyCheckAnswer says whether a player accepts the match that its ticket is in.
type ReadyCheckAnswer struct {
	TicketID, PlayerSub string
	// MatchID is the match that the player was asked about. Zero, of clients that do not name it: the one that the
	// ticket is in, which may be another.
	MatchID uuid.UUID
	Accept  bool
}

// AnswerReadyCheck stores the answer of a player. Each member answers for itself, and may repeat its answer; one that
// accepted may still decline. The first that declines ends the ready check, as does the last that accepts: nobody waits
// for the deadline of a match that cannot be. Errors: NotFound where the player is of no such ticket; Conflict,
// "too_late", where the ticket is in no ready check any more, or in that of another match; Unavailable.
func (s *Store) AnswerReadyCheck(ctx context.Context, universe string, r ReadyCheckAnswer) (ReadyCheck, error) {
	var check ReadyCheck
	match, err := s.askedIn(ctx, universe, r)
	if err != nil {
		return check, err
	}
	// What was read before was not locked. The answer is judged again under the lock of the match.
	err = s.frame.InTx(ctx, func(q *query.Queries) error {
		a := answering{queries: q, holdTime: acceptedHold, universe: universe, matchID: match, ticketID: r.TicketID,
			playerSub: r.PlayerSub}
		check, err = a.run(ctx, r.Accept)
		return err
	})
	if err == nil && check.IsDone {
		s.Notify(TopicMatches, universe)
	}
	return check, frame.Classify(err)
}

// askedIn returns the match that a ticket is in, if the player is of its party and answers for that match.
func (s *Store) askedIn(ctx context.Context, universe string, r ReadyCheckAnswer) (uuid.UUID, error) {
	if !IssuedHere(universe, TicketID, r.TicketID) {
		return uuid.Nil, ticketUnknown(r.TicketID)
	}
	row, err := s.q.TicketMark(ctx, query.TicketMarkParams{Universe: universe, Ticket: r.TicketID, Sub: r.PlayerSub})
	if err != nil {
		return uuid.Nil, frame.Classify(err)
	}
	// A mark of a cycle of Open Match is none: such matches ask nobody.
	id, marked := readyCheckOf(row.Mark)
	switch {
	// Told as if the ticket did not exist: whose it is, is no concern of others.
	case !row.Member:
		return uuid.Nil, ticketUnknown(r.TicketID)
	case !marked:
		return uuid.Nil, tooLate()
	case r.MatchID != uuid.Nil && r.MatchID != id:
		return uuid.Nil, fault.New(fault.Conflict, "too_late",
			"the match %s has ended, and another one waits for your answer", r.MatchID)
	}
	return id, nil
}

func tooLate() *fault.Error {
	return fault.New(fault.Conflict, "too_late", "no ready check waits for your answer")
}

// acceptedHold is how long an accepted match keeps its tickets before its worker renews the marks. A ready check ends
// that much before the marks are void.
const acceptedHold = 10 * time.Second

// answering is an answer to a ready check.
type answering struct {
	queries            *query.Queries
	holdTime           time.Duration
	universe, ticketID string
	playerSub          string
	matchID            uuid.UUID
}

// proposal is a ready check as a transaction sees it.
type proposal struct {
	row          query.LockProposalRow
	roster       []rosterPlayer
	answersBySub map[string]bool
}

// run stores the answer under the lock of the match. The last one, or one that declines, ends the ready check.
func (a answering) run(ctx context.Context, accept bool) (ReadyCheck, error) {
	var out tx.Pipeline
	var rows []query.LockProposalRow
	var answers []query.MatchAnswersRow
	query.QueueExec(&out, (*query.Queries).SeeTicket,
		query.SeeTicketParams{Universe: a.universe, Ticket: a.ticketID, Sub: a.playerSub})
	query.Queue(&out, &rows, (*query.Queries).LockProposal,
		query.LockProposalParams{Universe: a.universe, ID: a.matchID})
	query.Queue(&out, &answers, (*query.Queries).MatchAnswers,
		query.MatchAnswersParams{Universe: a.universe, Ids: []uuid.UUID{a.matchID}})
	if err := a.queries.Send(ctx, &out); err != nil {
		return ReadyCheck{}, err
	}
	p, err := a.readProposal(rows, answers)
	if err != nil {
		return ReadyCheck{}, err
	}
	before, answered := p.answersBySub[a.playerSub]
	switch {
	// A repeated answer changes nothing, also after the last player has accepted.
	case p.row.State == "accepted" && accept, answered && before == accept:
		return p.check(a), nil
	case p.row.State != "proposed" || !p.row.Open:
		return ReadyCheck{}, tooLate()
	case answered && !before:
		return p.check(a), nil // it declined on a replica of the previous release, which waits for the deadline
	}
	p.answersBySub[a.playerSub] = accept
	a.write(p, accept)
	return p.check(a), nil
}

func (a answering) write(p proposal, accept bool) {
	query.QueueExec(a.queries.Deferred(), (*query.Queries).AnswerMatch,
		query.AnswerMatchParams{Universe: a.universe, ID: a.matchID, Sub: a.playerSub, Accepted: accept})
	if check := p.check(a); check.IsDone {
		query.QueueExec(a.queries.Deferred(), (*query.Queries).EndReadyCheck, query.EndReadyCheckParams{
			Universe: a.universe, ID: a.matchID, Accepted: check.AcceptedCount == check.PlayerCount, Hold: a.holdTime,
		})
	}
}

// readProposal decodes a ready check that the player is asked in.
func (a answering) readProposal(rows []query.LockProposalRow, answers []query.MatchAnswersRow) (p proposal, err error) {
	if len(rows) == 0 {
		return p, tooLate()
	}
	p = proposal{row: rows[0], answersBySub: map[string]bool{}}
	for _, r := range answers {
		p.answersBySub[r.Sub] = r.Accepted
	}
	if err := json.Unmarshal(p.row.Roster, &p.roster); err != nil {
		return p, err
	}
	if !slices.ContainsFunc(p.roster, func(r rosterPlayer) bool {
		return r.Sub == a.playerSub &&
			r.Ticket == a.ticketID
	}) {
		return p, ticketUnknown(a.ticketID)
	}
	return p, nil
}

func (p proposal) check(a answering) ReadyCheck {
	c := ReadyCheck{MatchID: a.matchID, AnswerUntil: p.row.Deadline, PlayerCount: len(p.roster)}
	for _, accepted := range p.answersBySub {
		if accepted {
			c.AcceptedCount++
		}
	}
	// Fewer accepted than answered: somebody has declined.
	c.IsDone = c.AcceptedCount < len(p.answersBySub) || c.AcceptedCount == c.PlayerCount && c.PlayerCount > 0
	if you, ok := p.answersBySub[a.playerSub]; ok {
		c.YouAccepted = &you
	}
	return c
}
