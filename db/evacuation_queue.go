package db

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
)

// PastTicket is what the history keeps of a ticket, for those of its players who wait again.
type PastTicket struct {
	Profiles              []string
	Players               []string // sorted
	Attributes, Latencies []byte   // JSON, as of [TicketFacts]; empty for nothing
}

// RestoreTicket makes the ticket of players who wait again. Errors: the history of the ticket cannot be read.
type RestoreTicket func(PastTicket) (QueueBody, error)

// requeuedHash is the request hash of tickets that an evacuation made: see sameTicket. No SHA-256 is as short.
var requeuedHash = []byte("evacuated")

const (
	// requeuedTTL is how long a ticket waits that an evacuation made.
	requeuedTTL = 10 * time.Minute
	// requeuedLease is how long such a ticket waits for one of its players to come back to it.
	requeuedLease = 2 * time.Minute
	// historyDelay is for how long the history of a ticket may be missing: the worker that matched the ticket writes
	// its history afterwards.
	historyDelay = 10 * time.Second
)

// The reasons why evacuated players have nothing, or something that the evacuation did not give them.
const (
	WhyNoHistory     = "no_history"     // it is not known what the player had asked for: the history is off or hashed
	WhyRefused       = "refused"        // the ticket cannot be made again, or the player holds too many seats
	WhyNoRegion      = "no_region"      // the region goes or has moved, and players without a ticket have no other
	WhyNoCapacity    = "no_capacity"    // no game server has room
	WhyPartyConflict = "party_conflict" // members of the party have gone elsewhere
	WhyNotAsked      = "not_asked"      // the evacuation only releases seats
	WhyQueuedAlready = "queued_already" // the player was faster and waits with a ticket
	WhySeatedAlready = "seated_already" // the player was faster and has a seat
)

// requeueEvacuated queues the players of evacuated tickets again: each party with one ticket that is as old as the
// first was when it was matched, counted from the beginning of the evacuation, so that all keep their order.
func (s *Store) requeueEvacuated(ctx context.Context, id uuid.UUID, restore RestoreTicket) (EvacuationStep, error) {
	// A batch that Postgres refuses is tried in smaller parts, down to the single ticket that it refuses.
	for batch := evacuatedTickets; ; batch = max(1, batch/4) {
		r := &requeue{store: s, evacuationID: id, restoreTicket: restore}
		err := s.inEvacuation(ctx, id, func(q *query.Queries, e query.HoldEvacuationRow) error {
			return r.run(ctx, q, e, batch)
		})
		switch {
		case err == nil:
			r.wake()
			return r.evacuationStep, nil
		case !frame.IsDataError(err):
			return EvacuationStep{}, err
		case batch == 1:
			return s.refuseEvacuated(ctx, id)
		}
	}
}

// refuseEvacuated decides that the players of the next ticket get nothing.
func (s *Store) refuseEvacuated(ctx context.Context, id uuid.UUID) (step EvacuationStep, err error) {
	err = s.inEvacuation(ctx, id, func(q *query.Queries, _ query.HoldEvacuationRow) error {
		r := &requeue{store: s, evacuationID: id}
		rows, err := q.EvacuatedTickets(ctx,
			query.EvacuatedTicketsParams{Evacuation: id, Batch: 1, Patience: historyDelay})
		if err != nil {
			return err
		}
		for _, row := range rows {
			r.noteStranded(row, WhyRefused, row.Subs...)
		}
		step = r.evacuationStep
		return r.writeDecisions(ctx, q)
	})
	return step, err
}

// requeue is a transaction that queues evacuated players.
type requeue struct {
	store         *Store
	evacuationID  uuid.UUID
	restoreTicket RestoreTicket

	evacuationStep  EvacuationStep
	queueTurns      []*queueTurn
	decisions       query.DecideEvacuatedOfTicketsParams
	waitingSessions map[string][]string // sessions that wait from now on, by their region
}

// run queues the players of at most batch tickets: those without a session of the realtime lobby, and region by region
// those with one.
func (r *requeue) run(ctx context.Context, q *query.Queries, e query.HoldEvacuationRow, batch int) error {
	// Each attempt of the transaction begins anew.
	r.evacuationStep, r.queueTurns, r.waitingSessions = EvacuationStep{}, nil, map[string][]string{}
	r.decisions = query.DecideEvacuatedOfTicketsParams{}
	rows, err := q.EvacuatedTickets(ctx,
		query.EvacuatedTicketsParams{Evacuation: r.evacuationID, Batch: int32(batch), Patience: historyDelay})
	if err != nil {
		return err
	}
	for len(rows) > 0 {
		first := rows[0]
		isOfGroup := func(row query.EvacuatedTicketsRow) bool {
			return row.Universe == first.Universe && row.LobbyRegion == first.LobbyRegion
		}
		var group []query.EvacuatedTicketsRow
		for _, row := range rows {
			if isOfGroup(row) {
				group = append(group, row)
			}
		}
		if err := r.queue(ctx, q, e, group); err != nil {
			return err
		}
		rows = slices.DeleteFunc(rows, isOfGroup)
	}
	return r.writeDecisions(ctx, q)
}

