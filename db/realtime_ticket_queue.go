package db

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/match/profile"
)

// changeWaits decides calls of sessions of a region in one transaction. The second call of a session stays for the next
// batch, as does one about players about whom an older call has decided.
func (s *Store) changeWaits(ctx context.Context, region string, calls []*waitCall) error {
	var t *waits
	err := s.inTx(ctx, func(q *query.Queries) error {
		t = s.newWaits(q, region)
		return t.decide(ctx, calls)
	})
	if err != nil {
		return err
	}
	s.notifyTickets()
	s.notifyRealtime(region, t.expired()...)
	for c, a := range t.answers {
		a.Position = t.position(c.Req.session.ID)
		c.Answer(a.waited, a.err)
	}
	return nil
}

// waits is a transaction that changes with which tickets sessions of a region wait.
type waits struct {
	*Store
	q       *query.Queries
	region  string
	tickets queueing // new tickets of the universe
	waiting []query.WaitingSessionsRow
	// of the wishes, by name; nil: a newer release wrote it, and this one cannot read it
	profiles       map[string]*profile.Profile
	leaves         map[ticketRef]leaving
	roomsTold      []uuid.UUID // rooms that know that they do not wait any more
	quietSessions  []string    // sessions that know why their ticket leaves
	add            query.AddWaitingParams
	placedSessions []string // sessions whose position is counted
	places         []query.WaitingPositionsRow
	answers        map[*waitCall]waitAnswer
}

// ticketRef names a ticket.
type ticketRef struct{ universe, id string }

type waitAnswer struct {
	waited

	err error
}

func (s *Store) newWaits(q *query.Queries, region string) *waits {
	t := &waits{Store: s, q: q, region: region, leaves: map[ticketRef]leaving{}, answers: map[*waitCall]waitAnswer{}}
	t.tickets = queueing{Store: s, q: q, busyPlayers: map[string]bool{}}
	if c := s.cfg.Queueing; c != nil {
		t.tickets.region = c.Universe
	}
	t.add = query.AddWaitingParams{Region: region, TicketRegion: t.tickets.region}
	return t
}

// decide locks the sessions of calls and decides the calls.
func (t *waits) decide(ctx context.Context, calls []*waitCall) error {
	var p tx.Pipeline
	var held, sessions []string
	var wishes []*wish
	hold, first := query.HoldSessionEpochsParams{Region: t.region}, []*waitCall{}
	for _, c := range calls {
		id := c.Req.session.ID
		if slices.Contains(sessions, id) {
			continue
		}
		first, sessions = append(first, c), append(sessions, id)
		hold.Ids, hold.Epochs = append(hold.Ids, id), append(hold.Epochs, c.Req.session.Epoch)
		if c.Req.wish != nil {
			wishes = append(wishes, c.Req.wish)
		}
	}
	t.quietSessions = sessions
	query.Queue(&p, &held, (*query.Queries).HoldSessionEpochs, hold)
	if err := t.read(ctx, &p, sessions, nil, wishes); err != nil {
		return err
	}
	owned := setOf(held)
	for _, c := range first {
		if a, busy := t.call(c.Req, owned[c.Req.session.ID]); !busy {
			t.answers[c] = a
		}
	}
	return t.write(ctx)
}

// read sends a pipeline that ends with what sessions, rooms and the players of wishes wait for.
func (t *waits) read(ctx context.Context, p *tx.Pipeline, sessions []string, lobbies []uuid.UUID,
	wishes []*wish) error {
	arg := query.WaitingSessionsParams{
		Region: t.region, Universe: t.tickets.region, PendingFor: t.cfg.Timing.PendingFor, Sessions: sessions,
		Lobbies: lobbies, Subs: []string{},
	}
	for _, w := range wishes {
		arg.Subs = append(arg.Subs, w.subs...)
	}
	var rows []query.PlayersQueuedRow
	var live []query.LiveVersionsRow
	query.Queue(p, &t.waiting, (*query.Queries).WaitingSessions, arg)
	query.Queue(p, &rows, (*query.Queries).PlayersQueued,
		query.PlayersQueuedParams{Region: t.tickets.region, PendingFor: arg.PendingFor, Subs: arg.Subs})
	if names := judgedBy(wishes); len(names) > 0 {
		query.Queue(p, &live, (*query.Queries).LiveVersions,
			query.LiveVersionsParams{Region: t.tickets.region, Names: names})
	}
	if err := t.q.Send(ctx, p); err != nil {
		return err
	}
	t.tickets.know(rows)
	return t.readProfiles(ctx, live)
}

