package loop

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/wait"
)

const (
	// gatherFor is how long the historian waits for more to write in one transaction.
	gatherFor = time.Second
	// lastWrite bounds what the historian writes when the worker stops.
	lastWrite = time.Second
	// unwrittenTickets bounds what is not written yet: of matched tickets and of sightings, the oldest beyond it are dropped.
	unwrittenTickets = 20_000
)

// historian writes what only replays and explanations read, after the fact, so that no player waits for it: the history of tickets that
// this worker has matched, and when it saw others come and leave. What it has not written is lost when the process is killed. Safe for
// concurrent use.
type historian struct {
	store    Store
	universe string
	log      *slog.Logger
	lost     prometheus.Counter

	wake      chan struct{}
	mu        sync.Mutex
	unwritten records
}

// records are what the historian writes.
type records struct {
	matched   []db.LeftTicket
	sightings []db.Sighting
}

func newHistorian(o Options, lost prometheus.Counter) *historian {
	return &historian{store: o.Store, universe: o.Universe, log: o.Log, lost: lost, wake: make(chan struct{}, 1)}
}

// start writes in a goroutine until the returned function is called, which writes what is left.
func (h *historian) start(ctx context.Context) (end func()) {
	writing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	gathering, stop := context.WithCancel(writing)
	var running sync.WaitGroup
	running.Go(func() { h.run(gathering, writing) })
	return func() {
		defer cancel()
		defer time.AfterFunc(lastWrite, cancel).Stop()
		stop()
		running.Wait()
	}
}

// run writes what was gathered, and the rest when gathering ends.
func (h *historian) run(gathering, writing context.Context) {
	for gathering.Err() == nil {
		select {
		case <-gathering.Done():
		case <-h.wake:
			wait.For(gathering, gatherFor)
		}
		h.writeAll(writing)
	}
}

// writeAll writes what is queued, until it succeeds or ctx ends.
func (h *historian) writeAll(ctx context.Context) {
	for !h.write(ctx) && ctx.Err() == nil {
		wait.For(ctx, retryPause)
	}
}

// keep queues the history of tickets that were matched.
func (h *historian) keep(matched []db.LeftTicket) { h.queue(records{matched: matched}) }

// sight queues sightings of tickets.
func (h *historian) sight(sightings ...db.Sighting) { h.queue(records{sightings: sightings}) }

func (h *historian) queue(more records) {
	if len(more.matched)+len(more.sightings) == 0 {
		return
	}
	h.mu.Lock()
	h.setUnwritten(h.unwritten.with(more))
	h.mu.Unlock()
	wait.Wake(h.wake)
}

// with returns the records with others behind them.
func (r records) with(more records) records {
	return records{append(r.matched, more.matched...), append(r.sightings, more.sightings...)}
}

// write writes what is queued, and reports whether it did. What it could not write is queued again.
func (h *historian) write(ctx context.Context) bool {
	h.mu.Lock()
	taken := h.unwritten
	h.unwritten = records{}
	h.mu.Unlock()
	err := h.writeMatched(ctx, taken.matched)
	if err == nil {
		taken.matched = nil
		err = h.writeSightings(ctx, taken.sightings)
	}
	if err == nil {
		return true
	}
	h.log.LogAttrs(ctx, slog.LevelWarn, "the history of tickets cannot be written", slog.Int("matched", len(taken.matched)),
		slog.Int("sightings", len(taken.sightings)), slog.Any("error", err))
	h.mu.Lock()
	h.setUnwritten(taken.with(h.unwritten))
	h.mu.Unlock()
	return false
}

func (h *historian) writeMatched(ctx context.Context, matched []db.LeftTicket) error {
	if len(matched) == 0 {
		return nil
	}
	refused, err := h.store.KeepTickets(ctx, h.universe, matched)
	if refused > 0 {
		h.lost.Add(float64(refused))
		h.log.LogAttrs(ctx, slog.LevelError, "the database refuses the history of tickets", slog.Int("tickets", refused))
	}
	return err
}

func (h *historian) writeSightings(ctx context.Context, sightings []db.Sighting) error {
	if len(sightings) == 0 {
		return nil
	}
	return h.store.RecordSightings(ctx, h.universe, sightings)
}

// setUnwritten drops the oldest of too many. The caller holds mu.
func (h *historian) setUnwritten(r records) {
	if over := len(r.matched) - unwrittenTickets; over > 0 {
		h.lost.Add(float64(over))
		r.matched = r.matched[over:]
	}
	if over := len(r.sightings) - unwrittenTickets; over > 0 {
		h.lost.Add(float64(over))
		r.sightings = r.sightings[over:]
	}
	h.unwritten = r
}
