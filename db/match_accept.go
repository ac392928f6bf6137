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
	AcceptedCount int   // players who accepted
	YouAccepted   *bool // whether the player accepted; nil before the player answered
	// IsDone means that the ready check has ended: all players have answered, or one declined.
	IsDone bool
}

// ReadyCheckAnswer says whether a player accepts the match that its ticket is in.
type ReadyCheckAnswer struct {
	TicketID, PlayerSub string
	// MatchID is the match that the player was asked about. Zero, from clients that do not name the match: the match
	// that the ticket is in, which may be another one by now.
	MatchID uuid.UUID
	Accept  bool
}

// AnswerReadyCheck stores the answer of a player. Each player of a party answers for itself, and may repeat the answer;
// a player who accepted may still decline. The first player who declines ends the ready check, and so does the last who
// accepts: players do not wait for the deadline when the outcome is known. Errors: NotFound where the ticket does not
// exist or the player is not in its party; Conflict, "too_late", where the ticket is in no ready check any more, or in
// that of another match; Unavailable.
func (s *Store) AnswerReadyCheck(ctx context.Context, universe string, r ReadyCheckAnswer) (ReadyCheck, error) {
	match, err := s.readyCheckToAnswer(ctx, universe, r)
	if err != nil {
		return ReadyCheck{}, err
	}
	var check ReadyCheck
	// The match was read without a lock, so the transaction judges the answer again under the lock of the match.
	err = s.frame.InTx(ctx, func(q *query.Queries) error {
		a := answerTx{queries: q, holdTime: acceptedHold, universe: universe, matchID: match, ticketID: r.TicketID,
			playerSub: r.PlayerSub}
		check, err = a.run(ctx, r.Accept)
		return err
	})
	if err != nil {
		return check, frame.Classify(err)
	}
	if check.IsDone {
		s.Notify(TopicMatches, universe)
	}
	return check, nil
}

// readyCheckToAnswer returns the match that a ticket is in, if the player is of its party and answers for that match.
func (s *Store) readyCheckToAnswer(ctx context.Context, universe string, r ReadyCheckAnswer) (uuid.UUID, error) {
	if !IssuedHere(universe, TicketID, r.TicketID) {
		return uuid.Nil, ticketUnknown(r.TicketID)
	}
	row, err := s.q.TicketMark(ctx, query.TicketMarkParams{Universe: universe, Ticket: r.TicketID, Sub: r.PlayerSub})
	if err != nil {
		return uuid.Nil, frame.Classify(err)
	}
	// The same answer as for a ticket that does not exist, so that other players learn nothing about the ticket.
	if !row.Member {
		return uuid.Nil, ticketUnknown(r.TicketID)
	}
	// A ticket in a match of a cycle of Open Match is in no ready check.
	id, isInReadyCheck := readyCheckOf(row.Mark)
	if !isInReadyCheck {
		return uuid.Nil, tooLate()
	}
	if r.MatchID != uuid.Nil && r.MatchID != id {
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

// answerTx is the transaction of an answer to a ready check.
type answerTx struct {
	queries            *query.Queries
	holdTime           time.Duration
	universe, ticketID string
	playerSub          string
	matchID            uuid.UUID
}

// proposal is a ready check as a transaction has locked and read it.
type proposal struct {
	row          query.LockProposalRow
	roster       []rosterPlayer
	answersBySub map[string]bool
}

// run stores the answer under the lock of the match. The last answer, or a decline, ends the ready check.
func (a answerTx) run(ctx context.Context, accept bool) (ReadyCheck, error) {
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
	hadAccepted, hadAnswered := p.answersBySub[a.playerSub]
	// A repeated answer changes nothing, also after the last player has accepted.
	if p.row.State == "accepted" && accept || hadAnswered && hadAccepted == accept {
		return p.readyCheck(a), nil
	}
	if p.row.State != "proposed" || !p.row.Open {
		return ReadyCheck{}, tooLate()
	}
	// A decline stands. It is still open if a replica of the previous release stored it, which waits for the deadline.
	if hadAnswered && !hadAccepted {
		return p.readyCheck(a), nil
	}
	p.answersBySub[a.playerSub] = accept
	check := p.readyCheck(a)
	a.write(check, accept)
	return check, nil
}

// write defers the answer, and the end of a ready check that is done.
func (a answerTx) write(check ReadyCheck, accept bool) {
	query.QueueExec(a.queries.Deferred(), (*query.Queries).AnswerMatch,
		query.AnswerMatchParams{Universe: a.universe, ID: a.matchID, Sub: a.playerSub, Accepted: accept})
	if check.IsDone {
		query.QueueExec(a.queries.Deferred(), (*query.Queries).EndReadyCheck, query.EndReadyCheckParams{
			Universe: a.universe, ID: a.matchID, Accepted: check.AcceptedCount == check.PlayerCount, Hold: a.holdTime,
		})
	}
}

// readProposal decodes the locked ready check. Errors: Conflict, "too_late", if there is none any more; NotFound if it
// does not ask the player.
func (a answerTx) readProposal(rows []query.LockProposalRow, answers []query.MatchAnswersRow) (p proposal, err error) {
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
	asksPlayer := func(r rosterPlayer) bool { return r.Sub == a.playerSub && r.Ticket == a.ticketID }
	if !slices.ContainsFunc(p.roster, asksPlayer) {
		return p, ticketUnknown(a.ticketID)
	}
	return p, nil
}

// readyCheck returns what the player of the answer sees.
func (p proposal) readyCheck(a answerTx) ReadyCheck {
	c := ReadyCheck{MatchID: a.matchID, AnswerUntil: p.row.Deadline, PlayerCount: len(p.roster)}
	for _, accepted := range p.answersBySub {
		if accepted {
			c.AcceptedCount++
		}
	}
	hasDecline := c.AcceptedCount < len(p.answersBySub)
	c.IsDone = hasDecline || c.AcceptedCount == c.PlayerCount && c.PlayerCount > 0
	if you, ok := p.answersBySub[a.playerSub]; ok {
		c.YouAccepted = &you
	}
	return c
}
