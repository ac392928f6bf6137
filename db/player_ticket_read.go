package db

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/match"
)

// ticketReading is a player's question about a ticket.
type ticketReading struct{ id, playerSub string }

func (r ticketReading) bytes() int { return textBytes(r.id, r.playerSub) }

// SeePlayerTicket returns a ticket as one of its players sees it, stores that the player has seen it, and renews its
// lease. Tickets that are asked for at the same time are read and renewed together. Errors: NotFound, "ticket_unknown",
// also where the player is no member; Gone, "ticket_ended", where the ticket left longer ago than Timing.AssignedFor;
// Unavailable.
func (s *Store) SeePlayerTicket(ctx context.Context, region, id, sub string) (PlayerTicket, error) {
	if !IssuedHere(region, TicketID, id) {
		return PlayerTicket{}, ticketUnknown(id)
	}
	return s.batchGroups.playerTicketReads.Do(ctx, region, ticketReading{id, sub})
}

// seePlayerTickets decides a batch of readings: it reads the tickets in one statement, and writes in another pipeline.
func (s *Store) seePlayerTickets(ctx context.Context, region string,
	calls []*batch.Call[ticketReading, PlayerTicket]) error {
	p := query.PlayerTicketsParams{Region: region, PendingFor: s.cfg.Timing.PendingFor}
	for _, c := range calls {
		p.Ids = append(p.Ids, c.Req.id)
		p.Subs = append(p.Subs, c.Req.playerSub)
		p.Since = append(p.Since, issuedAfter(c.Req.id))
	}
	rows, err := s.q.PlayerTickets(ctx, p)
	if err != nil {
		return err
	}
	// Before the answers: a caller that has got one has kept the ticket alive.
	if err := s.storeReadings(ctx, region, calls, rows); err != nil {
		return err
	}
	for _, r := range rows {
		// N counts the pairs of ids and players from 1.
		c := calls[r.N-1]
		c.Answer(playerTicketOf(r, c.Req, s.cfg.Timing.AssignedFor))
	}
	return nil
}

// storeReadings stores which players have read a waiting ticket for the first time, and renews the leases of the
// tickets.
func (s *Store) storeReadings(ctx context.Context, region string, calls []*batch.Call[ticketReading, PlayerTicket],
	rows []query.PlayerTicketsRow) error {
	seen, alive := query.SeeTicketsParams{Region: region}, query.KeepAliveParams{Region: region}
	for _, r := range rows {
		c := calls[r.N-1]
		// A stranger's question neither marks the ticket as seen nor keeps it alive.
		if !r.Waits || !slices.Contains(r.Party, c.Req.playerSub) {
			continue
		}
		// Written once: a ticket that a player has seen is not replaced silently.
		if !r.Seen {
			seen.Tickets = append(seen.Tickets, c.Req.id)
			seen.Subs = append(seen.Subs, c.Req.playerSub)
		}
		if r.Renewable && !slices.Contains(alive.Ids, c.Req.id) {
			alive.Ids = append(alive.Ids, c.Req.id)
		}
	}
	var p tx.Pipeline
	if len(seen.Tickets) > 0 {
		query.QueueExec(&p, (*query.Queries).SeeTickets, seen)
	}
	if len(alive.Ids) > 0 {
		query.QueueExec(&p, (*query.Queries).KeepAlive, alive)
	}
	// Most readings write nothing.
	if p.Empty() {
		return nil
	}
	return s.q.Send(ctx, &p)
}

// clockSkew allows for the clock of the replica that made an id.
const clockSkew = time.Minute

// issuedAt returns when an id was made, to the second, by the clock of the replica that made it. The id must have
// passed [IssuedHere].
func issuedAt(id string) time.Time {
	raw, _ := idText.DecodeString(id)
	return time.Unix(int64(binary.BigEndian.Uint32(raw)), 0)
}

// issuedAfter returns a moment before the ticket of an id was created, by the database's clock.
func issuedAfter(id string) time.Time { return issuedAt(id).Add(-clockSkew) }

