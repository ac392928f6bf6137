package watch

import (
	"context"
	"errors"
	"sync"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/base/wait"
)

// livesPerPoll is how often per pollEvery the lives of watched tickets are looked at, since one may expire sooner than
// a feed is read without a notification.
const livesPerPoll = 4

// Run reads the feeds of settled tickets and of ticket events until ctx ends, and tries again during an outage of the
// database. When ctx ends, all calls of Watch end as Unavailable. Errors: the hub was run before.
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
	extending.Go(func() { h.lives.extendLives(ctx, h.pollEvery/livesPerPoll, h.guard) })
	follow.Loop{
		Name: "assignments", Every: h.pollEvery, Pause: follow.AtLeast(minReadInterval),
		Wakes: follow.Wakes{settled, entered, h.followerAdded},
		Do:    func(ctx context.Context, _ bool) error { return h.readFeeds(ctx) }, Guard: h.guard,
		Report: h.outage.Report,
	}.Run(ctx)
	return nil
}

// readFeeds passes on what both feeds have had since the last reading, page by page.
func (h *Hub) readFeeds(ctx context.Context) error {
	for _, readPage := range []func(context.Context) (more bool, err error){h.readSettled, h.readEvents} {
		for more := true; more; {
			var err error
			if more, err = readPage(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// readEvents wakes the followers of the tickets of one page of events. While nobody follows, it reads nothing; the
// first reading after that learns where the feed ends and wakes all followers, which began before it.
func (h *Hub) readEvents(ctx context.Context) (more bool, err error) {
	if h.Following() == 0 {
		h.eventsPoint = db.FeedPoint{}
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	page, err := h.store.TicketEventsSince(ctx, h.region, h.eventsPoint)
	if err != nil {
		return false, err
	}
	// Events before this page may have been skipped, so any ticket may have changed.
	if h.eventsPoint.IsZero() || page.ServerChanged {
		h.wakeAllFollowers()
	}
	h.eventsPoint = page.NextPoint
	h.wakeFollowers(page.TicketIDs)
	return page.HasMore, nil
}

// readSettled passes on one page of settled tickets. While nobody watches or follows, it only moves to the feed's end.
func (h *Hub) readSettled(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	isFirst, isIdle := h.settledPoint.IsZero(), h.isIdle()
	since := h.settledPoint
	if isIdle {
		since = db.FeedPoint{} // asks for the end of the feed alone: nobody needs the tickets before it
	}
	page, err := h.store.SettledSince(ctx, h.region, since)
	if err != nil {
		return false, err
	}
	if isIdle && !isFirst && !h.isIdle() {
		// A watcher that joined meanwhile may have read its ticket before page.NextPoint: read again from settledPoint.
		return true, nil
	}
	h.settledPoint = page.NextPoint
	if isFirst {
		close(h.feedRead)
	}
	if page.ServerChanged {
		h.makeAllReadTickets()
	}
	h.deliverSettled(page.SettledTickets)
	return page.HasMore, nil
}

// isIdle reports whether nobody watches or follows a ticket.
func (h *Hub) isIdle() bool { return h.Watching()+h.Following() == 0 }

// makeAllReadTickets makes all watchers and followers read their tickets, because the feed may have skipped changes.
func (h *Hub) makeAllReadTickets() {
	h.wakeAllFollowers()
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, watchers := range h.watchersByTicket {
		for _, w := range watchers {
			// A change without an assignment makes the watcher read its ticket: see handleChange.
			w.notifyChange(db.Settled{TicketID: id})
		}
	}
}

// deliverSettled passes settled tickets to their watchers, and wakes their followers.
func (h *Hub) deliverSettled(settled []db.Settled) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range settled {
		for _, w := range h.watchersByTicket[s.TicketID] {
			w.notifyChange(s)
		}
		h.wakeFollowersLocked(s.TicketID)
	}
}

func (h *Hub) wakeAllFollowers() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range h.followersByTicket {
		h.wakeFollowersLocked(id)
	}
}

// wakeFollowers wakes the followers of tickets.
func (h *Hub) wakeFollowers(ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		h.wakeFollowersLocked(id)
	}
}

// wakeFollowersLocked wakes the followers of one ticket. mu is locked.
func (h *Hub) wakeFollowersLocked(id string) {
	for f := range h.followersByTicket[id] {
		wait.Wake(f.changed)
	}
}
