package db

import (
	"context"
	"slices"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// keptRow returns the row of the ticket that a session alone keeps, its own or that of an earlier session of its
// player; nil: it gets a new ticket.
func (t *queueTurn) keptRow(p *party) *query.WaitingSessionsRow {
	m := p.members[0]
	if row, waits := t.waitOf(m.Session); waits {
		if p.waitsAs(row) {
			return &row
		}
		return nil
	}
	return t.inheritable(heir{p.projectID, m.Player, m.Session}, p.waitsAs)
}

func anyRow(query.WaitingSessionsRow) bool { return true }

// inheritable returns the first row that suits and that a session may get from another session of its player, which
// queued alone; nil: there is none.
func (t *queueTurn) inheritable(h heir, suits func(query.WaitingSessionsRow) bool) *query.WaitingSessionsRow {
	// A session without a name is a player of its own, who has no other session.
	if h.playerSub == "" || h.playerSub == h.sessionID {
		return nil
	}
	for i := range t.waitingSessions {
		r := &t.waitingSessions[i]
		isNamed := r.Player != r.Session // the name of a player may look like the id of a session without a name
		isOther := r.Session != h.sessionID && r.Project == h.projectID && r.Player == h.playerSub
		if isNamed && isOther && r.Lobby == nil && suits(*r) && !t.hasLeft(ticketRefOf(*r)) {
			return r
		}
	}
	return nil
}

// inherit lets a session wait with the ticket of a row, unless the row is its own.
func (t *queueTurn) inherit(row *query.WaitingSessionsRow, session string) {
	if row.Session == session {
		return
	}
	t.inheritedPlaces = append(t.inheritedPlaces, inheritance{row.Session, session, row.Ticket})
	// Later parties of this turn see whose ticket it is now.
	row.Session = session
}

// moveWaits writes which sessions wait in the places of others now. They are connected, so that their tickets are
// candidates again. It fails as a conflict, so that the turn is decided again, if an earlier session no longer waits,
// or is being ended.
func (t *queueTurn) moveWaits(ctx context.Context) error {
	if len(t.inheritedPlaces) == 0 {
		return nil
	}
	move := query.InheritWaitingParams{Region: t.region, Reason: reasonElsewhere}
	for _, i := range t.inheritedPlaces {
		move.Predecessors = append(move.Predecessors, i.predecessorID)
		move.Sessions = append(move.Sessions, i.sessionID)
		move.Tickets = append(move.Tickets, i.ticketID)
	}
	var p tx.Pipeline
	var moved []string
	// Locked by a statement of its own, so that the next one sees what became of the tickets.
	query.QueueExec(&p, (*query.Queries).HoldTicketsOfSessions,
		query.HoldTicketsOfSessionsParams{Region: t.region, Sessions: move.Predecessors})
	query.Queue(&p, &moved, (*query.Queries).InheritWaiting, move)
	if err := t.q.Send(ctx, &p); err != nil {
		return err
	}
	if len(moved) < len(t.inheritedPlaces) {
		return frame.ErrRolledBack
	}
	t.store.resumeTicketsOf(t.q, t.region, move.Sessions)
	return nil
}

// wakeHeirs notifies the sessions that have inherited a place, and those that have lost it: the ticket may be in a
// ready check, which the client of the new session has to answer.
func (t *queueTurn) wakeHeirs() {
	var sessions []string
	for _, i := range t.inheritedPlaces {
		sessions = append(sessions, i.predecessorID, i.sessionID)
	}
	if len(sessions) > 0 {
		t.store.notifyRealtime(t.region, slices.Compact(sessions)...)
		t.store.notifyTickets()
	}
}