// playerTicketOf returns the ticket of the row to the player that reads it, until assignedFor after it has left the
// queue. Errors: NotFound, Gone.
func playerTicketOf(r query.PlayerTicketsRow, asked ticketReading, assignedFor time.Duration) (PlayerTicket, error) {
	if !slices.Contains(anyPartyOf(r), asked.playerSub) {
		return PlayerTicket{}, ticketUnknown(asked.id)
	}
	t, err := toPlayerTicket(r, asked.id)
	if err != nil {
		return PlayerTicket{}, err
	}
	if t.State.IsFinal() && t.ChangedAt.Add(assignedFor).Before(r.Now) {
		return PlayerTicket{}, ofTicket(t.NextTicket,
			fault.New(fault.Gone, "ticket_ended", "the ticket has left the queue"))
	}
	return t, nil
}

// anyPartyOf returns the players of the ticket, also after it has left the queue.
func anyPartyOf(r query.PlayerTicketsRow) []string {
	if len(r.Party) == 0 {
		return r.PastParty
	}
	return r.Party
}

// toPlayerTicket returns the ticket of the row without checking who asks.
func toPlayerTicket(r query.PlayerTicketsRow, id string) (t PlayerTicket, err error) {
	t = PlayerTicket{ID: id, StateVersion: int(r.Version), Party: anyPartyOf(r), ProfileNames: namesOf(r.Profiles),
		ChangedAt: r.At, LeaseTTL: r.KeptAlive, NextTicket: r.NextTicket}
	if r.Waits {
		t.CreatedAt, t.Body = time.Unix(0, r.Created).UTC(), r.Body
		describeWaitingTicket(r, &t)
		return t, nil
	}
	return t, describeSettledTicket(r, &t)
}

// AnyTicket returns a player's ticket to somebody who need not be a player of it, as long as its events are kept.
// Unlike SeePlayerTicket, it stores nothing. Errors: NotFound, "ticket_unknown"; Unavailable.
func (s *Store) AnyTicket(ctx context.Context, region, id string) (PlayerTicket, error) {
	if !IssuedHere(region, TicketID, id) {
		return PlayerTicket{}, ticketUnknown(id)
	}
	rows, err := s.q.PlayerTickets(ctx, query.PlayerTicketsParams{
		// Nobody has the empty name, so nobody counts as having read the ticket.
		Region: region, PendingFor: s.cfg.Timing.PendingFor, Ids: []string{id}, Subs: []string{""},
		Since: []time.Time{issuedAfter(id)},
	})
	if err != nil {
		return PlayerTicket{}, frame.Classify(err)
	}
	// There is a row for each id that is asked for.
	if r := rows[0]; !r.Waits && !r.Settled && r.Event == 0 {
		return PlayerTicket{}, ticketUnknown(id)
	}
	return toPlayerTicket(rows[0], id)
}

// namesOf returns the names without the empty one, which stands for every profile.
func namesOf(profiles []string) []string {
	return slices.DeleteFunc(slices.Clone(profiles), func(name string) bool { return name == "" })
}

func describeWaitingTicket(r query.PlayerTicketsRow, t *PlayerTicket) {
	_, ours := readyCheckOf(r.MatchedIn)
	switch {
	case r.Paused:
		t.State = TicketPaused
	case r.Pending && ours && asksReadyCheck(r):
		t.State, t.MatchID, t.ReadyCheck = TicketAccepting, matchIDOf(r), readyCheckOfTicket(r)
	case r.Pending && !ours:
		t.State = TicketMatched
	case r.State == string(TicketWaitingForServer):
		t.State, t.MatchID = TicketWaitingForServer, matchIDOf(r)
	default:
		t.State = TicketQueued
	}
}

// asksReadyCheck reports whether the ticket is in a ready check. Once all have accepted a match, its ready check lasts
// until the match is committed or begins to wait for a server, some milliseconds later.
func asksReadyCheck(r query.PlayerTicketsRow) bool {
	return r.MatchState == "proposed" || r.MatchState == "accepted" && r.State == string(TicketAccepting)
}

