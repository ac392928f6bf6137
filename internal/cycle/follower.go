package cycle

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

const (
	// stroll is how often a follower looks at the cycle, when nobody tells it.
	stroll = 100 * time.Millisecond
	// gather is how long proposals wait for others that travel with them.
	gather = 5 * time.Millisecond
)

// follower speaks for this replica's callers to the replica that runs the cycle.
type follower struct {
	*round

	news       <-chan struct{}
	sent       map[*call]int
	finished   map[*call]bool // said to have no more
	departed   map[*call]bool // said to be gone
	collecting bool
	saidAt     time.Time // the last that we live
	heardAt    time.Time // the last of the database

	strolls   *time.Ticker
	gathered  *time.Timer // proposals have waited for others
	gathering bool
	overrun   *time.Timer // match functions have run for too long
}

func newFollower(r *round, news <-chan struct{}) *follower {
	return &follower{
		round: r, news: news, sent: map[*call]int{}, finished: map[*call]bool{}, departed: map[*call]bool{},
		collecting: true, saidAt: time.Now(), heardAt: time.Now(),
	}
}

var errForgotten = unavailable("the cycle is not known any more: the database began anew")

// run follows the cycle until it has ended, or nobody here waits for it, or this replica takes it over.
func (f *follower) run(ctx context.Context) (c db.Cycle, takenOver bool, err error) {
	defer func() {
		if err != nil {
			f.depart(ctx)
		}
	}()
	f.strolls = time.NewTicker(min(stroll, f.Lease/4))
	defer f.strolls.Stop()
	f.gathered = time.NewTimer(gather)
	defer f.gathered.Stop()
	f.overrun = time.NewTimer(time.Until(f.collectsUntil))
	defer f.overrun.Stop()
	for {
		look, err := f.wait(ctx)
		if err != nil {
			return c, false, err
		}
		if err := f.tolerate(f.speak(ctx)); err != nil {
			return c, false, err
		}
		if len(f.live()) == 0 && !f.expectsMore() {
			return c, false, nil
		}
		if !look {
			continue
		}
		over, taken, err := f.lookAround(ctx)
		if over || taken.Owner == f.Replica {
			return taken, !over, nil
		}
		if err := f.tolerate(err); err != nil {
			return c, false, err
		}
	}
}

// wait waits until there is something to say, or maybe to see.
func (f *follower) wait(ctx context.Context) (look bool, err error) {
	for {
		select {
		case <-f.woken:
			if f.urgent() {
				return false, nil
			}
			if !f.gathering {
				f.gathering = true
				f.gathered.Reset(gather)
			}
		case <-f.gathered.C:
			f.gathering = false
			return false, nil
		case <-f.overrun.C:
			f.cutAll()
			return false, nil
		case <-f.news:
			return true, nil
		case <-f.strolls.C:
			return true, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// expectsMore tells whether callers may still join here.
func (f *follower) expectsMore() bool { return time.Now().Before(f.registersUntil) }

// tolerate passes over a database that cannot be reached, for as long as an owner might.
func (f *follower) tolerate(err error) error {
	switch {
	case err == nil:
		f.heardAt = time.Now()
		return nil
	case db.IsKind(err, db.Unavailable) && !errors.Is(err, errForgotten) && time.Since(f.heardAt) < f.Lease:
		return nil
	}
	return err
}

// urgent tells whether what there is to say should not wait for more.
func (f *follower) urgent() bool {
	n := 0
	for _, c := range f.ours() {
		more, done := c.since(f.sent[c])
		n += len(more)
		if n >= maxTogether || done && !f.finished[c] || c.isOver() && !f.departed[c] {
			return true
		}
	}
	return false
}

// speak tells of callers who are gone, and of what the others proposed since.
func (f *follower) speak(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := f.sayGone(ctx); err != nil {
		return err
	}
	for f.collecting {
		b := f.gatherBatch()
		if len(b.proposals)+len(b.finished) == 0 {
			return nil
		}
		collecting, err := f.Store.Propose(ctx, f.ref, b.proposals, b.finishedIDs())
		if err == nil {
			err = f.sayAlive(ctx)
		}
		if err != nil {
			return err
		}
		if f.collecting = collecting; collecting {
			f.note(b)
			continue
		}
		f.cutAll()
	}
	return nil
}

func (f *follower) sayGone(ctx context.Context) error {
	var gone []*call
	var ids []uuid.UUID
	for _, c := range f.ours() {
		if c.isOver() && !f.departed[c] {
			gone, ids = append(gone, c), append(ids, c.id)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	err := f.Store.LeaveCycle(ctx, f.ref, ids)
	if err == nil {
		var now db.CycleNow
		if now, err = f.Store.LookAtCycle(ctx, f.ref, ids); err == nil { // what was decided before they left
			f.tellVerdicts(now.Accepted)
		}
	}
	for _, c := range gone {
		if f.departed[c] = err == nil; f.departed[c] {
			c.part()
		}
	}
	return err
}

// lookAround delivers what was accepted, says that we live, and tells whether the cycle is over for us, or ours to run.
func (f *follower) lookAround(ctx context.Context) (over bool, taken db.Cycle, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ids := f.live()
	now, err := f.Store.LookAtCycle(ctx, f.ref, ids)
	switch {
	case err != nil:
		return false, taken, err
	case !now.Known:
		return false, taken, errForgotten
	}
	f.tellVerdicts(now.Accepted)
	switch {
	case now.State == db.CycleEnded:
		var failure error
		if now.Failure != "" {
			failure = errors.New(now.Failure)
		}
		f.endAll(failure)
		return true, taken, nil
	case now.Silent:
		taken, ours, err := f.Store.TakeOverCycle(ctx, f.ref)
		if ours {
			f.setTimes(taken)
		}
		return false, taken, err
	case now.State == db.CycleEvaluates && f.collecting:
		f.collecting = false
		f.cutAll()
	}
	return false, taken, f.sayAlive(ctx)
}

// sayAlive says that the callers still wait, where it is time to.
func (f *follower) sayAlive(ctx context.Context) error {
	if time.Since(f.saidAt) < f.Lease/4 {
		return nil
	}
	err := f.Store.SeeCallers(ctx, f.ref, f.live())
	if err == nil {
		f.saidAt = time.Now()
	}
	return err
}

// depart takes this replica's callers out of a cycle that it can follow no more.
func (f *follower) depart(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), parting)
	defer cancel()
	if ids := f.live(); len(ids) > 0 {
		_ = f.Store.LeaveCycle(ctx, f.ref, ids) // or they count as gone after a lease
	}
}