// call decides a call of a session.
func (t *waits) call(c waitChange, held bool) (a waitAnswer, busy bool) {
	row, waits := t.waitOf(c.session.ID)
	switch {
	case !held:
		a.err = fault.New(fault.Superseded, "session_superseded", "another connection owns the session now")
	case c.wish == nil:
		if a.removed = waits && row.Queued && !waitsElsewhere(row); a.removed {
			t.leave(row, reasonByMember)
		}
	case waits && c.wish.matches(row):
		a.Ticket, a.Sub, a.Size = row.Ticket, row.Sub, int(row.Size)
		t.placedSessions = append(t.placedSessions, row.Session)
		t.tickets.earlierTickets = append(t.tickets.earlierTickets, row.Ticket)
	default:
		a.QueuedRealtime, busy, a.err = t.enqueue(c.wish)
	}
	return a, busy
}

// waitOf returns the row of a session that waits, unless its ticket leaves.
func (t *waits) waitOf(session string) (row query.WaitingSessionsRow, waits bool) {
	i := slices.IndexFunc(t.waiting, func(r query.WaitingSessionsRow) bool { return r.Session == session })
	if i < 0 {
		return row, false
	}
	_, left := t.leaves[ticketRefOf(t.waiting[i])]
	return t.waiting[i], !left
}

func ticketRefOf(r query.WaitingSessionsRow) ticketRef { return ticketRef{r.TicketRegion, r.Ticket} }

// waitsElsewhere reports whether the ticket is in a match of a cycle, which a director of Open Match assigns.
func waitsElsewhere(r query.WaitingSessionsRow) bool {
	_, ours := readyCheckOf(r.MatchedIn)
	return r.Pending && !ours
}

// leave lets a ticket leave the queue, also out of a ready check.
func (t *waits) leave(r query.WaitingSessionsRow, reason string) {
	t.leaves[ticketRefOf(r)] = leaving{id: r.Ticket, state: TicketCancelled, reason: reason, forced: r.Pending}
}

// enqueue makes a ticket for a wish. The tickets that it replaces leave.
func (t *waits) enqueue(w *wish) (done QueuedRealtime, busy bool, err error) {
	if err := t.judge(w); err != nil {
		return done, false, err
	}
	var replaced []query.WaitingSessionsRow
	for _, r := range t.waiting {
		if _, left := t.leaves[ticketRefOf(r)]; left || !t.replaces(w, r) {
			continue
		}
		if waitsElsewhere(r) {
			return done, false, ofTicket(r.Ticket,
				fault.New(fault.Conflict, "matched",
					"the session is in a match that an Open Match director assigns soon"))
		}
		replaced = append(replaced, r)
	}
	answer, busy, err := t.admitWithout(replaced, w)
	if busy || err != nil {
		return done, busy, err
	}
	for _, r := range replaced {
		t.leave(r, reasonElsewhere)
	}
	w.answer = answer
	for i, m := range w.members {
		addWaitingSession(&t.add, w, i, m, answer.ID)
		t.placedSessions = append(t.placedSessions, m.Session)
	}
	return QueuedRealtime{Ticket: answer.ID, Sub: w.subs[0], Size: w.queue.Size}, false, nil
}

// admitWithout decides the request of a wish as if the tickets that it replaces, and those that leave, had left.
func (t *waits) admitWithout(replaced []query.WaitingSessionsRow,
	w *wish) (a PlayerTicketAnswer, busy bool, err error) {
	leaves := func(r query.PlayersQueuedRow) bool {
		_, left := t.leaves[ticketRef{t.tickets.region, r.TicketID}]
		return left || slices.ContainsFunc(replaced,
			func(o query.WaitingSessionsRow) bool { return o.Ticket == r.TicketID })
	}
	kept := make(map[string][]query.PlayersQueuedRow, len(w.subs))
	for _, sub := range w.subs {
		kept[sub] = t.tickets.rows[sub]
		t.tickets.rows[sub] = slices.DeleteFunc(slices.Clone(kept[sub]), leaves)
	}
	defer maps.Copy(t.tickets.rows, kept)
	return t.tickets.admit(w.request)
}

// replaces reports whether a ticket leaves the queue for the wish: it is of a member or of the room, or another session
// of a player made it alone, for the same profile.
func (t *waits) replaces(w *wish, r query.WaitingSessionsRow) bool {
	for i, m := range w.members {
		if m.Session == r.Session || r.Lobby == nil && r.Sub == w.subs[i] &&
			t.profileOf(r.RoomType) == t.profileOf(w.queue.RoomType) {
			return true
		}
	}
	return r.Lobby != nil && *r.Lobby == w.lobby
}

// position returns the position of a session that was counted.
func (t *waits) position(session string) int {
	for _, r := range t.places {
		if r.Session == session {
			return int(r.Position)
		}
	}
	return 0
}
