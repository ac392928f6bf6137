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
	store       EventStore
	roster      *Roster
	region      string
	maxStreams  int
	log         *slog.Logger
	outage      *outage.Call
	guard       *panics.Guard
	pollEvery   time.Duration
	eventCounts *eventMetrics

	hasRun  atomic.Bool
	stopped chan struct{} // closed when Run has ended
	readNow chan struct{} // wakes Run: a stream begins
	recent  *recent

	mu          sync.Mutex
	streamCount int

	readState readState // only Run's goroutine uses it
}

// readState is how far Run has read the log.
type readState struct {
	hasBegun     bool
	nextPoint    db.AgentEventPoint
	serverStart  time.Time
	lastEvent    position // of the last event; zero: no event was read yet
	isHeldBack   bool     // events wait for an older transaction
	heldBackWait time.Duration
	syncState    syncing
	isFailing    bool
}

// NewEvents returns the Events of a roster's region, for at most limit streams. Errors: its metrics are already
// registered.
func NewEvents(store EventStore, roster *Roster, limit int, cfg Config) (*Events, error) {
	log := cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	e := &Events{
		store: store, roster: roster, region: roster.region, maxStreams: limit, log: log, guard: cfg.Guard,
		outage: outage.NewCall(log, "the events of the fleet cannot be read: streams wait until the database is back",
			"the events of the fleet can be read again"),
		pollEvery: pollInterval, stopped: make(chan struct{}), readNow: make(chan struct{}, 1), recent: newRecent(),
	}
	var err error
	e.eventCounts, err = e.registerMetrics(cfg.Metrics)
	return e, err
}

// Run reads the log until ctx ends; then all streams end. Streams survive a database outage. Errors: Run was called
// before.
func (e *Events) Run(ctx context.Context) error {
	if e.hasRun.Swap(true) {
		return errors.New("roster: events run once")
	}
	defer close(e.stopped)
	notified, stop := e.store.Subscribe(db.TopicFleet, e.region)
	defer stop()
	var following sync.WaitGroup
	defer following.Wait()
	following.Go(func() { e.followRoster(ctx) })
	follow.Loop{
		Name: "fleet events", Every: e.pollEvery, Pause: follow.AtLeast(minReadInterval),
		Wakes: follow.Wakes{notified, e.readNow},
		Until: func() time.Duration { return e.readState.nextIn(e.pollEvery) },
		Do:    func(ctx context.Context, _ bool) error { return e.readNew(ctx) }, Guard: e.guard, Report: e.reportRead,
	}.Run(ctx)
	return nil
}

// followRoster wakes Run after each reading of the roster, with which a Sync may be due.
func (e *Events) followRoster(ctx context.Context) {
	for {
		select {
		case <-e.roster.latestReading.Load().replaced:
			wait.Wake(e.readNow)
		case <-ctx.Done():
			return
		}
	}
}

// Streams returns the number of streams.
func (e *Events) Streams() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.streamCount
}

// stopWhenIdle stops reading the log if there is no stream, and reports whether it has.
func (e *Events) stopWhenIdle() bool {
	// The same lock is held while streams are counted: a stream that comes later finds that the log is not read, and waits
	// for its beginning.
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.streamCount > 0 {
		return false
	}
	e.recent.stopLog()
	// The next stream begins at the end of the log, or reads the database.
	e.readState = readState{}
	return true
}

// readNew reads the new events of the log, and then appends a Sync if one is due.
func (e *Events) readNew(ctx context.Context) error {
	if isStopped := e.stopWhenIdle(); isStopped {
		return nil
	}
	// Before its first reading the roster has no state hash, with which the log begins and which each Sync has.
	if !e.roster.Ready() {
		return nil
	}
	if !e.readState.hasBegun {
		return e.beginAtEnd(ctx)
	}
	for more := true; more; {
		page, err := readWithin(ctx, func(ctx context.Context) (db.AgentEventPage, error) {
			return e.store.AgentEventsAfter(ctx, e.region, e.readState.nextPoint)
		})
		if err != nil {
			return err
		}
		// After a restart of Postgres, the events that this replica has read last may be lost.
		if !page.ServerStartedAt.Equal(e.readState.serverStart) {
			return e.resumeReading(ctx, page.ServerStartedAt)
		}
		e.takePage(&page)
		more = page.HasMore
	}
	e.trySync(time.Now())
	return nil
}

