package roster

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/base/wait"
)

const (
	// againAfter is the delay before the log is read again while some of its events wait for an older transaction; no
	// notification reports the end of that transaction. The delay doubles up to againAtMost while no event becomes
	// readable.
	againAfter  = 10 * time.Millisecond
	againAtMost = 160 * time.Millisecond
	beginWithin = 5 * time.Second // how long a new stream waits for the first read
)

// EventStore is the part of the database that Events uses; [db.Store] implements it.
type EventStore interface {
	Subscribe(topic, region string) (wake <-chan struct{}, stop func())
	AgentEventsEnd(ctx context.Context) (db.AgentEventPage, error)
	AgentEventsAfter(ctx context.Context, region string, after db.AgentEventPoint) (db.AgentEventPage, error)
	ReplayAgentEvents(ctx context.Context, region string, after db.AgentEventPoint) (db.AgentEventPage, error)
	FindAgentEvent(ctx context.Context, region string, at db.AgentEventPoint) (db.AgentEvent, bool, error)
}

// Events follows the event log of a region's fleet for the streams of this replica. Make it with [NewEvents], and Run
// it once together with its roster. Without streams it reads nothing. Its methods are safe for concurrent use.
type Events struct {
	store  EventStore
	roster *Roster
	region string
	limit  int // maximum number of streams
	log    *slog.Logger
	outage *outage.Call
	guard  *panics.Guard
	poll   time.Duration
	counts *eventMetrics

	running atomic.Bool
	stopped chan struct{} // closed when Run has ended
	nudge   chan struct{} // wakes Run: a stream begins
	recent  *recent

	mu      sync.Mutex
	streams int

	reader reader // only Run's goroutine uses it
}

// reader is the read state of Run.
type reader struct {
	began      bool
	next       db.AgentEventPoint
	server     time.Time
	last       position // of the last event; zero: no event was read yet
	isHeldBack bool     // events wait for an older transaction
	wait       time.Duration
	sync       syncing
	failing    bool
}

// NewEvents returns the Events of a roster's region, for at most limit streams. Errors: its metrics are already
// registered.
func NewEvents(store EventStore, roster *Roster, limit int, cfg Config) (*Events, error) {
	log := cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	e := &Events{
		store: store, roster: roster, region: roster.region, limit: limit, log: log, guard: cfg.Guard,
		outage: outage.NewCall(log, "the events of the fleet cannot be read: streams wait until the database is back",
			"the events of the fleet can be read again"),
		poll: pollInterval, stopped: make(chan struct{}), nudge: make(chan struct{}, 1), recent: newRecent(),
	}
	var err error
	e.counts, err = e.register(cfg.Metrics)
	return e, err
}

// Run reads the log until ctx ends; then all streams end. Streams survive a database outage. Errors: Run was called
// before.
func (e *Events) Run(ctx context.Context) error {
	if e.running.Swap(true) {
		return errors.New("roster: events run once")
	}
	defer close(e.stopped)
	notified, stop := e.store.Subscribe(db.TopicFleet, e.region)
	defer stop()
	var following sync.WaitGroup
	defer following.Wait()
	following.Go(func() { e.followRoster(ctx) })
	follow.Loop{
		Name: "fleet events", Every: e.poll, Pause: follow.AtLeast(minReadInterval),
		Wakes: follow.Wakes{notified, e.nudge},
		Until: func() time.Duration { return e.reader.nextIn(e.poll) },
		Do:    func(ctx context.Context, _ bool) error { return e.turn(ctx) }, Guard: e.guard, Report: e.report,
	}.Run(ctx)
	return nil
}

// followRoster wakes Run after each reading of the roster, with which a Sync may be due.
func (e *Events) followRoster(ctx context.Context) {
	for {
		select {
		case <-e.roster.state.Load().next:
			wait.Wake(e.nudge)
		case <-ctx.Done():
			return
		}
	}
}

// Streams returns the number of streams.
func (e *Events) Streams() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.streams
}

// idle stops reading the log if there is no stream.
func (e *Events) idle() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.streams == 0 {
		e.recent.stop()
		e.reader = reader{}
	}
	return e.streams == 0
}

