package watch

import (
	"context"
	"errors"
	"sync"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/base/wait"
)

// Run reads the feed until ctx ends; all calls of Watch then end as Unavailable. They outlast a database outage.
// Errors: the hub was run before.
func (h *Hub) Run(ctx context.Context) error {
	if h.hasRun.Swap(true) {
		return errors.New("watch: a hub runs once")
	}
	defer close(h.stopped)
	settled, stop := h.store.Subscribe(db.TopicTickets, h.region)
	defer stop()
	entered, stop := h.store.Subscribe(db.TopicTicketEvents, h.region)
	defer stop()
	var extending sync.WaitGroup
	defer extending.Wait()
	extending.Go(func() { h.keepAlive.extendLives(ctx, h.pollEvery/4, h.guard) })
	follow.Loop{
		Name: "assignments", Every: h.pollEvery, Pause: follow.AtLeast(minReadInterval),
		Wakes: follow.Wakes{settled, entered, h.followerAdded},
		Do:    func(ctx context.Context, _ bool) error { return h.readFeeds(ctx) }, Guard: h.guard,
		Report: h.outage.Report,
	}.Run(ctx)
	return nil
}

// readFeeds passes on what has changed since the last reading, page by page.
func (h *Hub) readFeeds(ctx context.Context) error {
	for _, page := range []func(context.Context) (more bool, err error){h.readPage, h.readEvents} {
		for more := true; more; {
			var err error
			if more, err = page(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// readEvents wakes the followers of the tickets of one page. While nobody follows, it reads nothing; the first reading
// after that learns where the feed ends and wakes all followers, which began before it.
func (h *Hub) readEvents(ctx context.Context) (more bool, err error) {
	if h.Following() == 0 {
		h.eventsPoint = db.SettledPoint{}
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	page, err := h.store.TicketEventsSince(ctx, h.region, h.eventsPoint)
	if err != nil {
		return false, err
	}
	// What happened before this page is not known.
	if h.eventsPoint.IsZero() || page.ServerChanged {
		h.wakeAll()
	}
	h.eventsPoint = page.NextPoint
	h.wakeFollowers(page.TicketIDs)
	return page.HasMore, nil
}

// readPage passes on one page. Without watchers it only moves to the feed's end.
func (h *Hub) readPage(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	// A zero point asks for the end of the feed alone: while nobody watches, what happened meanwhile is not read.
	since, first, idle := h.settledPoint, h.settledPoint.IsZero(), h.Watching()+h.Following() == 0
	if idle {
		since = db.SettledPoint{}
	}
	page, err := h.store.SettledSince(ctx, h.region, since)
	if err != nil {
		return false, err
	}
	if idle && !first && h.Watching()+h.Following() > 0 {
		// A watcher that joined meanwhile may have read its ticket before page.NextPoint: read again from settledPoint.
		return true, nil
	}
	h.settledPoint = page.NextPoint
	if first {
		close(h.feedRead)
	}
	if page.ServerChanged {
		h.invalidateAll()
	}
	h.deliverSettled(page.SettledTickets)
	return page.HasMore, nil
}

// invalidateAll makes each watcher read its ticket, because the feed may have skipped changes.
func (h *Hub) invalidateAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, watchers := range h.watchersByTicket {
		for _, w := range watchers {
			// Not assigned, as it seems: the watcher then reads the ticket.
			w.notifyChange(db.Settled{TicketID: id})
		}
	}
	for id := range h.followersByTicket {
		h.wakeLocked(id)
	}
}

func (h *Hub) deliverSettled(settled []db.Settled) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range settled {
		for _, w := range h.watchersByTicket[s.TicketID] {
			w.notifyChange(s)
		}
		h.wakeLocked(s.TicketID)
	}
}

// wakeAll wakes all followers.
func (h *Hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range h.followersByTicket {
		h.wakeLocked(id)
	}
}

// wakeFollowers wakes the followers of tickets.
func (h *Hub) wakeFollowers(ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		h.wakeLocked(id)
	}
}

func (h *Hub) wakeLocked(id string) {
	for f := range h.followersByTicket[id] {
		wait.Wake(f.changed)
	}
}
