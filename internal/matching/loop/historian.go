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
	// unwrittenTickets bounds what is not written yet: of matched tickets and of sightings, the oldest beyond it are
	// dropped.
	unwrittenTickets = 20_000
)

// historian writes what only replays and explanations read, after the fact, so that no player waits for it: the history
// of tickets that this worker has matched, and when it saw others come and leave. What it has not written is lost when
// the process is killed. Safe for concurrent use.
type historian struct {
	store       Store
	universe    string
	log         *slog.Logger
	lostRecords prometheus.Counter

	newRecords chan struct{} // wakes the goroutine that writes

	mu        sync.Mutex
	unwritten records // guarded by mu
}

// records are what the historian writes.
type records struct {
	leftTickets []db.LeftTicket
	sightings   []db.Sighting
}

func newHistorian(o Options, lost prometheus.Counter) *historian {
	return &historian{store: o.Store, universe: o.Universe, log: o.Log, lostRecords: lost,
		newRecords: make(chan struct{}, 1)}
}

// startWriting writes in a goroutine until the returned function is called, which writes what is left.
func (h *historian) startWriting(ctx context.Context) (end func()) {
	writing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	gathering, stop := context.WithCancel(writing)
	var running sync.WaitGroup
	running.Go(func() { h.writeGathered(gathering, writing) })
	return func() {
		defer cancel()
		// What only replays read delays the end of a worker by a second at most.
		timer := time.AfterFunc(lastWrite, cancel)
		defer timer.Stop()
		stop()
		running.Wait()
	}
}

// writeGathered writes the records of each second together, and the rest when gathering ends. writing bounds the calls
// of the database.
func (h *historian) writeGathered(gathering, writing context.Context) {
	for {
		select {
		// Records may have come since the last write began.
		case <-gathering.Done():
			h.writeAll(writing)
			return
		case <-h.newRecords:
			wait.For(gathering, gatherFor)
			h.writeAll(writing)
		}
	}
}

// writeAll tries to write what is queued until it succeeds or ctx ends.
func (h *historian) writeAll(ctx context.Context) {
	for !h.writeQueued(ctx) && ctx.Err() == nil {
		wait.For(ctx, retryPause)
	}
}

// keepMatched queues the history of tickets that were matched.
func (h *historian) keepMatched(matched []db.LeftTicket) {
	h.queueRecords(records{leftTickets: matched})
}

// keepSightings queues sightings of tickets.
func (h *historian) keepSightings(sightings ...db.Sighting) {
	h.queueRecords(records{sightings: sightings})
}

func (h *historian) queueRecords(more records) {
	if len(more.leftTickets)+len(more.sightings) == 0 {
		return
	}
	h.mu.Lock()
	h.setUnwritten(h.unwritten.appended(more))
	h.mu.Unlock()
	wait.Wake(h.newRecords)
}

// appended returns the records with others behind them.
func (r records) appended(more records) records {
	return records{append(r.leftTickets, more.leftTickets...), append(r.sightings, more.sightings...)}
}

// writeQueued writes what is queued, and reports whether all is written. What it could not write is queued again.
func (h *historian) writeQueued(ctx context.Context) (isWritten bool) {
	h.mu.Lock()
	taken := h.unwritten
	h.unwritten = records{}
	h.mu.Unlock()
	// Tickets first: a history that is lost cannot be replayed, while one without sightings can.
	err := h.writeMatched(ctx, taken.leftTickets)
	if err == nil {
		taken.leftTickets = nil
		err = h.writeSightings(ctx, taken.sightings)
	}
	if err == nil {
		return true
	}
	h.log.LogAttrs(ctx, slog.LevelWarn, "the history of tickets cannot be written",
		slog.Int("matched", len(taken.leftTickets)),
		slog.Int("sightings", len(taken.sightings)), slog.Any("error", err))
	h.mu.Lock()
	// In front of what came meanwhile, so that the oldest are dropped first if there is too much.
	h.setUnwritten(taken.appended(h.unwritten))
	h.mu.Unlock()
	return false
}

func (h *historian) writeMatched(ctx context.Context, matched []db.LeftTicket) error {
	if len(matched) == 0 {
		return nil
	}
	refused, err := h.store.KeepTickets(ctx, h.universe, matched)
	// Histories that were refused are not tried again: the database would refuse the same data again.
	if refused > 0 {
		h.lostRecords.Add(float64(refused))
		h.log.LogAttrs(ctx, slog.LevelError, "the database refuses the history of tickets",
			slog.Int("tickets", refused))
	}
	return err
}

func (h *historian) writeSightings(ctx context.Context, sightings []db.Sighting) error {
	if len(sightings) == 0 {
		return nil
	}
	return h.store.RecordSightings(ctx, h.universe, sightings)
}

// setUnwritten replaces the records that are not written, without the oldest of too many. mu is locked.
func (h *historian) setUnwritten(r records) {
	if over := len(r.leftTickets) - unwrittenTickets; over > 0 {
		h.lostRecords.Add(float64(over))
		r.leftTickets = r.leftTickets[over:]
	}
	if over := len(r.sightings) - unwrittenTickets; over > 0 {
		h.lostRecords.Add(float64(over))
		r.sightings = r.sightings[over:]
	}
	h.unwritten = r
}
