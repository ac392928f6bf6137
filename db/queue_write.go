package db

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/match"
)

// maxPosition bounds the positions in the queue that are counted; a session further back has this position.
const maxPosition = 1000

// write takes the tickets that leave out of their queues, and defers the rest to the commit.
func (t *queueTurn) write(ctx context.Context) error {
	byUniverse := map[string][]leavingTicket{}
	for ref, l := range t.leavingTickets {
		byUniverse[ref.universe] = append(byUniverse[ref.universe], l)
	}
	// In one order, so that two turns that take tickets out of two universes do not deadlock.
	for _, universe := range slices.Sorted(maps.Keys(byUniverse)) {
		if err := t.takeOut(ctx, universe, byUniverse[universe]); err != nil {
			return err
		}
	}
	if err := t.moveWaits(ctx); err != nil {
		return err
	}
	t.writes.queue(t.q.Deferred(), t.universe, t.region, t.store.cfg.Timing.IdempotencyTTL)
	// At the commit, behind the tickets that it writes: a new one counts in its own position.
	if len(t.countedPlaces) > 0 {
		query.Queue(t.q.Deferred(), &t.countedPositions, (*query.Queries).WaitingPositions,
			query.WaitingPositionsParams{Region: t.region, Most: maxPosition, Sessions: t.countedPlaces})
	}
	return nil
}

// takeOut takes tickets out of the queue of a universe, with the rows of their sessions. Where another transaction
// matched one of them meanwhile, it fails as a conflict, so that the transaction is decided again.
func (t *queueTurn) takeOut(ctx context.Context, universe string, leaves []leavingTicket) error {
	// Locked in the order of their ids, by everybody.
	slices.SortFunc(leaves, func(a, b leavingTicket) int { return cmp.Compare(a.ticketID, b.ticketID) })
	rows, err := t.store.leaveQueue(ctx, t.q, universe, leaves)
	if err != nil {
		return err
	}
	// A turn of requests reads no sessions: a worker finds those whose tickets have left.
	if t.region == "" {
		return nil
	}
	left := map[string]bool{}
	for _, r := range rows {
		left[r.ID] = true
	}
	forget := query.ForgetWaitingParams{TicketRegion: universe, Aware: append([]uuid.UUID{}, t.awareRooms...),
		Silent: append([]string{}, t.awareSessions...)}
	for _, l := range leaves {
		if !left[l.ticketID] && t.wasQueued(ticketRef{universe, l.ticketID}) {
			return frame.ErrRolledBack
		}
		forget.Tickets = append(forget.Tickets, l.ticketID)
		forget.Reasons = append(forget.Reasons, l.finalReason)
	}
	query.QueueExec(t.q.Deferred(), (*query.Queries).ForgetWaiting, forget)
	return nil
}

// wasQueued reports whether a ticket of a session was in the queue when it was read.
func (t *queueTurn) wasQueued(ref ticketRef) bool {
	return slices.ContainsFunc(t.waitingSessions,
		func(r query.WaitingSessionsRow) bool { return ticketRefOf(r) == ref && r.Queued })
}

// add creates the ticket of a party, in place of rows of its players whose tickets are gone.
func (t *queueTurn) add(p *party, stale []query.PlayersQueuedRow) PlayerTicketAnswer {
	now := t.store.Now().UTC()
	at := cmp.Or(p.request.WaitingSince, now)
	// The id is made from the present time, also where the party counts as waiting since earlier: an id of the past could
	// be in use.
	id := t.store.idMint.next(t.universe, TicketID, now)
	t.writes.forget(stale)
	t.writes.addTicket(p.request, id, at)
	t.writes.addPlayers(p.request, id)
	if p.request.IdempotencyKey != "" {
		t.writes.addAnswer(p.request, id)
	}
	if len(p.members) > 0 {
		t.writes.addSessions(p, id)
	}
	if p.request.CallerLatencies != nil {
		t.writes.knownLatencies.Subs = append(t.writes.knownLatencies.Subs, p.request.Caller)
		t.writes.knownLatencies.Latencies = append(t.writes.knownLatencies.Latencies,
			jsonText(p.request.CallerLatencies, "{}"))
	}
	return PlayerTicketAnswer{ID: id, CreatedAt: at, IsNew: true}
}

// wake notifies those that follow the queue, and the sessions whose tickets left without their doing. Call it after the
// commit.
func (t *queueTurn) wake() {
	if len(t.writes.newTickets.Ids) > 0 {
		t.store.notifyQueued(t.universe)
	}
	universes := map[string]bool{}
	// Tickets of other universes may have left, too.
	for ref := range t.leavingTickets {
		universes[ref.universe] = true
	}
	for universe := range universes {
		t.store.notifyLeft(universe)
	}
	var unaware []string
	for _, r := range t.waitingSessions {
		isAware := slices.Contains(t.awareSessions, r.Session) ||
			r.Lobby != nil && slices.Contains(t.awareRooms, *r.Lobby)
		if t.hasLeft(ticketRefOf(r)) && !isAware {
			unaware = append(unaware, r.Session)
		}
	}
	t.store.notifyRealtime(t.region, unaware...)
	t.wakeHeirs()
}

