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

// lifeExtender is what a keepAlive needs of the database.
type lifeExtender interface {
	KeepAlive(ctx context.Context, region string, ids []string) error
}

// keepAlive extends the lives of the watched tickets that expire unless somebody watches them.
type keepAlive struct {
	store        lifeExtender
	region       string
	log          *slog.Logger
	watcherAdded chan struct{} // wakes extendLives: a watcher was added

	mu             sync.Mutex
	watchedTickets map[string]*watched
}

type watched struct {
	watcherCount int
	ttl          time.Duration
	dueAt        time.Time // of the next extension, by this replica's clock
}

func newKeepAlive(store lifeExtender, region string, log *slog.Logger) *keepAlive {
	return &keepAlive{store: store, region: region, log: log, watcherAdded: make(chan struct{}, 1),
		watchedTickets: map[string]*watched{}}
}

// addWatcher extends a ticket's life by ttl at once and then each third of ttl, until stop. All watchers of a ticket
// have the same ttl: it is the ticket's.
func (k *keepAlive) addWatcher(id string, ttl time.Duration) (stop func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.watchedTickets[id]
	if t == nil {
		t = &watched{ttl: ttl}
		k.watchedTickets[id] = t
	}
	t.watcherCount++
	wait.Wake(k.watcherAdded) // at once: the ticket may expire before the next look
	return func() { k.removeWatcher(id) }
}

func (k *keepAlive) removeWatcher(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.watchedTickets[id]
	t.watcherCount--
	if t.watcherCount == 0 {
		delete(k.watchedTickets, id)
	}
}

// dueTickets returns the tickets whose extension is due.
func (k *keepAlive) dueTickets(now time.Time) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var ids []string
	for id, t := range k.watchedTickets {
		if !t.dueAt.After(now) {
			ids = append(ids, id)
		}
	}
	return ids
}

// noteExtended notes that tickets were extended at now.
func (k *keepAlive) noteExtended(ids []string, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range ids {
		if t := k.watchedTickets[id]; t != nil {
			// A third, so that an extension that fails can be repeated before the ticket expires.
			t.dueAt = now.Add(t.ttl / 3)
		}
	}
}

// extendLives extends the lives of watched tickets until ctx ends. After a failure they stay due.
func (k *keepAlive) extendLives(ctx context.Context, every time.Duration, guard *panics.Guard) {
	follow.Loop{
		Name: "watched tickets", Every: every, Wakes: follow.Wakes{k.watcherAdded}, Guard: guard,
		Do: func(ctx context.Context, _ bool) error { k.extendDue(ctx, time.Now()); return nil },
	}.Run(ctx)
}

// extendDue extends all tickets that are due in one statement.
func (k *keepAlive) extendDue(ctx context.Context, now time.Time) {
	ids := k.dueTickets(now)
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := k.store.KeepAlive(ctx, k.region, ids); err != nil {
		k.log.LogAttrs(ctx, slog.LevelDebug, "the lives of watched tickets could not be extended; they stay due",
			slog.Int("tickets", len(ids)), slog.Any("error", err))
		return
	}
	// From before the call: the database has counted from a later moment, so that no extension is late.
	k.noteExtended(ids, now)
}
