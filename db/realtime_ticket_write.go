package db

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/lobby"
)

// addWaitingSession adds the row of a member of a wish.
func addWaitingSession(p *query.AddWaitingParams, w *wish, i int, m lobby.Member, ticket string) {
	p.Sessions, p.Tickets, p.Places = append(p.Sessions, m.Session), append(p.Tickets, ticket), append(p.Places,
		int32(i+1))
	p.Projects, p.Players, p.Subs = append(p.Projects, w.project), append(p.Players,
		cmp.Or(m.Player, m.Session)), append(p.Subs, w.subs[i])
	p.RoomTypes, p.Sizes = append(p.RoomTypes, w.queue.RoomType), append(p.Sizes, int32(w.queue.Size))
	p.Lobbies = append(p.Lobbies, w.lobby)
}

// write takes the tickets that leave out of the queue, and defers the rest to the commit.
func (t *waits) write(ctx context.Context) error {
	for _, l := range t.tickets.leave {
		t.leaves[ticketRef{t.tickets.region, l.id}] = l
	}
	t.tickets.leave = nil
	if err := t.takeOut(ctx); err != nil {
		return err
	}
	if err := t.tickets.write(ctx); err != nil {
		return err
	}
	out := t.q.Deferred()
	if len(t.add.Sessions) > 0 {
		query.QueueExec(out, (*query.Queries).AddWaiting, t.add)
	}
	if len(t.placedSessions) > 0 {
		query.Queue(out, &t.places, (*query.Queries).WaitingPositions,
			query.WaitingPositionsParams{Region: t.region, Most: maxPosition, Sessions: t.placedSessions})
	}
	return nil
}

// takeOut takes the tickets that leave out of the queue, with the rows of all their sessions.
func (t *waits) takeOut(ctx context.Context) error {
	byUniverse := map[string][]leaving{}
	for ref, l := range t.leaves {
		byUniverse[ref.universe] = append(byUniverse[ref.universe], l)
	}
	for _, universe := range slices.Sorted(maps.Keys(byUniverse)) {
		if err := t.takeOutOf(ctx, universe, byUniverse[universe]); err != nil {
			return err
		}
	}
	return nil
}

// takeOutOf takes tickets out of the queue of a universe. Where another transaction matched one of them meanwhile, it
// fails as a conflict, so that the transaction is decided again.
func (t *waits) takeOutOf(ctx context.Context, universe string, leaves []leaving) error {
	slices.SortFunc(leaves, func(a, b leaving) int { return cmp.Compare(a.id, b.id) })
	rows, err := t.Store.takeOut(ctx, t.q, universe, leaves)
	if err != nil {
		return err
	}
	left := map[string]bool{}
	for _, r := range rows {
		left[r.ID] = true
	}
	forget := query.ForgetWaitingParams{TicketRegion: universe, Told: append([]uuid.UUID{}, t.roomsTold...),
		Silent: append([]string{}, t.quietSessions...)}
	for _, l := range leaves {
		if !left[l.id] && t.queued(ticketRef{universe, l.id}) {
			return frame.ErrRolledBack
		}
		forget.Tickets, forget.Reasons = append(forget.Tickets, l.id), append(forget.Reasons, l.reason)
	}
	query.QueueExec(t.q.Deferred(), (*query.Queries).ForgetWaiting, forget)
	return nil
}

// expired returns the sessions whose tickets leave without their doing.
func (t *waits) expired() (sessions []string) {
	for _, r := range t.waiting {
		if _, left := t.leaves[ticketRefOf(r)]; left && !slices.Contains(t.quietSessions, r.Session) {
			sessions = append(sessions, r.Session)
		}
	}
	return sessions
}

// queued reports whether a ticket of a session was in the queue when it was read.
func (t *waits) queued(ref ticketRef) bool {
	return slices.ContainsFunc(t.waiting,
		func(r query.WaitingSessionsRow) bool { return ticketRefOf(r) == ref && r.Queued })
}
