package loop

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/lattice-director/director/internal/base/wait"
)

// followEvery is how often the changes of the queue are read without a notification, while turns, commits and calls wake
// the loop.
const followEvery = 25 * time.Millisecond

// followInterval returns the time between two readings of the changes without a notification. In an empty queue nothing
// but a notification can be news, and a lost one costs a second.
func (l *Loop) followInterval() time.Duration {
	if l.queue.isFullyRead && l.queue.len() == 0 {
		return tick
	}
	return followEvery
}

// Run decides until ctx ends. After an error, such as in an outage of the database, it begins anew.
func (l *Loop) Run(ctx context.Context) {
	// The matchmaker ends last: the calls that dropCalls waits for use it.
	defer l.runMatchmaker(ctx)()
	defer func() { l.turns.dropAll() }() // a closure, since forgetAll replaces l.turns
	defer l.historian.startWriting(ctx)()
	for ctx.Err() == nil {
		err := l.runGuarded(ctx)
		if ctx.Err() != nil {
			break
		}
		l.beginAnew(ctx, err)
		wait.For(ctx, retryPause)
	}
	l.handOver(context.WithoutCancel(ctx))
}

// handOverTimeout bounds how long a worker that ends waits for its transactions, and then how long it takes to free its
// tickets and its profiles.
const handOverTimeout = time.Second

// handOver frees the profiles and tickets of this worker, which ends. What is not freed in time expires by itself.
func (l *Loop) handOver(ctx context.Context) {
	waitingContext, stopWaiting := context.WithTimeout(ctx, handOverTimeout)
	defer stopWaiting()
	l.commits.waitForAll(waitingContext)
	l.freeAllLater()
	l.dropCalls()
	// Freeing has a timeout of its own: a transaction that hangs would leave no time, and others would take the profiles
	// over only when the lease has expired.
	freeingContext, stopFreeing := context.WithTimeout(ctx, handOverTimeout)
	defer stopFreeing()
	l.freeDue(freeingContext)
	_ = l.options.Store.EndLoopWorker(freeingContext, l.lease.workerID) // after an error the lease expires by itself
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

// runUntilError reads the queue and decides until ctx ends or a reading fails.
func (l *Loop) runUntilError(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.calls.loopContext = ctx
	// The lease comes before profiles: those of a worker without a lease count as free.
	if err := l.lease.beginRenewing(ctx, func() { cancel(errLeaseLost) }); err != nil {
		return err
	}
	wakes := l.subscribeTopics()
	defer wakes.stopAll()
	t := newTimers(l.compareEvery)
	defer t.stopTimer()
	for ctx.Err() == nil {
		stepAt := time.Now()
		if err := l.runStep(ctx, t); err != nil && ctx.Err() == nil {
			return err
		}
		l.sleepUntilDue(ctx, wakes, t, stepAt)
	}
	return context.Cause(ctx)
}

// runStep does what is due: it looks after the owners, reads changes, takes what was decided and sends it, and lets
// profiles decide. Each of its parts is short, whatever waits: long work is divided between steps, and searches run
// beside them.
func (l *Loop) runStep(ctx context.Context, t *timers) error {
	l.currentMoment() // sets lastMoment, which the parts use where they need no moment of their own
	for _, part := range []func(context.Context, *timers) error{l.lookAfterOwners, l.followQueue, l.runPeriodic} {
		if err := part(ctx, t); err != nil {
			return err
		}
	}
	// Outcomes come before turns, in which the tickets of matches that failed are candidates again.
	l.takeOutcomes(ctx)
	if err := l.takeCalls(ctx); err != nil {
		return err
	}
	l.releaseHolds()
	l.takeTurns(ctx)
	// Open matches come before turns: a profile that newcomers may join decides only with them.
	if err := l.readMissingRosters(ctx); err != nil {
		return err
	}
	l.beginTurns()
	l.commits.sendBatches(ctx)
	l.freeDue(ctx)
	l.observeState()
	return nil
}

// lookAfterOwners looks at the owners of profiles now and then, and takes the next profiles.
func (l *Loop) lookAfterOwners(ctx context.Context, t *timers) error {
	if t.beginIfDue(lookAt) {
		ownsAll, err := l.lookAtOwners(ctx)
		if err != nil {
			return err
		}
		// There is nothing to take over. A change is notified, and a lost notification costs a second.
		if ownsAll {
			t.postpone(lookAt, tick)
		}
	}
	if err := l.adoptSome(ctx); err != nil {
		return err
	}
	if err := l.restoreWaits(ctx); err != nil {
		return err
	}
	// A shadow that has just begun may have a mode that was not asked for.
	return l.readUnknownHosts(ctx)
}

// followQueue reads what changed in the queue, and pages of the whole queue: at the beginning, and now and then to
// compare it.
func (l *Loop) followQueue(ctx context.Context, t *timers) error {
	// Asked even where nothing is compared below, since work that stays due ends every sleep.
	isComparisonDue := t.beginIfDue(compareAt)
	if !l.hasProfiles {
		l.followedNanos.Store(time.Now().UnixNano()) // there is nothing to follow: the alert on the lag must not fire
		return nil
	}
	if !l.queue.followsChanges {
		if err := l.queue.startFollowing(ctx); err != nil {
			return err
		}
	}
	if l.queueChanged || time.Since(l.followedAt) >= l.followInterval() {
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
	if isComparisonDue {
		l.queue.beginComparing()
	}
	return l.queue.comparePage(ctx)
}

// loadQueue reads the next page of the queue.
func (l *Loop) loadQueue(ctx context.Context) error {
	err := l.queue.loadPage(ctx)
	if err == nil && l.queue.isFullyRead {
		l.options.Log.LogAttrs(ctx, slog.LevelInfo, "the director loop follows the queue",
			slog.String("universe", l.options.Universe), slog.Int("tickets", l.queue.len()))
	}
	return err
}

// runPeriodic does what is due at times, besides the owners.
func (l *Loop) runPeriodic(ctx context.Context, t *timers) error {
	if t.beginIfDue(checkAt) {
		if err := l.settleReadyChecks(ctx); err != nil {
			return err
		}
	}
	if t.beginIfDue(tickAt) {
		return l.runSecond(ctx)
	}
	return nil
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

// observeState sets the gauges.
func (l *Loop) observeState() {
	m := l.metrics
	m.candidateCount.Set(float64(l.queue.len()))
	m.leftOut.Set(float64(l.queue.leftOut))
	m.ownedProfiles.Set(float64(len(l.profiles)))
	m.waitingMatches.Set(float64(len(l.waiting.jobs)))
	m.oldestWait.Set(l.oldestWaiting().Seconds())
}
