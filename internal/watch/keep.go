package watch

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// keeper holds the tickets that leave by themselves unless somebody watches them.
type keeper struct {
	came chan struct{} // somebody did who was not asked for yet

	mu      sync.Mutex
	tickets map[string]*kept
}

type kept struct {
	watchers int
	ttl      time.Duration
	due      time.Time // by this replica's clock
}

func newKeeper() keeper { return keeper{came: make(chan struct{}, 1), tickets: map[string]*kept{}} }

// keep keeps a ticket alive until stop: by another ttl at once, and each third of it.
func (h *Hub) keep(id string, ttl time.Duration) (stop func()) {
	k := &h.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.tickets[id]
	if t == nil {
		t = &kept{ttl: ttl}
		k.tickets[id] = t
	}
	t.watchers++
	select {
	case k.came <- struct{}{}:
	default:
	}
	return func() { k.leave(id) }
}

func (k *keeper) leave(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.tickets[id]
	if t.watchers--; t.watchers == 0 {
		delete(k.tickets, id)
	}
}

// keepAlive has one statement for all whose third is over.
func (h *Hub) keepAlive(ctx context.Context) {
	tick := time.NewTicker(h.poll / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.kept.came:
		case <-tick.C:
		}
		_ = h.guard.Do("watched tickets", func() error { h.keepDue(ctx, time.Now()); return nil }) // what is due stays due
	}
}

func (h *Hub) keepDue(ctx context.Context, now time.Time) {
	ids := h.kept.due(now)
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := h.store.KeepAlive(ctx, h.region, ids); err != nil {
		h.log.LogAttrs(ctx, slog.LevelDebug, "tickets that are watched may expire", slog.Int("tickets", len(ids)), slog.Any("error", err))
		return
	}
	h.kept.done(ids, now)
}

func (k *keeper) due(now time.Time) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var ids []string
	for id, t := range k.tickets {
		if !t.due.After(now) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (k *keeper) done(ids []string, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range ids {
		if t := k.tickets[id]; t != nil {
			t.due = now.Add(t.ttl / 3)
		}
	}
}
