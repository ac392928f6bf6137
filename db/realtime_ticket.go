package db

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// EnqueueRealtime makes a ticket for a session. A session that waits for the same room type, size and attributes
// already keeps its ticket and its place. A ticket for another room type, size or attributes is replaced, also that of
// a room whose members queued together.
//
// The game of a named player may have been restarted: the new session then gets the ticket and the place of an earlier
// session of the player, if that one waits alone for the same room type, size and attributes. If the earlier session is
// connected, it is notified. Where a profile knows players by name, a ticket for another size is replaced.
//
// Calls of a region that wait at the same time share a transaction. Errors: Superseded for another epoch; Invalid for
// attributes, and "cannot_match" for a ticket that can be in no match of its profile; NotFound, "profile_unknown";
// Conflict, "ticket_exists", "party_conflict" or "matched", as for [Store.CreatePlayerTicket]; TooMany; Unavailable,
// after which the session may wait or not.
func (s *Store) EnqueueRealtime(ctx context.Context, e RealtimeEnqueueRequest) (QueuedRealtime, error) {
	p, err := s.sessionParty(e)
	if err != nil {
		return QueuedRealtime{}, err
	}
	arriving := arrival{region: s.sessionUniverse(), callerSub: cmp.Or(e.Player, e.Session.ID)}
	if err := s.admit(ctx, arriving); err != nil {
		return QueuedRealtime{}, err
	}
	done, err := s.batchGroups.sessionTickets.Do(ctx, e.Region,
		sessionTicketRequest{sessionEpoch: e.Session, projectID: e.ProjectID, playerSub: e.Player, party: p})
	return done.queued, err
}

// DequeueRealtime takes the ticket of a session out of the queue, also that of a room whose members queued together. A
// session that waits with no ticket removes the one of an earlier session that [Store.EnqueueRealtime] would give it.
// removed is false where there is no such ticket, or the ticket is in a match that a director of Open Match assigns
// soon. A ticket whose players are asked whether they accept a match is removed, too, which ends the match for the
// others. Errors: Superseded for another epoch; Unavailable.
func (s *Store) DequeueRealtime(ctx context.Context, d RealtimeDequeueRequest) (removed bool, err error) {
	done, err := s.batchGroups.sessionTickets.Do(ctx, d.Region,
		sessionTicketRequest{sessionEpoch: d.Session, projectID: d.ProjectID, playerSub: d.Player})
	return done.wasRemoved, err
}

// changeSessionTickets decides calls of sessions of a region in one transaction. The second call of a player, also by
// another session, stays for the next batch, as does one about players about whom an older call has decided.
func (s *Store) changeSessionTickets(ctx context.Context, region string, calls []*sessionTicketCall) error {
	return s.inQueueTurn(ctx, s.sessionUniverse(), region, func(t *queueTurn) error {
		first := firstOfPlayers(calls)
		var parties []*party
		hold := query.HoldSessionEpochsParams{Region: region}
		for _, c := range first {
			hold.Ids = append(hold.Ids, c.Req.sessionEpoch.ID)
			hold.Epochs = append(hold.Epochs, c.Req.sessionEpoch.Epoch)
			if c.Req.party != nil {
				parties = append(parties, c.Req.party)
			}
		}
		// The answers of the calls say why tickets leave, so no further message does.
		t.awareSessions = hold.Ids
		t.heirSessions = hold.Ids
		var p tx.Pipeline
		var owned []string
		// Locks the sessions before anything is read, so that no other connection takes one over until the commit.
		query.Queue(&p, &owned, (*query.Queries).HoldSessionEpochs, hold)
		if err := t.read(ctx, &p, parties, hold.Ids, nil); err != nil {
			return err
		}
		for _, c := range first {
			t.changeSessionTicket(c, slices.Contains(owned, c.Req.sessionEpoch.ID))
		}
		return nil
	})
}

