package loop

import (
	"cmp"
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/base/wait"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/openmatch/functions"
)

// Options configure a [Loop]. Store and Universe are required; the zero value of every other field is usable.
type Options struct {
	Store    Store
	Universe string // the region that is the queue
	// PlayerArg is the string_arg of an Open Match ticket that names its player; "": such tickets are no candidates.
	PlayerArg string
	// Lease is how long this worker owns its profiles without a sign of life; 0 means 1 s.
	Lease time.Duration
	// MaxCandidates bounds the tickets in memory; 0 means 200,000. Beyond it the oldest are kept.
	MaxCandidates int
	// Memory bounds, in bytes, what these tickets take; 0 means 1 KiB for each of MaxCandidates.
	Memory    int
	NoHistory bool               // the store keeps no history of matches and tickets: see [db.Config]
	Privacy   ticketbody.Privacy // of the history of tickets
	// Matchmaker calls the match functions of profiles. It runs as long as the loop. Nil: profiles with a function are
	// left to other workers.
	Matchmaker *functions.Matchmaker
	Log        *slog.Logger          // nil: no log
	Metrics    prometheus.Registerer // nil: no metrics
	Guard      *panics.Guard         // nil: panics are recovered and logged, and counted only as beginnings anew
}

func (o Options) withDefaults() Options {
	if o.Lease == 0 {
		o.Lease = time.Second
	}
	if o.MaxCandidates == 0 {
		o.MaxCandidates = 200_000
	}
	if o.Memory == 0 {
		o.Memory = o.MaxCandidates << 10
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Guard = cmp.Or(o.Guard, panics.New(o.Log, nil))
	return o
}

// Loop decides for the profiles that it owns. Make one with [New], and Run it once.
type Loop struct {
	options Options

	metrics    *metrics
	lastMoment time.Time // what moment returned last

	// Following the queue.
	queue         *queue
	queueChanged  bool         // as far as notifications tell
	followedAt    time.Time    // when the changes of the queue were last read
	followedNanos atomic.Int64 // the same in Unix nanoseconds, for the metric; 0: not yet
	hosts         hosts

	// Owning profiles.
	lease              *lease
	hasProfiles        bool // of any worker, in the universe
	profiles           map[string]*owned
	profilesByName     []*owned          // the same in order; nil: not sorted yet
	profilesToTake     []db.ProfileOwner // or to resume, or to follow to another version
	looksWithoutOwner  map[string]int    // by profile: how many looks it has had no owner
	unreadableVersions map[string]int    // by profile: the version that this release cannot read
	sharedAt           time.Time         // when this worker last considered giving a profile up

	// Deciding.
	turns          *turns
	holds          holds
	calls          *calls
	delayedFrees   []delayedFree
	refusalsBySeed map[string]int // how often the database refused a match of the seed

	// What becomes of a decision.
	commits           *commits
	historian         *historian
	waiting           waiting
	acceptedRenewedAt time.Time // when the tickets of accepted matches were last kept
	waitTimesStoredAt time.Time

	turnTime, maxLate time.Duration // the constants of these names; tests of replays change them
}

// New makes a loop. Errors: its metrics are registered already.
func New(o Options) (*Loop, error) {
	o = o.withDefaults()
	l := &Loop{
		options: o, lease: newLease(o.Store, uuid.New(), o.Lease), turns: newTurns(runtime.GOMAXPROCS(0), o.Guard),
		profiles: map[string]*owned{}, looksWithoutOwner: map[string]int{}, unreadableVersions: map[string]int{},
		refusalsBySeed: map[string]int{}, turnTime: turnTime, maxLate: maxLate,
	}
	l.emptyQueue()
	var err error
	if l.metrics, err = newMetrics(o.Metrics, l.feedLag); err != nil {
		return nil, err
	}
	l.historian = newHistorian(o, l.metrics.lostHistory)
	l.commits, l.calls = newCommits(o.Store, o.Universe, l.historian), newCalls(o)
	return l, nil
}

const (
	tick           = time.Second // between two looks at what notifications should have reported
	lookInterval   = 250 * time.Millisecond
	reconcileEvery = time.Minute
	retryPause     = 500 * time.Millisecond
	// followEvery is how often the changes of the queue are read while turns, commits and calls wake the loop and no
	// notification does.
	followEvery = 25 * time.Millisecond
)

// Run decides until ctx ends. It outlasts an outage of the database: then it begins anew.
func (l *Loop) Run(ctx context.Context) {
	defer l.runMatchmaker(ctx)()
	defer func() { l.turns.dropAll() }()
	defer l.historian.startWriting(ctx)()
	for ctx.Err() == nil {
		err := l.runGuarded(ctx)
		if ctx.Err() != nil {
			break
		}
		l.beginAnew(ctx, err)
		wait.For(ctx, retryPause)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	l.commits.waitForAll(ctx)
	l.freeAll("")
	l.dropCalls()
	l.freeMarked(ctx)
	_ = l.options.Store.EndLoopWorker(ctx, l.lease.workerID) // it expires by itself
}

func (l *Loop) runGuarded(ctx context.Context) error {
	return l.options.Guard.Do("director loop", func() error { return l.runUntilError(ctx) })
}

// runMatchmaker runs the matchmaker in a goroutine until the returned function is called.
func (l *Loop) runMatchmaker(ctx context.Context) (end func()) {
	if l.options.Matchmaker == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { _ = l.options.Matchmaker.Engine.Run(ctx) }) // its errors end calls
	return func() {
		cancel()
		running.Wait()
		l.options.Matchmaker.Close()
	}
}

// forgetAll forgets what was read and decided. Transactions that are under way end on their own; what they commit is found
// in the queue that is read next.
func (l *Loop) forgetAll() {
	l.freeAll("")
	l.dropCalls()
	l.turns.dropAll()
	l.turns = newTurns(l.turns.maxRunning, l.options.Guard)
	l.profiles, l.looksWithoutOwner, l.refusalsBySeed = map[string]*owned{}, map[string]int{}, map[string]int{}
	l.profilesByName, l.profilesToTake = nil, nil
	l.emptyQueue()
	close(l.commits.abandoned)
	l.commits = newCommits(l.options.Store, l.options.Universe, l.historian)
	l.holds, l.waiting, l.hosts = nil, waiting{}, hosts{}
}

// runUntilError reads the queue and decides until ctx ends or a reading fails.
func (l *Loop) runUntilError(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.calls.loopContext = ctx
	if err := l.lease.beginRenewing(ctx, func() { cancel(errLeaseLost) }); err != nil {
		return err
	}
	wakes := l.subscribeTopics()
	defer wakes.stopAll()
	t := newTimers()
	defer t.stopTimer()
	for ctx.Err() == nil {
		if err := l.runStep(ctx, t); err != nil && ctx.Err() == nil {
			return err
		}
		l.sleepUntilDue(ctx, wakes, t)
	}
	return context.Cause(ctx)
}

// runStep does what is due: it looks after the owners, reads changes, takes what was decided and sends it, and lets
// profiles decide. Each of its parts is short, whatever waits: long work is divided between steps, and searches run
// beside them.
func (l *Loop) runStep(ctx context.Context, t *timers) error {
	// Brings lastMoment up to date, which the parts use where they need no moment of their own.
	l.currentMoment()
	for _, part := range []func(context.Context, *timers) error{l.lookAfterOwners, l.followQueue, l.runPeriodic} {
		if err := part(ctx, t); err != nil {
			return err
		}
	}
	// Before turns begin: the tickets of matches that failed are candidates again in the turns of this step.
	l.takeOutcomes(ctx)
	if err := l.takeCalls(ctx); err != nil {
		return err
	}
	l.releaseHolds()
	l.takeTurns(ctx)
	if err := l.missingRosters(ctx); err != nil {
		return err
	}
	l.beginTurns()
	l.commits.sendBatches(ctx)
	l.freeMarked(ctx)
	l.metrics.observeLoop(l)
	return nil
}

// lookAfterOwners looks at the owners of profiles now and then, and takes the next profiles.
func (l *Loop) lookAfterOwners(ctx context.Context, t *timers) error {
	if t.beginIfDue(lookAt) {
		if err := l.lookAtOwners(ctx); err != nil {
			return err
		}
	}
	if err := l.adoptSome(ctx); err != nil {
		return err
	}
	if err := l.restoreWaits(ctx); err != nil {
		return err
	}
	if !l.knowHosts() { // before a profile that was just taken decides
		return l.readHosts(ctx)
	}
	return nil
}

// followQueue reads what changed in the queue, and pages of the whole queue: at the beginning, and now and then to
// compare it.
func (l *Loop) followQueue(ctx context.Context, t *timers) error {
	if !l.hasProfiles {
		l.followedNanos.Store(time.Now().UnixNano())
		return nil
	}
	if !l.queue.followsChanges {
		if err := l.queue.startFollowing(ctx); err != nil {
			return err
		}
	}
	if l.queueChanged || time.Since(l.followedAt) >= followEvery {
		l.queueChanged = false
		if err := l.queue.followChanges(ctx); err != nil {
			return err
		}
		l.followedAt = time.Now()
		l.followedNanos.Store(l.followedAt.UnixNano())
	}
	if !l.queue.isFullyRead {
		return l.loadQueue(ctx)
	}
	if t.beginIfDue(reconcileAt) {
		l.queue.beginComparing()
	}
	return l.queue.reconcileOn(ctx)
}

// loadQueue reads the next page of the queue.
func (l *Loop) loadQueue(ctx context.Context) error {
	err := l.queue.loadPage(ctx)
	if err == nil && l.queue.isFullyRead {
		l.options.Log.LogAttrs(ctx, slog.LevelInfo, "the director loop follows the queue",
			slog.String("universe", l.options.Universe),
			slog.Int("tickets", l.queue.len()))
	}
	return err
}

// runPeriodic does what is due at times, besides the owners.
func (l *Loop) runPeriodic(ctx context.Context, t *timers) error {
	if t.beginIfDue(checkAt) {
		if err := l.readReadyChecks(ctx); err != nil {
			return err
		}
	}
	if t.beginIfDue(tickAt) {
		return l.runSecond(ctx)
	}
	return nil
}

// feedLag returns the seconds since this worker last read the changes of the queue.
func (l *Loop) feedLag() float64 {
	at := l.followedNanos.Load()
	if at == 0 {
		return 0
	}
	return time.Since(time.Unix(0, at)).Seconds()
}

// runSecond does what is done once a second, or at once when capacity changed.
func (l *Loop) runSecond(ctx context.Context) error {
	if err := l.readHosts(ctx); err != nil {
		return err
	}
	if err := l.readRosters(ctx); err != nil {
		return err
	}
	if err := l.putWaits(ctx); err != nil {
		return err
	}
	l.putShadows(ctx)
	l.sightWaiting()
	return l.serveWaiting(ctx)
}

// sleepUntilDue waits until something may be due.
func (l *Loop) sleepUntilDue(ctx context.Context, w *wakes, t *timers) {
	if l.readsOn() { // a step follows, but notifications are noted on the way
		w.pollOnce(l)
		return
	}
	t.sleepUntil(l.nextDecision())
	select {
	case <-ctx.Done():
	case <-t.timer.C:
	case <-l.turns.turnEnded:
	case <-w.queueWake:
		l.queueChanged = true
	case <-w.settledWake:
		l.queueChanged = true
	case <-w.profilesWake:
		t.makeDue(lookAt)
	case <-w.capacityWake:
		t.makeDue(tickAt)
	case <-w.matchesWake:
		t.makeDue(checkAt)
	case o := <-l.commits.outcomeQueue:
		l.commits.returnedOutcomes = append(l.commits.returnedOutcomes, o)
	case c := <-l.calls.resultQueue:
		l.calls.returned = append(l.calls.returned, c)
	}
}

// readsOn reports whether a step has something to read at once.
func (l *Loop) readsOn() bool {
	return len(l.profilesToTake) > 0 || l.hasProfiles && !l.queue.isFullyRead || !l.queue.comparison.beganAt.IsZero()
}

// wakes are the notifications that end a sleep.
type wakes struct {
	queueWake, settledWake, profilesWake, capacityWake, matchesWake <-chan struct{}
	stopFuncs                                                       []func()
}

func (l *Loop) subscribeTopics() *wakes {
	w := &wakes{}
	subscribe := func(topic, region string) <-chan struct{} {
		wake, stop := l.options.Store.Subscribe(topic, region)
		w.stopFuncs = append(w.stopFuncs, stop)
		return wake
	}
	universe := l.options.Universe
	w.queueWake, w.settledWake = subscribe(db.TopicQueue, universe), subscribe(db.TopicTickets, universe)
	w.profilesWake, w.matchesWake = subscribe(db.TopicProfiles, universe), subscribe(db.TopicMatches, universe)
	w.capacityWake = subscribe(db.TopicCapacity, "")
	return w
}

func (w *wakes) stopAll() {
	for _, stop := range w.stopFuncs {
		stop()
	}
}

// pollOnce notes notifications without waiting for one.
func (w *wakes) pollOnce(l *Loop) {
	select {
	case <-w.queueWake:
		l.queueChanged = true
	case <-w.settledWake:
		l.queueChanged = true
	default:
	}
}