// queue queues the players of tickets of one universe, whose sessions of the realtime lobby are of one region.
func (r *requeue) queue(ctx context.Context, q *query.Queries, e query.HoldEvacuationRow,
	rows []query.EvacuatedTicketsRow) error {
	t := r.store.newQueueTurn(q, rows[0].Universe, rows[0].LobbyRegion)
	sessions, err := r.lobbySessions(ctx, q, rows)
	if err != nil {
		return err
	}
	parties := make([]*party, len(rows)) // by the index of the row; nil: not known
	var knownParties []*party
	var sessionIDs []string
	for i, row := range rows {
		parties[i] = r.restoreParty(row, e, sessions)
		if parties[i] != nil {
			knownParties = append(knownParties, parties[i])
			sessionIDs = append(sessionIDs, parties[i].sessionIDs()...)
		}
	}
	if len(knownParties) > 0 {
		// Read for all of them before anything is decided: each party is judged by what its players wait for.
		if err := t.read(ctx, &tx.Pipeline{}, knownParties, sessionIDs, nil); err != nil {
			return err
		}
	}
	for i, row := range rows {
		// Of a ticket without history, the profiles and attributes are not known.
		if parties[i] == nil {
			r.noteStranded(row, WhyNoHistory, row.Subs...)
			continue
		}
		r.enter(t, row, parties[i])
	}
	r.queueTurns = append(r.queueTurns, t)
	return t.write(ctx)
}

// lobbySessions returns the sessions of the realtime lobby that still exist, of those which waited with the tickets.
func (r *requeue) lobbySessions(ctx context.Context, q *query.Queries,
	rows []query.EvacuatedTicketsRow) ([]string, error) {
	hold := query.HoldRealtimeSessionsParams{Region: rows[0].LobbyRegion}
	for _, row := range rows {
		hold.Ids = append(hold.Ids, row.Participants...)
	}
	if len(hold.Ids) == 0 {
		return nil, nil
	}
	return q.HoldRealtimeSessions(ctx, hold)
}

// restoreParty returns the players of a ticket who wait again, with those of their sessions of the realtime lobby that
// still exist; nil if nobody knows what they had asked for.
func (r *requeue) restoreParty(row query.EvacuatedTicketsRow, e query.HoldEvacuationRow, sessions []string) *party {
	isInHistory := func(sub string) bool { return slices.Contains(row.Party, sub) }
	// If the history has none of the players, it was kept with hashes instead of names.
	if !row.HasHistory || !slices.ContainsFunc(row.Subs, isInHistory) {
		return nil
	}
	past := PastTicket{Profiles: row.Profiles, Players: slices.Clone(row.Subs), Attributes: []byte(row.Attributes),
		Latencies: []byte(row.Latencies)}
	body, err := r.restoreTicket(past)
	if err != nil {
		return nil
	}
	queue := lobby.Queue{RoomType: row.RoomType, MatchSize: min(max(int(row.Size), minMatchSize), maxMatchSize)}
	p := &party{origin: fromRequest, projectID: row.Project, lobbyQueue: queue}
	p.request = PlayerTicketRequest{
		Caller: row.Subs[0], Party: past.Players, ProfileNames: row.Profiles, SearchFields: body.SearchFields,
		EncodeBody: body.EncodeBody, BodyBytes: body.Bytes, TTL: requeuedTTL, LeaseTTL: requeuedLease,
		RequestHash:  requeuedHash,
		WaitingSince: e.BegunAt.Add(-row.Waited),
	}
	for i, session := range row.Participants {
		if sub := row.ParticipantSeats[i]; slices.Contains(row.Subs, sub) && slices.Contains(sessions, session) {
			p.members = append(p.members, lobby.Member{Session: session, Player: row.ParticipantPlayers[i]})
			p.playerSubs = append(p.playerSubs, sub)
		}
	}
	// Tickets of sessions stay in the queue while the sessions live.
	if len(p.members) > 0 {
		p.request.TTL, p.request.LeaseTTL = r.store.sessionTTL(), 0
	}
	return p
}