func readyCheckOfTicket(r query.PlayerTicketsRow) *PlayerReadyCheck {
	until := r.Deadline
	// The deadline of an accepted match is that of its commit, acceptedHold later.
	if r.MatchState == "accepted" {
		until = until.Add(-acceptedHold)
	}
	return &PlayerReadyCheck{AnswerUntil: until, PlayerCount: int(r.Players), AcceptedCount: int(r.Accepted),
		YouAccepted: r.Mine, IsDeclined: r.Declined}
}

// describeSettledTicket sets the final state from the last event of the ticket. Where an older release or a client of
// Open Match took the ticket out, which writes no event, it sets what became of the ticket instead.
func describeSettledTicket(r query.PlayerTicketsRow, t *PlayerTicket) error {
	t.StateVersion = int(r.Event)
	if state := TicketState(r.State); state.IsFinal() {
		t.State, t.FinalReason = state, r.Reason
		return describeSeat(r, t)
	}
	// No event was written when it left, so its last state has the number behind that of the last event.
	t.StateVersion++
	if r.Settled {
		t.ChangedAt = r.SettledAt
	}
	t.State, t.FinalReason = TicketCancelled, reasonDeleted
	if r.Settled && r.Assignment != nil {
		t.State, t.FinalReason, t.EncodedAssignment = TicketAssigned, "", r.Assignment
	}
	return nil
}

func describeSeat(r query.PlayerTicketsRow, t *PlayerTicket) error {
	if t.State != TicketAssigned {
		return nil
	}
	t.MatchID, t.EncodedAssignment = matchIDOf(r), r.Assignment
	var seat MatchSeat
	if err := json.Unmarshal([]byte(r.Detail), &seat); err != nil {
		return fmt.Errorf("what is stored of the assignment of ticket %s: %w", t.ID, err)
	}
	// Both are empty for a match without seats.
	if seat.SessionHandle != "" || seat.Endpoint != "" {
		t.MatchSeat = &seat
	}
	return nil
}

func matchIDOf(r query.PlayerTicketsRow) string {
	if r.MatchID == nil {
		return ""
	}
	return r.MatchID.String()
}

// TicketEvent is a state that a ticket entered.
type TicketEvent struct {
	EventNumber int
	State       TicketState
	Reason      string
	MatchID     string
	HappenedAt  time.Time
}

// TicketEvents returns the states that a ticket entered after the one with the number after, oldest first. It does not
// check whose ticket it is: call [Store.SeePlayerTicket] first. Errors: NotFound for an id that is none of a ticket of
// the region; Unavailable.
func (s *Store) TicketEvents(ctx context.Context, region, id string, after int) ([]TicketEvent, error) {
	if !IssuedHere(region, TicketID, id) {
		return nil, ticketUnknown(id)
	}
	rows, err := s.q.TicketEvents(ctx, query.TicketEventsParams{Region: region, ID: id, After: int32(after),
		Since: issuedAfter(id)})
	events := make([]TicketEvent, 0, len(rows))
	for _, r := range rows {
		e := TicketEvent{EventNumber: int(r.N), State: TicketState(r.State), Reason: r.Reason, HappenedAt: r.At}
		if r.MatchID != nil {
			e.MatchID = r.MatchID.String()
		}
		events = append(events, e)
	}
	return events, frame.Classify(err)
}

// maxCountedPlaces bounds how many places of a queue are counted; a ticket further back is at least that far back.
const maxCountedPlaces = 100_000

// QueuedSince returns when the waiting tickets with a tag were created, in Unix nanoseconds, oldest first: at most
// 100,000 of them. Errors: TooMany, Unavailable.
func (s *Store) QueuedSince(ctx context.Context, region, tag string) (created []int64, err error) {
	terms := match.Fields{Tags: []string{tag}}.Row().Terms
	err = s.read(ctx, func(ctx context.Context, q *query.Queries) (err error) {
		created, err = q.QueuedSince(ctx,
			query.QueuedSinceParams{Region: region, Terms: terms, Most: maxCountedPlaces})
		return err
	})
	return created, err
}
