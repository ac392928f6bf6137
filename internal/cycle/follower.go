package cycle

import (
	"context"
	"errors"
	"time"

	"github.com/lattice-director/director/db"
)

const (
	// statusInterval is how often a follower reads the cycle's status when no notification arrives.
	statusInterval = 100 * time.Millisecond
	// batchDelay is how long a follower waits for more proposals to write in the same statement.
	batchDelay = 5 * time.Millisecond
)

// follower connects this replica's calls with the owner of the cycle, through rows: it writes their proposals and delivers
// the matches that the owner has committed. One goroutine uses it.
type follower struct {
	*round

	notified   <-chan struct{} // notifications about cycles of the region
	reports    map[*call]report
	collecting bool      // the owner takes proposals
	renewedAt  time.Time // when the rows of live calls were renewed last
	answeredAt time.Time // when the database answered last

	poll     *time.Ticker // fires each statusInterval
	batch    *time.Timer  // fires batchDelay after a proposal that is not urgent
	batching bool         // batch is set
	overrun  *time.Timer  // fires when match functions have run for too long
}

func newFollower(r *round, notified <-chan struct{}) *follower {
	return &follower{
		round: r, notified: notified, reports: map[*call]report{}, collecting: true, renewedAt: time.Now(), answeredAt: time.Now(),
	}
}

var errCycleDeleted = unavailable("the cycle is lost: the database has restarted")

// run follows the cycle until it has ended or has no call of this replica; taken is nil then. Otherwise this replica
// has taken the cycle over.
func (f *follower) run(ctx context.Context) (taken *db.Cycle, err error) {
	f.poll = time.NewTicker(min(statusInterval, f.Lease/4))
	defer f.poll.Stop()
	f.batch = time.NewTimer(batchDelay)
	defer f.batch.Stop()
	f.overrun = time.NewTimer(time.Until(f.collectsUntil))
	defer f.overrun.Stop()
	for over := false; !over && err == nil; {
		over, taken, err = f.step(ctx)
	}
	if err != nil {
		f.leaveCycle(ctx)
	}
	return taken, err
}

// step waits for a change and handles it.
func (f *follower) step(ctx context.Context) (over bool, taken *db.Cycle, err error) {
	changed, err := f.wait(ctx)
	if err != nil {
		return false, nil, err
	}
	if err := f.tolerate(f.report(ctx)); err != nil {
		return false, nil, err
	}
	if len(f.live()) == 0 && !time.Now().Before(f.registersUntil) {
		return true, nil, nil
	}
	if !changed {
		return false, nil, nil
	}
	over, taken, err = f.readStatus(ctx)
	return over, taken, f.tolerate(err)
}

// wait waits until there is something to report, or until the cycle's status may have changed.
func (f *follower) wait(ctx context.Context) (changed bool, err error) {
	for {
		select {
		case <-f.changed:
			if f.urgent() {
				return false, nil
			}
			if !f.batching {
				f.batching = true
				f.batch.Reset(batchDelay)
			}
		case <-f.batch.C:
			f.batching = false
			return false, nil
		case <-f.overrun.C:
			f.cancelFunctions()
			return false, nil
		case <-f.notified:
			return true, nil
		case <-f.poll.C:
			return true, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// tolerate drops the error of a database that has been unavailable for less than the lease, which an owner tolerates as well.
func (f *follower) tolerate(err error) error {
	switch {
	case err == nil:
		f.answeredAt = time.Now()
	case db.IsKind(err, db.Unavailable) && !errors.Is(err, errCycleDeleted) && time.Since(f.answeredAt) < f.Lease:
		err = nil
	}
	return err
}

// readStatus delivers matches that the owner has committed, ends the calls when the cycle has ended, and takes the cycle
// over when its lease has expired.
func (f *follower) readStatus(ctx context.Context) (over bool, taken *db.Cycle, err error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	status, err := f.Store.CycleStatus(ctx, f.ref, f.live())
	switch {
	case err != nil:
		return false, nil, err
	case !status.Exists:
		return false, nil, errCycleDeleted
	}
	f.deliverCommitted(status.Committed)
	switch {
	case status.State == db.CycleEnded:
		var failure error
		if status.Failure != "" {
			failure = errors.New(status.Failure)
		}
		f.endCalls(failure)
		return true, nil, nil
	case status.LeaseExpired:
		return f.takeOver(ctx)
	case status.State == db.CycleEvaluating && f.collecting:
		f.collecting = false
		f.cancelFunctions()
	}
	return false, nil, f.renewCalls(ctx)
}

// takeOver makes this replica the owner, unless another one was first.
func (f *follower) takeOver(ctx context.Context) (over bool, taken *db.Cycle, err error) {
	c, ok, err := f.Store.TakeOverCycle(ctx, f.ref)
	if err != nil || !ok {
		return false, nil, err
	}
	f.setTimes(c)
	return true, &c, nil
}

// renewCalls renews the rows of live calls when a quarter of the lease is over: a call counts as gone a lease after the
// last renewal.
func (f *follower) renewCalls(ctx context.Context) error {
	if time.Since(f.renewedAt) < f.Lease/4 {
		return nil
	}
	err := f.Store.RenewCallers(ctx, f.ref, f.live())
	if err == nil {
		f.renewedAt = time.Now()
	}
	return err
}

// leaveCycle takes this replica's calls out of a cycle that it can no longer follow. If that fails, they count as gone
// after a lease.
func (f *follower) leaveCycle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	if ids := f.live(); len(ids) > 0 {
		_ = f.Store.LeaveCycle(ctx, f.ref, ids)
	}
}