// beginAtEnd starts reading at the current end of the log.
func (e *Events) beginAtEnd(ctx context.Context) error {
	page, err := readWithin(ctx, e.store.AgentEventsEnd)
	if err != nil {
		return err
	}
	e.readState = readState{hasBegun: true, nextPoint: page.NextPoint, serverStart: page.ServerStartedAt,
		syncState: syncing{sentHash: e.roster.View().fleetStats.Hash}}
	e.recent.beginAt(position{rowTx: page.NextPoint.Tx})
	return nil
}

// resumeReading continues after Postgres was restarted or replaced. If the last event is still in the log, so are all
// events after it. If it is not, transactions were lost, or no event was read yet: the streams then start again.
func (e *Events) resumeReading(ctx context.Context, server time.Time) error {
	if e.readState.lastEvent == (position{}) {
		return e.beginAtEnd(ctx)
	}
	last := db.AgentEventPoint{Tx: e.readState.lastEvent.rowTx, ID: e.readState.lastEvent.rowID}
	_, found, err := e.store.FindAgentEvent(ctx, e.region, last)
	if err != nil {
		return err
	}
	if !found {
		return e.beginAtEnd(ctx)
	}
	e.readState.nextPoint, e.readState.serverStart = last, server
	wait.Wake(e.readNow)
	return nil
}

// takePage appends a page to the recent events.
func (e *Events) takePage(page *db.AgentEventPage) {
	r := &e.readState
	// If nothing became readable, the older transaction may stay open for long, and each read costs a statement.
	if r.nextPoint == page.NextPoint {
		r.heldBackWait = min(max(2*r.heldBackWait, againAfter), againAtMost)
	} else {
		r.heldBackWait = againAfter
	}
	entries := e.expandAll(page.Events)
	if len(entries) > 0 {
		r.lastEvent = entries[len(entries)-1].position
	}
	for i := range entries {
		r.syncState.isOwed = r.syncState.isOwed || entries[i].event.changesFleet()
		e.eventCounts.countSent(entries[i].event.Type)
	}
	r.nextPoint, r.isHeldBack = page.NextPoint, page.IsHeldBack
	e.recent.appendRead(entries, position{rowTx: r.nextPoint.Tx, rowID: r.nextPoint.ID,
		rowIndex: lastOfRow(r.nextPoint.ID)})
}

// expandAll returns the events of rows. It skips rows that cannot be read, because they would otherwise block the log.
func (e *Events) expandAll(rows []db.AgentEvent) []entry {
	var all []entry
	for i := range rows {
		entries, err := expandRow(&rows[i])
		if err != nil {
			e.log.LogAttrs(context.Background(), slog.LevelError, "an event cannot be read and is skipped",
				slog.String("event", rows[i].ID.String()), slog.String("kind", rows[i].Kind), slog.Any("error", err))
		}
		all = append(all, entries...)
	}
	return all
}

// lastOfRow returns the rowIndex of the position after all events of a row; 0 if there is no row.
func lastOfRow(id uuid.UUID) int {
	if id == (uuid.UUID{}) {
		return 0
	}
	return maxInRow
}

// trySync appends a Sync if one is due.
func (e *Events) trySync(now time.Time) {
	r, s := &e.readState, e.roster.latestReading.Load()
	// The log was read beyond the last change of the hashed state, and the state was read after the last event that was
	// sent.
	isComplete := s.view.changedTx < r.nextPoint.Tx && s.readPoint.Includes(r.lastEvent.rowTx)
	if isDue := r.syncState.takeDue(s.view.fleetStats.Hash, isComplete, now); !isDue {
		return
	}
	end := position{rowTx: r.nextPoint.Tx, rowID: r.nextPoint.ID, rowIndex: lastOfRow(r.nextPoint.ID)}
	e.recent.appendRead([]entry{{Event{Type: Sync, Data: s.view.fleetStats.AppendJSON(nil)}, end}}, end)
	e.eventCounts.countSent(Sync)
}

// nextIn returns the delay until the next read if nothing wakes Run.
func (r *readState) nextIn(poll time.Duration) time.Duration {
	// A database that does not answer is read at the usual interval, even if events wait.
	if r.isFailing || !r.isHeldBack && r.syncState.pendingSince.IsZero() {
		return poll
	}
	delay := max(r.heldBackWait, againAfter)
	if !r.syncState.pendingSince.IsZero() {
		delay = min(delay, max(time.Until(r.syncState.pendingSince.Add(syncWithin)), time.Millisecond))
	}
	return delay
}

func (e *Events) reportRead(ctx context.Context, err error) {
	e.outage.Report(ctx, err)
	e.readState.isFailing = err != nil
}
