package roster

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/base/wait"
)

const (
	pollInterval    = 2 * time.Second      // between two reads without a notification
	minReadInterval = 5 * time.Millisecond // between two reads: many replicas may notify at once
	readTimeout     = 5 * time.Second      // of one page
	// maxAge is the age from which the copy is read completely instead of updated. The rows of agents that left are
	// kept for twice as long.
	maxAge = 5 * time.Minute
)

// Store is the part of the database that a roster uses; [db.Store] implements it.
type Store interface {
	Subscribe(topic, region string) (wake <-chan struct{}, stop func())
	FeedEnd(ctx context.Context) (db.FeedPoint, error)
	RosterAfter(ctx context.Context, region, after string) (page db.RosterPage, full bool, err error)
	RosterSince(ctx context.Context, region string, since db.FeedPoint) (db.RosterPage, error)
}

// Config configures a roster or its events. The zero value is usable.
type Config struct {
	Log     *slog.Logger          // nil is silent
	Guard   *panics.Guard         // recovers panics of goroutines, which then try again; may be nil
	Metrics prometheus.Registerer // nil: not registered
}

// Roster is this replica's copy of a region's fleet. Make it with [New], and Run it once. Its methods are safe for
// concurrent use.
type Roster struct {
	store     Store
	region    string
	outage    *outage.Call
	guard     *panics.Guard
	pollEvery time.Duration
	maxAge    time.Duration

	readSeconds prometheus.Histogram

	hasRun        atomic.Bool
	readNow       chan struct{} // wakes Run: a caller waits for a transaction
	latestReading atomic.Pointer[reading]

	// hasPanicked says that a panic may have interrupted a change of the copy, which must be discarded then. Only Run's
	// goroutine uses it.
	hasPanicked bool
}

// reading is the copy after one read.
type reading struct {
	fleet     *fleet // nil before the end of the first read
	view      *View
	readPoint db.FeedPoint
	beganAt   time.Time     // when the read began
	replaced  chan struct{} // closed when a later reading has replaced this one
}

// New returns a roster of a region's fleet. Errors: its metrics are already registered.
func New(store Store, region string, cfg Config) (*Roster, error) {
	r := &Roster{
		store: store, region: region, guard: cfg.Guard, pollEvery: pollInterval, maxAge: maxAge,
		readNow: make(chan struct{}, 1),
		outage: outage.NewCall(cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)),
			"the fleet cannot be read: lists stay as they are until the database is back",
			"the fleet can be read again"),
	}
	// The reading is empty, so that callers of WaitFor can wait for the first one.
	r.latestReading.Store(&reading{replaced: make(chan struct{})})
	return r, r.registerMetrics(cfg.Metrics)
}

// Run updates the copy until ctx ends. During a database outage the copy stays as it was. Errors: Run was called
// before.
func (r *Roster) Run(ctx context.Context) error {
	if r.hasRun.Swap(true) {
		return errors.New("roster: a roster runs once")
	}
	notified, stop := r.store.Subscribe(db.TopicFleet, r.region)
	defer stop()
	follow.Loop{
		Name: "roster", Every: r.pollEvery, Pause: follow.AtLeast(minReadInterval),
		Wakes: follow.Wakes{notified, r.readNow},
		Do:    func(ctx context.Context, _ bool) error { return r.readChanges(ctx) }, Guard: r.guard,
		Report: r.reportRead,
	}.Run(ctx)
	return nil
}

// View returns the latest view; nil before the end of the first read.
func (r *Roster) View() *View { return r.latestReading.Load().view }

// Ready reports whether the first read has ended.
func (r *Roster) Ready() bool { return r.View() != nil }

// Age returns the time since the latest read began. It is zero before the first read.
func (r *Roster) Age() time.Duration {
	if at := r.latestReading.Load().beganAt; !at.IsZero() {
		return time.Since(at)
	}
	return 0
}

// Instance returns a listed instance. View().AppendInstance appends its JSON.
func (r *Roster) Instance(id string) (*Instance, bool) {
	if s := r.latestReading.Load(); s.fleet != nil {
		return s.fleet.listedInstance(id)
	}
	return nil, false
}