// sessionTTL is how long tickets of sessions wait.
func (s *Store) sessionTTL() time.Duration {
	if s.cfg.Queueing == nil {
		return forEver
	}
	return s.cfg.Queueing.ttl()
}

func (p *party) sessionIDs() (ids []string) {
	for _, m := range p.members {
		ids = append(ids, m.Session)
	}
	return ids
}

// enter queues a party without those of its members who wait with another ticket by now.
func (r *requeue) enter(t *queueTurn, row query.EvacuatedTicketsRow, p *party) {
	rest := []string{}
	for _, sub := range p.request.Party {
		if ticket := t.ticketFor(p.request, sub); ticket != "" {
			r.noteQueued(row, ticket, WhyQueuedAlready, sub)
		} else {
			rest = append(rest, sub)
		}
	}
	if len(rest) == 0 {
		return
	}
	// The ticket of those that remain has other attributes and latencies, if it can be made without the others at all.
	if len(rest) < len(p.request.Party) && !r.reduce(row, p, rest) {
		r.noteStranded(row, WhyRefused, rest...)
		return
	}
	answer, err := t.enter(p)
	// A player has lost two seats: the next transaction decides about this ticket, and sees the other one.
	if errors.Is(err, errPartyBusy) {
		return
	}
	switch {
	case fault.Is(err, fault.Conflict):
		r.noteStranded(row, WhyPartyConflict, rest...)
	case err != nil:
		r.noteStranded(row, WhyRefused, rest...)
	default:
		r.noteQueued(row, answer.ID, "", rest...)
		r.waitingSessions[t.region] = append(r.waitingSessions[t.region], p.sessionIDs()...)
	}
}

// ticketFor returns the ticket with which a player waits for one of the profiles of a request; "": none.
func (t *queueTurn) ticketFor(r PlayerTicketRequest, sub string) string {
	for _, row := range t.queuedPlayers[sub] {
		if row.Waits && !row.Over && r.asksFor(row.Profile) && !t.hasLeft(ticketRef{t.universe, row.TicketID}) {
			return row.TicketID
		}
	}
	return ""
}

// reduce leaves the players of rest in a party, and returns true; false: the ticket cannot be made without the others.
func (r *requeue) reduce(row query.EvacuatedTicketsRow, p *party, rest []string) bool {
	body, err := r.restoreTicket(PastTicket{Profiles: row.Profiles, Players: rest, Attributes: []byte(row.Attributes),
		Latencies: []byte(row.Latencies)})
	if err != nil {
		return false
	}
	p.request.Caller, p.request.Party = rest[0], rest
	p.request.SearchFields, p.request.EncodeBody, p.request.BodyBytes = body.SearchFields, body.EncodeBody, body.Bytes
	for i, sub := range slices.Backward(p.playerSubs) {
		if !slices.Contains(rest, sub) {
			p.playerSubs, p.members = slices.Delete(p.playerSubs, i, i+1), slices.Delete(p.members, i, i+1)
		}
	}
	return true
}

// noteQueued notes that players of a ticket wait with another one; why is "", or why the evacuation did not make it.
func (r *requeue) noteQueued(row query.EvacuatedTicketsRow, nextTicket, why string, subs ...string) {
	r.evacuationStep.QueuedPlayers += len(subs)
	r.addDecisions(row, "queued", nextTicket, why, subs)
}

// noteStranded notes why players of a ticket get nothing.
func (r *requeue) noteStranded(row query.EvacuatedTicketsRow, why string, subs ...string) {
	r.evacuationStep.StrandedPlayers += len(subs)
	r.addDecisions(row, "left", "", why, subs)
}

func (r *requeue) addDecisions(row query.EvacuatedTicketsRow, state, nextTicket, why string, subs []string) {
	d := &r.decisions
	for _, sub := range subs {
		d.Tickets = append(d.Tickets, row.Ticket)
		d.Subs = append(d.Subs, sub)
		d.States = append(d.States, state)
		d.Why = append(d.Why, why)
		d.NextTickets = append(d.NextTickets, nextTicket)
	}
}

// writeDecisions stores what was noted.
func (r *requeue) writeDecisions(ctx context.Context, q *query.Queries) error {
	if len(r.decisions.Subs) == 0 {
		return nil
	}
	r.decisions.Evacuation = r.evacuationID
	_, err := q.DecideEvacuatedOfTickets(ctx, r.decisions)
	return err
}

// wake notifies those that follow the queue, and the sessions that wait again. Call it after the commit.
func (r *requeue) wake() {
	for _, t := range r.queueTurns {
		t.wake()
	}
	for region, sessions := range r.waitingSessions {
		r.store.notifyRealtime(region, sessions...)
	}
}