// firstOfPlayers returns the first call of each player. A session without a named player is its own player.
func firstOfPlayers(calls []*sessionTicketCall) (first []*sessionTicketCall) {
	type player struct{ project, name string }
	seen := map[player]bool{}
	for _, c := range calls {
		p := player{c.Req.projectID, cmp.Or(c.Req.playerSub, c.Req.sessionEpoch.ID)}
		if !seen[p] {
			seen[p], first = true, append(first, c)
		}
	}
	return first
}

// changeSessionTicket decides a call of a session. A call about a player about whom this turn has decided gets no
// answer, and so stays for the next batch.
func (t *queueTurn) changeSessionTicket(c *sessionTicketCall, isOwned bool) {
	answer, err := t.decideSessionTicket(c.Req, isOwned)
	if errors.Is(err, errPartyBusy) {
		return
	}
	t.callAnswers = append(t.callAnswers, func() {
		// The statement that counts positions is sent with COMMIT, so they are known only now.
		answer.queued.QueuePosition = t.position(c.Req.sessionEpoch.ID)
		c.Answer(answer, err)
	})
}

func (t *queueTurn) decideSessionTicket(r sessionTicketRequest, isOwned bool) (sessionTicketAnswer, error) {
	if !isOwned {
		return sessionTicketAnswer{},
			fault.New(fault.Superseded, "session_superseded", "another connection owns the session now")
	}
	if r.party == nil {
		return sessionTicketAnswer{wasRemoved: t.dequeue(r)}, nil
	}
	queued, err := t.enqueue(r.party)
	return sessionTicketAnswer{queued: queued}, err
}

// dequeue takes the ticket of a session out of the queue, or that of an earlier session that the session would inherit.
func (t *queueTurn) dequeue(r sessionTicketRequest) (removed bool) {
	row, waits := t.waitOf(r.sessionEpoch.ID)
	if !waits {
		earlier := t.inheritable(r.asHeir(), anyRow)
		if earlier == nil {
			return false
		}
		row = *earlier
	}
	if !row.Queued || isInCycle(row) {
		return false
	}
	t.leave(row, reasonByMember)
	return true
}

// enqueue puts a session alone into the queue. Errors: those of enter.
func (t *queueTurn) enqueue(p *party) (QueuedRealtime, error) {
	kept := t.keptRow(p)
	answer, err := t.enter(p)
	if err != nil {
		return QueuedRealtime{}, err
	}
	t.countedPlaces = append(t.countedPlaces, p.members[0].Session)
	queued := QueuedRealtime{TicketID: answer.ID, PlayerSub: p.playerSubs[0], MatchSize: p.lobbyQueue.MatchSize}
	// A ticket that is not new is that of kept, since enter asks keptWait as well.
	if !answer.IsNew {
		queued.PlayerSub = kept.Sub
		t.inherit(kept, p.members[0].Session)
	}
	return queued, nil
}

// position returns the position of a session in the queue; 0: it was not counted.
func (t *queueTurn) position(session string) int {
	for _, r := range t.countedPositions {
		if r.Session == session {
			return int(r.Position)
		}
	}
	return 0
}

// WaitingRealtime is a session that waits with a ticket.
type WaitingRealtime struct {
	SessionID string
	Universe  string // of the ticket
	TicketID  string
	PlayerSub string // the player of the ticket
	RoomType  string
	MatchSize int
}

// RealtimeTicket returns the ticket with which a session waits. Errors: NotFound if it waits with none; Unavailable.
func (s *Store) RealtimeTicket(ctx context.Context, region, session string) (WaitingRealtime, error) {
	row, err := s.q.WaitingOfSession(ctx, query.WaitingOfSessionParams{Region: region, Session: session})
	if errors.Is(err, pgx.ErrNoRows) {
		return WaitingRealtime{}, fault.New(fault.NotFound, "not_queued", "the session waits for no match")
	}
	if err != nil {
		return WaitingRealtime{}, frame.Classify(err)
	}
	return WaitingRealtime{SessionID: session, Universe: row.TicketRegion, TicketID: row.Ticket, PlayerSub: row.Sub,
		RoomType: row.RoomType, MatchSize: int(row.Size)}, nil
}