// AppendRoom appends the JSON of a listed room, and reports whether there is a room with that id.
func (r *Roster) AppendRoom(b []byte, id string) ([]byte, bool) {
	if s := r.latestReading.Load(); s.fleet != nil {
		if p, ok := s.fleet.listedRoom(id); ok {
			return append(b, p.instance.roomJSON(p.roomIndex)...), true
		}
	}
	return b, false
}

// WaitFor waits until the copy includes the changes of a committed transaction. It starts a read at once and does not
// wait for a notification. Errors: ctx's.
func (r *Roster) WaitFor(ctx context.Context, tx uint64) error {
	for {
		s := r.latestReading.Load()
		if s.readPoint.Includes(tx) {
			return nil
		}
		wait.Wake(r.readNow) // the notification of the transaction may be late, or lost
		select {
		case <-s.replaced:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// readChanges updates the copy. After an error the start point stays, and the pages before the error are read again.
func (r *Roster) readChanges(ctx context.Context) error {
	s := r.latestReading.Load()
	begun := time.Now()
	// Past maxAge, rows of agents that left may have been deleted, and no change would report them.
	if s.fleet == nil || r.hasPanicked || begun.Sub(s.beganAt) > r.maxAge {
		return r.readAll(ctx, begun)
	}
	point, err := r.readSince(ctx, s.fleet, s.readPoint)
	// Transactions may be lost: no change would report what the copy has of them.
	if errors.Is(err, errServerChanged) {
		return r.readAll(ctx, begun)
	}
	if err != nil {
		return err
	}
	r.publishReading(&reading{fleet: s.fleet, view: s.fleet.currentView(), readPoint: point, beganAt: begun})
	return nil
}

var errServerChanged = errors.New("Postgres was restarted or replaced")

// readSince applies the changes since a point, page by page.
func (r *Roster) readSince(ctx context.Context, f *fleet, since db.FeedPoint) (db.FeedPoint, error) {
	for more := true; more; {
		page, err := readWithin(ctx, func(ctx context.Context) (db.RosterPage, error) {
			return r.store.RosterSince(ctx, r.region, since)
		})
		if err != nil {
			return since, err
		}
		if page.ServerChanged {
			return since, errServerChanged
		}
		f.applyPage(&page)
		since, more = page.NextPoint, page.HasMore
	}
	return since, nil
}

// readAll makes a new copy. Lists are answered from the old copy until the new one is complete.
func (r *Roster) readAll(ctx context.Context, begun time.Time) error {
	// The point is read before the pages: a change that is committed while they are read is read again after them.
	point, err := readWithin(ctx, r.store.FeedEnd)
	if err != nil {
		return err
	}
	f := newFleet()
	for after, full := "", true; full; {
		page, err := readWithin(ctx, func(ctx context.Context) (page db.RosterPage, err error) {
			page, full, err = r.store.RosterAfter(ctx, r.region, after)
			return page, err
		})
		if err != nil {
			return err
		}
		f.applyPage(&page)
		if full {
			after = page.Agents[len(page.Agents)-1].InstanceInfo.ID
		}
	}
	if point, err = r.readSince(ctx, f, point); err != nil {
		return err
	}
	r.hasPanicked = false
	r.publishReading(&reading{fleet: f, view: f.currentView(), readPoint: point, beganAt: begun})
	return nil
}

// publishReading replaces the latest reading, and wakes who waits for a later one.
func (r *Roster) publishReading(s *reading) {
	s.replaced = make(chan struct{})
	r.readSeconds.Observe(time.Since(s.beganAt).Seconds())
	// The channel is closed after the exchange, so that a caller that wakes up finds the new reading.
	close(r.latestReading.Swap(s).replaced)
}

func (r *Roster) reportRead(ctx context.Context, err error) {
	r.outage.Report(ctx, err)
	r.hasPanicked = r.hasPanicked || errors.Is(err, panics.ErrInternal)
}

func readWithin[T any](ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return read(ctx)
}
