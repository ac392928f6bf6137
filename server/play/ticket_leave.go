package play

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
)

// maxCancels bounds how often a cancellation is repeated while a ready check ends beside it.
const maxCancels = 3

// cancel takes the caller's ticket out of the queue. While its players are being asked, it declines for the caller.
func (f ticketFace) cancel(ctx context.Context, in rest.In[rest.None]) (ticket, error) {
	id := in.Param("id")
	return f.answerChange(ctx, id, f.cancelAs(ctx, rest.Caller(ctx), id), db.TicketAssigned)
}

// cancelAs cancels a ticket as one of its players.
func (f ticketFace) cancelAs(ctx context.Context, sub, id string) (err error) {
	for range maxCancels {
		// A ticket that is in a ready check is not canceled: only an answer to the check ends it.
		var askingMatch uuid.UUID
		askingMatch, err = f.tickets.Store.CancelPlayerTicket(ctx, f.tickets.Region, id, sub)
		if err != nil || askingMatch == uuid.Nil {
			return err
		}
		err = f.tickets.Store.AnswerReadyCheck(ctx, f.tickets.Region,
			db.ReadyCheckAnswer{TicketID: id, PlayerSub: sub, MatchID: askingMatch})
		if !isTooLate(err) {
			return err
		}
	}
	return err
}

func isTooLate(err error) bool { return hasCode(err, "too_late") }

func hasCode(err error, code string) bool {
	e, ok := errors.AsType[*fault.Error](err)
	return ok && e.Code == code
}

// readyAnswer is what a player answers to a ready check.
type readyAnswer struct {
	MatchID *uuid.UUID `json:"match_id"` // nil, of older clients: whichever match asks
}

// OptionalBody implements rest.OptionalBody: clients that send no body answer whichever match asks.
func (readyAnswer) OptionalBody() {}

func (r readyAnswer) forTicket(ctx context.Context, ticket string, accept bool) db.ReadyCheckAnswer {
	a := db.ReadyCheckAnswer{TicketID: ticket, PlayerSub: rest.Caller(ctx), Accept: accept}
	if r.MatchID != nil {
		a.MatchID = *r.MatchID
	}
	return a
}

func (f ticketFace) acceptMatch(ctx context.Context, in rest.In[readyAnswer]) (ticket, error) {
	err := f.tickets.Store.AnswerReadyCheck(ctx, f.tickets.Region, in.Body.forTicket(ctx, in.Param("id"), true))
	return f.answerChange(ctx, in.Param("id"), err, "")
}

func (f ticketFace) declineMatch(ctx context.Context, in rest.In[readyAnswer]) (ticket, error) {
	err := f.tickets.Store.AnswerReadyCheck(ctx, f.tickets.Region, in.Body.forTicket(ctx, in.Param("id"), false))
	if isTooLate(err) {
		return f.answerLateDecline(ctx, in.Param("id"), err)
	}
	return f.answerChange(ctx, in.Param("id"), err, "")
}

// answerLateDecline answers a player that declines when the ready check has ended: a decline ends it, so the call may
// be a retry of the one that did, and then it has succeeded.
func (f ticketFace) answerLateDecline(ctx context.Context, id string, tooLate error) (ticket, error) {
	t, err := f.readTicket(ctx, id)
	if err == nil && t.State == db.TicketDeclined {
		return f.answerChange(ctx, id, nil, "")
	}
	return f.answerChange(ctx, id, tooLate, "")
}

// answerChange returns the ticket after a call that changed it, or that failed with err. A refusal for the state of the
// ticket is a conflict that carries the ticket, and so is a ticket in the state refused; "" is none.
func (f ticketFace) answerChange(ctx context.Context, id string, err error, refused db.TicketState) (ticket, error) {
	conflict, isConflict := errors.AsType[*fault.Error](err)
	isConflict = isConflict && conflict.Kind == fault.Conflict
	if err != nil && !isConflict {
		return ticket{}, err
	}
	t, readErr := f.readTicket(ctx, id)
	if readErr != nil {
		return ticket{}, readErr
	}
	logTicket(ctx, id)
	d := f.describeTicket(ctx, t)
	switch {
	case isConflict:
		return ticket{}, conflictOf(conflict.Code, conflict.Detail, d)
	// The store finds nothing to do, and no error, in a ticket that was assigned before the cancellation came.
	case refused != "" && t.State == refused:
		return ticket{}, conflictOf("assigned", "the ticket is assigned", d)
	}
	return d, nil
}

func conflictOf(code, detail string, d ticket) *rest.Problem {
	return &rest.Problem{Status: http.StatusConflict, Code: code, Title: "Conflict", Detail: detail, Ticket: d}
}
