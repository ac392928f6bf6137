package watch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/lattice-director/director/internal/base/follow"
)

// keepAlive holds the watched tickets that expire unless somebody watches them.
type keepAlive struct {
	added chan struct{} // wakes extendLives: a watcher was added

	mu      sync.Mutex
	tickets map[string]*watched
}

type watched struct {
	watchers int
	ttl      time.Duration
	dueAt    time.Time // of the next extension, by this replica's clock
}

func newKeepAlive() keepAlive {
	return keepAlive{added: make(chan struct{}, 1), tickets: map[string]*watched{}}
}

// add extends a ticket's life by ttl at once and then each third of ttl, until stop.
func (k *keepAlive) add(id string, ttl time.Duration) (stop func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.tickets[id]
	if t == nil {
		t = &watched{ttl: ttl}
		k.tickets[id] = t
	}
	t.watchers++
	select {
	case k.added <- struct{}{}:
	default:
	}
	return func() { k.remove(id) }
}

func (k *keepAlive) remove(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.tickets[id]
	if t.watchers--; t.watchers == 0 {
		delete(k.tickets, id)
	}
}

// dueTickets returns the tickets whose extension is due.
func (k *keepAlive) dueTickets(now time.Time) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var ids []string
	for id, t := range k.tickets {
		if !t.dueAt.After(now) {
			ids = append(ids, id)
		}
	}
	return ids
}

// extended notes that tickets were extended at now.
func (k *keepAlive) extended(ids []string, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range ids {
		if t := k.tickets[id]; t != nil {
			// A third, so that an extension that fails can be repeated before the ticket expires.
			t.dueAt = now.Add(t.ttl / 3)
		}
	}
}

// extendLives extends the lives of watched tickets until ctx ends. After a failure they stay due.
func (h *Hub) extendLives(ctx context.Context) {
	follow.Loop{
		Name: "watched tickets", Every: h.poll / 4, Wakes: follow.Wakes{h.keepAlive.added}, Guard: h.guard,
		Do: func(ctx context.Context, _ bool) error { h.extendDue(ctx, time.Now()); return nil },
	}.Run(ctx)
}

// extendDue extends all tickets that are due in one statement.
func (h *Hub) extendDue(ctx context.Context, now time.Time) {
	ids := h.keepAlive.dueTickets(now)
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := h.store.KeepAlive(ctx, h.region, ids); err != nil {
		h.log.LogAttrs(ctx, slog.LevelDebug, "the lives of watched tickets could not be extended; they stay due",
			slog.Int("tickets", len(ids)), slog.Any("error", err))
		return
	}
	h.keepAlive.extended(ids, now)
}
