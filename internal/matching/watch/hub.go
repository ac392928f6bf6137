// Package watch pushes assignments to the callers of WatchAssignments, and wakes players that wait for a change of
// their tickets. Nobody polls the database: a replica or worker that changes tickets notifies the others
// (db.Store.Notify). Each replica then reads the tickets that were settled, and those that entered another state, since
// its last reading (db.Store.SettledSince and TicketEventsSince), once for all its watchers, and passes each to the
// watchers of that ticket. An idle watcher costs memory only. A lost notification delays a change by two seconds at
// most.
//
// hub.go reads the feeds, watcher.go is one call of Watch, follower.go wakes those that follow a ticket, keepalive.go
// extends the lives of tickets that are watched. db defines the feed and tickets; the protocol's streams and statuses
// are in server/openmatch.
package watch

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/internal/base/panics"
)

const (
	pollInterval    = 2 * time.Second       // between two readings of the feed without a notification
	minReadInterval = 5 * time.Millisecond  // between two readings: many replicas may notify at once
	readTimeout     = 5 * time.Second       // of one reading
	minLookInterval = 50 * time.Millisecond // between two readings of one ticket by its watcher
)

// Store is what a hub needs of the database; [db.Store] implements it.
type Store interface {
	Subscribe(topic, region string) (wake <-chan struct{}, stop func())
	SettledSince(ctx context.Context, region string, since db.SettledPoint) (db.SettledPage, error)
	TicketEventsSince(ctx context.Context, region string, since db.SettledPoint) (db.TicketEventsPage, error)
	GetTicket(ctx context.Context, region, id string) (db.Ticket, error)
	KeepAlive(ctx context.Context, region string, ids []string) error
	Timing() db.Timing
	Now() time.Time
}

// Hub passes the assignments and deletions of a region's tickets to their watchers. Make it with [New], and Run it
// once. Safe for concurrent use.
type Hub struct {
	store       Store
	region      string
	maxWatchers int // of watchers, and of followers
	log         *slog.Logger
	outage      *outage.Call
	guard       *panics.Guard
	pollEvery   time.Duration

	hasRun        atomic.Bool
	feedRead      chan struct{}   // closed after the first reading of the feed
	stopped       chan struct{}   // closed when Run has ended
	settledPoint  db.SettledPoint // where the next reading begins; zero before the first. Only Run's goroutine uses it
	eventsPoint   db.SettledPoint // as since, of the feed of events; zero while nobody follows
	followerAdded chan struct{}   // wakes Run: somebody follows a ticket
	keepAlive     keepAlive

	mu                sync.Mutex
	watchersByTicket  map[string][]*watcher
	watcherCount      int
	followersByTicket map[string]map[*Follower]struct{}
	followerCount     int
}

// New makes a hub for the tickets of one region with at most limit watchers and as many followers. A nil log is silent.
// guard recovers panics of the hub's goroutines, which then try again.
func New(store Store, region string, limit int, log *slog.Logger, guard *panics.Guard) *Hub {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	return &Hub{
		store: store, region: region, maxWatchers: limit, log: log, guard: guard, pollEvery: pollInterval,
		outage: outage.NewCall(log, "assignments cannot be read: watchers wait until the database is back",
			"assignments can be read again"),
		feedRead: make(chan struct{}), stopped: make(chan struct{}), keepAlive: newKeepAlive(),
		watchersByTicket: map[string][]*watcher{},
		followerAdded:    make(chan struct{}, 1), followersByTicket: map[string]map[*Follower]struct{}{},
	}
}

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
	extending.Go(func() { h.extendLives(ctx) })
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
		// a watcher that joined meanwhile may have read its ticket before page.Next: read again from h.settledPoint
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

// Watching returns the number of running calls of Watch.
func (h *Hub) Watching() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.watcherCount
}

func (h *Hub) addWatcher(w *watcher) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watcherCount >= h.maxWatchers {
		return unavailableError("too many calls watch tickets on this replica: retry, another replica may have room")
	}
	h.watchersByTicket[w.id] = append(h.watchersByTicket[w.id], w)
	h.watcherCount++
	return nil
}

func (h *Hub) removeWatcher(w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watcherCount--
	others := slices.DeleteFunc(h.watchersByTicket[w.id], func(o *watcher) bool { return o == w })
	h.watchersByTicket[w.id] = others
	if len(others) == 0 {
		delete(h.watchersByTicket, w.id)
	}
}

// awaitFeed waits for the first reading of the feed. A watcher that joins after it and then reads its ticket misses
// nothing.
func (h *Hub) awaitFeed(ctx context.Context) error {
	select {
	case <-h.feedRead:
	case <-h.stopped:
	case <-ctx.Done():
		return ctx.Err()
	// The first reading did not succeed in the time of one call: a caller that retries may reach a replica that can.
	case <-time.After(readTimeout):
		return unavailableError("the database cannot be reached")
	}
	return h.stoppedError()
}

// stoppedError is Unavailable once Run has ended, nil before.
func (h *Hub) stoppedError() error {
	select {
	case <-h.stopped:
		return unavailableError("this replica is shutting down")
	default:
		return nil
	}
}

func unavailableError(detail string) error {
	return &fault.Error{Kind: fault.Unavailable, Code: "unavailable", Detail: detail, RetryAfter: time.Second}
}