// queue adds the statements that have rows to a pipeline, in the lock order.
func (w *queueWrites) queue(out *tx.Pipeline, universe, region string, keepAnswers time.Duration) {
	w.stalePlayers.Region, w.newTickets.Region, w.queuedPlayers.Region = universe, universe, universe
	w.storedAnswers.Keep = keepAnswers
	w.waitingSessions.Region, w.waitingSessions.TicketRegion, w.knownLatencies.Region = region, universe, universe
	deferRows(out, len(w.keptTickets), (*query.Queries).KeepAlive,
		query.KeepAliveParams{Region: universe, Ids: w.keptTickets})
	deferRows(out, len(w.stalePlayers.Subs), (*query.Queries).ForgetPlayers, w.stalePlayers)
	deferRows(out, len(w.newTickets.Ids), (*query.Queries).QueuePlayerTickets, w.newTickets)
	deferRows(out, len(w.newTickets.Ids), (*query.Queries).JoinPlayers, w.queuedPlayers)
	deferRows(out, len(w.newTickets.Ids), (*query.Queries).RecordQueued,
		query.RecordQueuedParams{Region: universe, Tickets: w.newTickets.Ids})
	deferRows(out, len(w.knownLatencies.Subs), (*query.Queries).RememberLatencies, w.knownLatencies)
	deferRows(out, len(w.storedAnswers.Keys), (*query.Queries).StoreAnswers, w.storedAnswers)
	deferRows(out, len(w.waitingSessions.Sessions), (*query.Queries).AddWaiting, w.waitingSessions)
}

func (w *queueWrites) forget(stale []query.PlayersQueuedRow) {
	p := &w.stalePlayers
	for _, r := range stale {
		p.Subs = append(p.Subs, r.Sub)
		p.Profiles = append(p.Profiles, r.Profile)
		p.Tickets = append(p.Tickets, r.TicketID)
	}
}

// addTicket adds the row of a new ticket.
func (w *queueWrites) addTicket(r PlayerTicketRequest, id string, at time.Time) {
	r.SearchFields.Created = match.MomentOf(at)
	row, t := r.SearchFields.Row(), &w.newTickets
	// The statement takes slices of these arrays, which must not be null for that.
	if t.Ids == nil {
		t.Terms, t.DoubleKeys, t.Doubles = []uuid.UUID{}, []uuid.UUID{}, []float64{}
	}
	t.Ids = append(t.Ids, id)
	t.Created = append(t.Created, row.Created)
	t.Bodies = append(t.Bodies, r.EncodeBody(id, at))
	t.TermsFrom = append(t.TermsFrom, int32(len(t.Terms)+1))
	t.DoublesFrom = append(t.DoublesFrom, int32(len(t.Doubles)+1))
	t.Terms = append(t.Terms, row.Terms...)
	t.DoubleKeys = append(t.DoubleKeys, row.Keys...)
	t.Doubles = append(t.Doubles, row.Doubles...)
	t.TermsTo = append(t.TermsTo, int32(len(t.Terms)))
	t.DoublesTo = append(t.DoublesTo, int32(len(t.Doubles)))
	t.Ttls = append(t.Ttls, r.TTL)
	t.Leases = append(t.Leases, r.LeaseTTL)
}

func (w *queueWrites) addPlayers(r PlayerTicketRequest, id string) {
	p := &w.queuedPlayers
	for _, profile := range r.rowProfiles() {
		for _, sub := range r.Party {
			p.Subs = append(p.Subs, sub)
			p.Profiles = append(p.Profiles, profile)
			p.Tickets = append(p.Tickets, id)
			p.Hashes = append(p.Hashes, r.RequestHash)
			p.Posted = append(p.Posted, sub == r.Caller)
		}
	}
}

// addAnswer stores the answer of a request with an idempotency key.
func (w *queueWrites) addAnswer(r PlayerTicketRequest, id string) {
	answer, _ := json.Marshal(storedTicket{id}) // a text always encodes
	p := &w.storedAnswers
	p.Callers = append(p.Callers, r.Caller)
	p.Keys = append(p.Keys, r.IdempotencyKey)
	p.Hashes = append(p.Hashes, r.RequestHash)
	p.Answers = append(p.Answers, string(answer))
}

// addSessions stores that the members of a party wait with its ticket.
func (w *queueWrites) addSessions(p *party, ticket string) {
	s := &w.waitingSessions
	for i, m := range p.members {
		s.Sessions = append(s.Sessions, m.Session)
		s.Tickets = append(s.Tickets, ticket)
		s.Places = append(s.Places, int32(i+1))
		s.Projects = append(s.Projects, p.projectID)
		s.Players = append(s.Players, cmp.Or(m.Player, m.Session))
		s.Subs = append(s.Subs, p.playerSubs[i])
		s.RoomTypes = append(s.RoomTypes, p.lobbyQueue.RoomType)
		s.Sizes = append(s.Sizes, int32(p.lobbyQueue.MatchSize))
		s.Lobbies = append(s.Lobbies, p.roomUID)
	}
}
