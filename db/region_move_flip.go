package db

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/wait"
)

const (
	fenceTries    = 20              // to lock a region that a transaction writes; a frozen one ends within two seconds
	markWithin    = 2 * time.Second // after that, the fence is lifted: callers do not wait for a slow cell
	markEvery     = 10 * time.Millisecond
	notifyWithin  = time.Second // callers wait
	maxLifted     = 5           // fences of one run of the command
	answersAtOnce = 1000
	// Replicas of the other cells hear of the region by a notification, before callers are sent to them: a caller whom
	// they sent back would be lost, since SDKs follow one answer.
	heardWithin = 150 * time.Millisecond
	// Answers that were stored so shortly before the last one that was copied may be of transactions that were not
	// committed then.
	answersAgain = 5 * time.Second
)

// fence makes this cell refuse writes of the region.
func (m *RegionMove) fence(ctx context.Context) error {
	for try := 1; ; try++ {
		err := m.source.moveTx(ctx, m.actor, func(q *query.Queries) error {
			_, err := q.FenceRegion(ctx, m.id)
			return err
		})
		// Writers queue behind the lock that fence_region waits for: between two tries they are served.
		if !frame.IsLockTimeout(err) || try == fenceTries || !wait.For(ctx, moveEvery/2) {
			return err
		}
	}
}

// flip makes the other cell serve the region, once all that was written here has arrived there.
func (m *RegionMove) flip(ctx context.Context) error {
	row, err := m.source.q.LastMove(ctx, m.id)
	if err != nil {
		return err
	}
	there, err := m.target.q.LastMove(ctx, m.id)
	if err != nil {
		return err
	}
	if there.Step == stepUndone {
		return fault.New(fault.Conflict, "conflict", "the move of region %q is being undone: finish that first",
			m.terms.Region)
	}
	// Otherwise a command that was killed has flipped it there, and only this cell is left.
	if there.Step == stepCopying {
		served, err := m.serveThere(ctx, row)
		if err == nil && !served { // another command has flipped it, or was killed while it lifted this fence
			err = fault.NewUnavailable("the other cell refuses this fence", nil)
		}
		if err != nil {
			return m.lift(ctx, row.Fences, err)
		}
	}
	// From here on the region is served there: a command that is started again does the rest.
	m.notifyOthers(ctx)
	wait.For(ctx, heardWithin)
	return m.source.moveTx(ctx, m.actor, func(q *query.Queries) error {
		_, err := q.GiveRegionAway(ctx, m.id)
		return err
	})
}

func (m *RegionMove) serveThere(ctx context.Context, row query.LastMoveRow) (served bool, err error) {
	if err := m.awaitMark(ctx, row.Fences); err != nil {
		return false, err
	}
	// After the mark: no further answer is stored here, since writes of the region are refused.
	if err := m.copyAnswers(ctx); err != nil {
		return false, err
	}
	// region_beacons is not replicated: the other cell gets a copy, unless it has a beacon for the region.
	beacon, err := m.source.q.BeaconOf(ctx, m.terms.Region)
	if err != nil {
		return false, err
	}
	err = m.target.moveTx(ctx, m.actor, func(q *query.Queries) (err error) {
		served, err = q.ServeRegion(ctx, query.ServeRegionParams{ID: m.id, Fence: row.Fences, Beacon: beacon})
		return err
	})
	return served, err
}

// notifyOthers names the new cell of the region to the further cells, before this one sends callers away: SDKs follow
// one answer for each call, and a caller that a further cell sends here would be lost.
func (m *RegionMove) notifyOthers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, notifyWithin)
	defer cancel()
	var unreached atomic.Int64
	var running sync.WaitGroup
	for _, other := range m.terms.OtherCells {
		running.Go(func() {
			err := other.moveTx(ctx, m.actor, func(q *query.Queries) error {
				return q.NameCellOf(ctx, query.NameCellOfParams{Region: m.terms.Region, Cell: m.terms.Cell,
					Address: m.terms.Address})
			})
			// The flip does not wait for cells that are down: the report names how many were not reached.
			if err != nil {
				unreached.Add(1)
			}
		})
	}
	running.Wait()
	m.unreached = int(unreached.Load())
}

// awaitMark waits until the mark of a fence has arrived in the other cell, and with it all writes of the region.
func (m *RegionMove) awaitMark(ctx context.Context, fence int32) error {
	deadline := time.Now().Add(markWithin)
	for {
		arrived, err := m.target.q.MarkArrived(ctx, query.MarkArrivedParams{ID: m.id, Fence: fence})
		if err != nil || arrived {
			return err
		}
		if time.Now().After(deadline) {
			return fault.NewUnavailable("the other cell has not received the last writes within two seconds", nil)
		}
		if !wait.For(ctx, markEvery) {
			return ctx.Err()
		}
	}
}

// lift ends a fence whose region could not be flipped, so that this cell takes writes again. Where the other cell does
// not answer, or has flipped the region, the fence stays. It returns nil if the move is to continue, else why.
func (m *RegionMove) lift(ctx context.Context, fence int32, why error) error {
	// Also after Ctrl-C: otherwise the region would be refused until somebody starts the command again.
	stopped := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markWithin)
	defer cancel()
	forbidden, err := m.target.q.ForbidFlip(ctx, query.ForbidFlipParams{ID: m.id, Fence: fence})
	if err != nil {
		return why // it may have flipped, and then this cell must not take writes
	}
	if forbidden == 0 {
		return nil // another command has flipped or undone it: the next step finds out which
	}
	if _, err := m.source.q.LiftFence(ctx, query.LiftFenceParams{ID: m.id, Fence: fence}); err != nil {
		return err
	}
	m.lifted++
	if m.lifted < maxLifted && !stopped && fault.Is(frame.Classify(why), fault.Unavailable) {
		return nil // catch up again
	}
	return why
}

// copyAnswers copies the stored answers of calls about the region, so that a call which is repeated in the other cell
// gets the answer that it had here. Each call of it copies those that are new.
func (m *RegionMove) copyAnswers(ctx context.Context) error {
	m.copied = query.IdempotencyKey{ExpiresAt: m.copied.ExpiresAt.Add(-answersAgain)}
	for {
		page, err := m.source.q.AnswersToCopy(ctx, query.AnswersToCopyParams{After: m.copied.ExpiresAt,
			Caller: m.copied.Caller, Key: m.copied.Key, Region: m.terms.Region, Page: answersAtOnce})
		if err != nil {
			return err
		}
		var arg query.CopyAnswersParams
		for _, a := range page {
			arg.Callers, arg.Keys = append(arg.Callers, a.Caller), append(arg.Keys, a.Key)
			arg.Hashes, arg.Answers = append(arg.Hashes, a.RequestHash), append(arg.Answers, string(a.Answer))
			arg.Expires = append(arg.Expires, a.ExpiresAt)
			m.copied = a
		}
		if len(page) > 0 {
			err = m.target.q.CopyAnswers(ctx, arg)
		}
		if err != nil || len(page) < answersAtOnce {
			return err
		}
	}
}
