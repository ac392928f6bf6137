package watch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/base/wait"
)

// lifeStore is what a lifeExtender needs of the database.
type lifeStore interface {
	KeepAlive(ctx context.Context, region string, ids []string) error
}

// lifeExtender extends the lives of the watched tickets that expire unless somebody watches them.
type lifeExtender struct {
	store        lifeStore
	region       string
	log          *slog.Logger
	watcherAdded chan struct{} // wakes extendLives

	mu             sync.Mutex                // guards watchedTickets
	watchedTickets map[string]*watchedTicket // by id
}

type watchedTicket struct {
	watcherCount int
	ttl          time.Duration // by which an extension lengthens the ticket's life
	dueAt        time.Time     // of the next extension, by this replica's clock; zero: at once
}

func newLifeExtender(store lifeStore, region string, log *slog.Logger) *lifeExtender {
	return &lifeExtender{store: store, region: region, log: log, watcherAdded: make(chan struct{}, 1),
		watchedTickets: map[string]*watchedTicket{}}
}

// keepAlive extends a ticket's life by ttl at once and then each third of ttl, until stop is called. All watchers of a
// ticket give the same ttl: it is the ticket's.
func (e *lifeExtender) keepAlive(id string, ttl time.Duration) (stop func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.watchedTickets[id]
	if t == nil {
		t = &watchedTicket{ttl: ttl}
		e.watchedTickets[id] = t
	}
	t.watcherCount++
	wait.Wake(e.watcherAdded) // the ticket may expire before extendLives would look again
	return func() { e.removeWatcher(id) }
}

func (e *lifeExtender) removeWatcher(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.watchedTickets[id]
	t.watcherCount--
	if t.watcherCount == 0 {
		delete(e.watchedTickets, id)
	}
}

// dueTickets returns the tickets whose extension is due.
func (e *lifeExtender) dueTickets(now time.Time) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var ids []string
	for id, t := range e.watchedTickets {
		if !t.dueAt.After(now) {
			ids = append(ids, id)
		}
	}
	return ids
}

// postpone makes the next extension of tickets due a third of their ttl after they were extended.
func (e *lifeExtender) postpone(ids []string, extendedAt time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range ids {
		if t := e.watchedTickets[id]; t != nil {
			// A third, so that an extension that fails can be repeated before the ticket expires.
			t.dueAt = extendedAt.Add(t.ttl / 3)
		}
	}
}

// extendLives extends the lives of watched tickets until ctx ends.
func (e *lifeExtender) extendLives(ctx context.Context, every time.Duration, guard *panics.Guard) {
	follow.Loop{
		Name: "watched tickets", Every: every, Wakes: follow.Wakes{e.watcherAdded}, Guard: guard,
		Do: func(ctx context.Context, _ bool) error { e.extendDue(ctx, time.Now()); return nil },
	}.Run(ctx)
}

// extendDue extends all tickets that are due in one statement. After a failure they stay due.
func (e *lifeExtender) extendDue(ctx context.Context, now time.Time) {
	ids := e.dueTickets(now)
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := e.store.KeepAlive(ctx, e.region, ids); err != nil {
		// Debug: during an outage the hub logs that it cannot read.
		e.log.LogAttrs(ctx, slog.LevelDebug, "the lives of watched tickets could not be extended; they stay due",
			slog.Int("tickets", len(ids)), slog.Any("error", err))
		return
	}
	// From before the call: the database has counted from a later moment, so that no extension is late.
	e.postpone(ids, now)
}
