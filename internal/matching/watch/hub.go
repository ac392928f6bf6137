// Package watch pushes assignments to the callers of WatchAssignments, and wakes players that wait for a change of
// their tickets. No caller polls the database: a replica or worker that changes tickets notifies the others
// (db.Store.Notify). Each replica then reads the tickets that were settled, and those that entered another state, since
// its last reading (db.Store.SettledSince and TicketEventsSince), once for all its watchers, and passes each to the
// watchers of that ticket. An idle watcher costs memory only. A replica reads every two seconds without a notification
// too, so a lost one delays a change by that time at most.
//
// hub.go has the calls of a replica, by ticket; feed.go reads what they wait for. watcher.go is one call of Watch,
// follower.go wakes a caller that follows a ticket, lives.go extends the lives of tickets that are watched. db defines
// the feeds and tickets; the protocol's streams and statuses are in server/openmatch.
package watch

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/base/wait"
)

const (
	pollInterval    = 2 * time.Second      // between two readings of the feeds without a notification
	minReadInterval = 5 * time.Millisecond // between two readings: many replicas may notify at once
)

// Store is what a hub needs of the database; [db.Store] implements it.
type Store interface {
	Subscribe(topic, region string) (wake <-chan struct{}, stop func())
	SettledSince(ctx context.Context, region string, since db.FeedPoint) (db.SettledPage, error)
	TicketEventsSince(ctx context.Context, region string, since db.FeedPoint) (db.TicketEventsPage, error)
	ticketReader
	lifeStore
}

// Hub passes the assignments and deletions of a region's tickets to their watchers. Make it with [New], and Run it
// once. Safe for concurrent use.
type Hub struct {
	store       Store
	region      string
	maxWatchers int // bounds the watchers, and apart from them the followers
	log         *slog.Logger
	outage      *outage.Call
	guard       *panics.Guard
	pollEvery   time.Duration

	hasRun        atomic.Bool   // Run was called
	feedRead      chan struct{} // closed after the first reading of the feed of settled tickets
	stopped       chan struct{} // closed when Run has ended
	followerAdded chan struct{} // wakes Run when the first follower is added
	lives         *lifeExtender // of watched tickets
	settledPoint  db.FeedPoint  // where the next reading begins; zero before the first. Only Run's goroutine uses it
	eventsPoint   db.FeedPoint  // as settledPoint, of the feed of events; zero while nobody follows

	mu                sync.Mutex // guards the fields below
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
		feedRead: make(chan struct{}), stopped: make(chan struct{}), followerAdded: make(chan struct{}, 1),
		lives:            newLifeExtender(store, region, log),
		watchersByTicket: map[string][]*watcher{}, followersByTicket: map[string]map[*Follower]struct{}{},
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

// awaitFeed waits for the first reading of the feed of settled tickets. A watcher that is added after that reading and
// then reads its ticket misses no change. Errors: Unavailable; that of ctx.
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
	return h.errorIfStopped()
}

// errorIfStopped returns Unavailable once Run has ended, nil before.
func (h *Hub) errorIfStopped() error {
	select {
	case <-h.stopped:
		return stoppedError()
	default:
		return nil
	}
}

// Watch calls send with a ticket's assignment, at once if the ticket is assigned, and again with each new assignment
// until the ticket is gone. Of assignments that follow faster than send returns, only the last is sent. An assignment
// that is repeated unchanged is not sent again, but extends the ticket's life by another Timing.AssignedFor.
//
// Watch always ends with an error: NotFound when the ticket is gone or never was; the error of send or ctx; Unavailable
// when the hub stops, when too many calls watch, or when the ticket cannot be read at the beginning. send must not
// change assignment.
func (h *Hub) Watch(ctx context.Context, id string, send func(assignment []byte) error) error {
	if err := h.awaitFeed(ctx); err != nil {
		return err
	}
	w := &watcher{store: h.store, region: h.region, id: id, hubStopped: h.stopped, sendAssignment: send,
		latestChange: make(chan db.Settled, 1)}
	// Added before the ticket is read: the feed delivers the changes that this reading does not see.
	if err := h.addWatcher(w); err != nil {
		return err
	}
	defer h.removeWatcher(w)
	t, err := w.readTicket(ctx)
	if err != nil {
		return err
	}
	if t.KeptAlive > 0 {
		defer h.lives.keepAlive(id, t.KeptAlive)()
	}
	if err := w.sendAssignmentOf(t); err != nil {
		return err
	}
	return w.followTicket(ctx)
}

// Follow begins to follow a ticket, which need not exist. A change that is committed after Follow has returned is
// signalled. Errors: Unavailable when there are too many followers, or the hub has stopped.
func (h *Hub) Follow(id string) (*Follower, error) {
	if err := h.errorIfStopped(); err != nil {
		return nil, err
	}
	f := &Follower{id: id, changed: make(chan struct{}, 1), hubStopped: h.stopped, lives: h.lives}
	f.forget = func() { h.removeFollower(f) }
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.followerCount >= h.maxWatchers {
		return nil, unavailableError("too many calls wait for tickets on this replica: retry, another replica may " +
			"have room")
	}
	if h.followersByTicket[id] == nil {
		h.followersByTicket[id] = map[*Follower]struct{}{}
	}
	h.followersByTicket[id][f] = struct{}{}
	h.followerCount++
	if h.followerCount == 1 {
		wait.Wake(h.followerAdded) // the events were not read while nobody followed: see readEvents
	}
	return f, nil
}

func (h *Hub) removeFollower(f *Follower) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.followersByTicket[f.id], f)
	if len(h.followersByTicket[f.id]) == 0 {
		delete(h.followersByTicket, f.id)
	}
	h.followerCount--
}

// Following returns the number of followers.
func (h *Hub) Following() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.followerCount
}
