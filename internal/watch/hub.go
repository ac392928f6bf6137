// Package watch tells those who wait for a ticket's assignment of it when it is there. Nobody asks the database whether
// it is: a replica that assigns or deletes tickets notifies the others (db.Store.Notify), each of them reads what was
// settled since it last did (db.Store.SettledSince), once for all who watch on it, and hands it to those it concerns.
// Thousands who wait cost nothing but memory. A notice that is lost costs two seconds.
//
// hub.go reads the feed and hands it out, watcher.go is one who watches, keep.go keeps tickets alive for as long as
// somebody does. What a feed and a ticket are is said in db; streams and their statuses are the face's.
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
	"github.com/lattice-director/director/internal/panics"
)

const (
	poll     = 2 * time.Second       // the feed is read so often without a notice
	pace     = 5 * time.Millisecond  // and no more often than this: many replicas may notify at once
	patience = 5 * time.Second       // with a database that does not answer
	recheck  = 50 * time.Millisecond // a ticket is looked at no more often than this
)

// Hub hands out what becomes of the tickets of a region. Make it with [New], and Run it once. Safe for concurrent use.
type Hub struct {
	store  *db.Store
	region string
	most   int // watchers
	log    *slog.Logger
	guard  *panics.Guard
	poll   time.Duration

	running atomic.Bool
	ready   chan struct{}   // closed when the feed has a beginning
	over    chan struct{}   // closed when Run has ended
	since   db.SettledPoint // where the feed goes on; zero before it has begun. Run's alone
	failing bool            // Run's alone
	kept    keeper

	mu       sync.Mutex
	watchers map[string][]*watcher
	count    int
}

// New makes a hub for the tickets of one region, with as many watchers at most. A log of nil is silent. guard recovers
// panics of the hub's goroutines: what they were at is tried again.
func New(store *db.Store, region string, most int, log *slog.Logger, guard *panics.Guard) *Hub {
	return &Hub{
		store: store, region: region, most: most, log: cmp.Or(log, slog.New(slog.DiscardHandler)), guard: guard, poll: poll,
		ready: make(chan struct{}), over: make(chan struct{}), kept: newKeeper(), watchers: map[string][]*watcher{},
	}
}

// Run reads the feed until ctx ends; all who watch are Unavailable then. Watchers outlast a database that is away.
// Errors: it was run before.
func (h *Hub) Run(ctx context.Context) error {
	if h.running.Swap(true) {
		return errors.New("watch: a hub runs once")
	}
	defer close(h.over)
	wake, stop := h.store.Subscribe(db.TopicTickets, h.region)
	defer stop()
	var keeping sync.WaitGroup
	defer keeping.Wait()
	keeping.Go(func() { h.keepAlive(ctx) })
	tick := time.NewTicker(h.poll)
	defer tick.Stop()
	for ctx.Err() == nil {
		h.report(ctx, h.guard.Do("assignments", func() error { return h.read(ctx) }))
		rest(ctx)
		select {
		case <-ctx.Done():
		case <-wake:
		case <-tick.C:
		}
	}
	return nil
}

func rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(pace):
	}
}

// read hands out what was settled since the last time, page by page.
func (h *Hub) read(ctx context.Context) error {
	for more := true; more; {
		var err error
		if more, err = h.readPage(ctx); err != nil {
			return err
		}
	}
	return nil
}

// readPage hands out a page of what was settled. While nobody watches it only moves on.
func (h *Hub) readPage(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	since, begins, idle := h.since, h.since.IsZero(), h.Watching() == 0
	if idle {
		since = db.SettledPoint{}
	}
	page, err := h.store.SettledSince(ctx, h.region, since)
	if err != nil {
		return false, err
	}
	if idle && !begins && h.Watching() > 0 {
		return true, nil // a watcher that came meanwhile may have looked at its ticket before this point: read from the last one
	}
	h.since = page.Next
	if begins {
		close(h.ready)
	}
	if page.Anew {
		h.haveAllLook()
	}
	h.handOut(page.Settled)
	return page.More, nil
}

// haveAllLook has each watcher look at its ticket, because the feed may have left something out.
func (h *Hub) haveAllLook() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, watchers := range h.watchers {
		for _, w := range watchers {
			w.tell(db.Settled{ID: id})
		}
	}
}

func (h *Hub) handOut(settled []db.Settled) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range settled {
		for _, w := range h.watchers[s.ID] {
			w.tell(s)
		}
	}
}

// report logs an outage once, and its end.
func (h *Hub) report(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil && !h.failing:
		h.log.LogAttrs(ctx, slog.LevelWarn, "assignments cannot be read, so nobody hears of them", slog.Any("error", err))
	case err == nil && h.failing:
		h.log.LogAttrs(ctx, slog.LevelInfo, "assignments can be read again")
	}
	h.failing = err != nil
}

// Watching counts the calls of Watch.
func (h *Hub) Watching() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count
}

func (h *Hub) join(w *watcher) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count >= h.most {
		return unavailable("too many watch tickets on this replica: call again, another one may have room")
	}
	h.watchers[w.id] = append(h.watchers[w.id], w)
	h.count++
	return nil
}

func (h *Hub) leave(w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count--
	left := slices.DeleteFunc(h.watchers[w.id], func(o *watcher) bool { return o == w })
	h.watchers[w.id] = left
	if len(left) == 0 {
		delete(h.watchers, w.id)
	}
}

// begun waits until the feed has a beginning: what is settled before it, a look at the ticket tells.
func (h *Hub) begun(ctx context.Context) error {
	select {
	case <-h.ready:
	case <-h.over:
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(patience):
		return unavailable("the database cannot be reached")
	}
	return h.ended()
}

// ended is Unavailable once nobody reads the feed any more.
func (h *Hub) ended() error {
	select {
	case <-h.over:
		return unavailable("this replica is shutting down")
	default:
		return nil
	}
}

func unavailable(detail string) error {
	return &db.Error{Kind: db.Unavailable, Code: "unavailable", Detail: detail, RetryAfter: time.Second}
}