// turn reads the new events of the log, and then appends a Sync if one is due.
func (e *Events) turn(ctx context.Context) error {
	if e.idle() || !e.roster.Ready() {
		return nil
	}
	if !e.reader.began {
		return e.begin(ctx)
	}
	for more := true; more; {
		page, err := within(ctx, func(ctx context.Context) (db.AgentEventPage, error) {
			return e.store.AgentEventsAfter(ctx, e.region, e.reader.next)
		})
		if err != nil {
			return err
		}
		if !page.Server.Equal(e.reader.server) {
			return e.reconcile(ctx, page.Server)
		}
		e.take(&page)
		more = page.HasMore
	}
	e.trySync(time.Now())
	return nil
}

// begin starts reading at the current end of the log.
func (e *Events) begin(ctx context.Context) error {
	page, err := within(ctx, e.store.AgentEventsEnd)
	if err != nil {
		return err
	}
	e.reader = reader{began: true, next: page.Next, server: page.Server,
		sync: syncing{sent: e.roster.View().stats.Hash}}
	e.recent.begin(position{tx: page.Next.Tx})
	return nil
}

// reconcile continues after Postgres was restarted or replaced. If the last event is still in the log, so are all
// events after it. If it is not, transactions were lost, or no event was read yet: the streams then start again.
func (e *Events) reconcile(ctx context.Context, server time.Time) error {
	if e.reader.last == (position{}) {
		return e.begin(ctx)
	}
	last := db.AgentEventPoint{Tx: e.reader.last.tx, ID: e.reader.last.id}
	_, found, err := e.store.FindAgentEvent(ctx, e.region, last)
	if err != nil {
		return err
	}
	if !found {
		return e.begin(ctx)
	}
	e.reader.next, e.reader.server = last, server
	wait.Wake(e.nudge)
	return nil
}

// take appends a page to the recent events.
func (e *Events) take(page *db.AgentEventPage) {
	r := &e.reader
	if r.next == page.Next {
		r.wait = min(max(2*r.wait, againAfter), againAtMost)
	} else {
		r.wait = againAfter
	}
	entries := e.expandAll(page.Events)
	if len(entries) > 0 {
		r.last = entries[len(entries)-1].position
	}
	for i := range entries {
		r.sync.owed = r.sync.owed || entries[i].event.changesFleet()
		e.counts.sent(entries[i].event.Type)
	}
	r.next, r.isHeldBack = page.Next, page.IsHeldBack
	e.recent.append(entries, position{tx: r.next.Tx, id: r.next.ID, n: lastOfRow(r.next.ID)})
}

// expandAll returns the events of rows. It skips rows that cannot be read, because they would otherwise block the log.
func (e *Events) expandAll(rows []db.AgentEvent) []entry {
	var all []entry
	for i := range rows {
		entries, err := expand(&rows[i])
		if err != nil {
			e.log.LogAttrs(context.Background(), slog.LevelError, "an event cannot be read and is skipped",
				slog.String("event", rows[i].ID.String()), slog.String("kind", rows[i].Kind), slog.Any("error", err))
		}
		all = append(all, entries...)
	}
	return all
}

// lastOfRow returns the index n of the position after all events of a row; 0 if there is no row.
func lastOfRow(id uuid.UUID) int {
	if id == (uuid.UUID{}) {
		return 0
	}
	return maxInRow
}

// trySync appends a Sync if one is due.
func (e *Events) trySync(now time.Time) {
	r, s := &e.reader, e.roster.state.Load()
	complete := s.view.changed < r.next.Tx && s.point.Includes(r.last.tx)
	if !r.sync.isDue(s.view.stats.Hash, complete, now) {
		return
	}
	end := position{tx: r.next.Tx, id: r.next.ID, n: lastOfRow(r.next.ID)}
	e.recent.append([]entry{{Event{Type: Sync, Data: s.view.stats.AppendJSON(nil)}, end}}, end)
	e.counts.sent(Sync)
}

// nextIn returns the delay until the next read if nothing wakes the reader.
func (r *reader) nextIn(poll time.Duration) time.Duration {
	if r.failing || !r.isHeldBack && r.sync.since.IsZero() {
		return poll
	}
	wait := max(r.wait, againAfter)
	if !r.sync.since.IsZero() {
		wait = min(wait, max(time.Until(r.sync.since.Add(syncWithin)), time.Millisecond))
	}
	return wait
}

func (e *Events) report(ctx context.Context, err error) {
	e.outage.Report(ctx, err)
	e.reader.failing = err != nil
}
