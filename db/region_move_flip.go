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
	fenceTries    = 20                    // to lock a region; a frozen transaction ends within two seconds
	markWithin    = 2 * time.Second       // after that, the fence is lifted: callers do not wait for a slow cell
	markEvery     = 10 * time.Millisecond // between two looks whether the mark has arrived
	liftWithin    = 2 * time.Second       // bounds the statements that lift a fence
	notifyWithin  = time.Second           // bounds the notification of the further cells, for which callers wait
	maxLifted     = 5                     // fences of one run of the command
	answersAtOnce = 1000                  // stored answers that one statement copies
	// heardWithin is the time that a notification of the new cell takes to all replicas. Callers are sent there only
	// afterwards: see notifyOthers.
	heardWithin = 150 * time.Millisecond
	// answersAgain is by how much a copy of answers overlaps with the one before: an answer in it may be of a
	// transaction that was not committed then.
	answersAgain = 5 * time.Second
)

// fence makes this cell refuse writes of the region.
func (m *RegionMove) fence(ctx context.Context) error {
	for try := 1; ; try++ {
		err := m.source.moveTx(ctx, m.actor, func(q *query.Queries) error {
			_, err := q.FenceRegion(ctx, m.id)
			return err
		})
		if !frame.IsLockTimeout(err) || try == fenceTries {
			return err
		}
		// Writers queue behind the lock that fence_region waits for: between two tries they are served.
		if !wait.For(ctx, moveEvery/2) {
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
		return m.undoneError()
	}
	// At a later step, a command that was killed has flipped the region there, and only this cell is left.
	if there.Step == stepCopying {
		if err := m.serveThere(ctx, row); err != nil {
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

// serveThere makes the other cell serve the region by the fence of a move. Errors: Unavailable, also where that cell
// refuses the fence.
func (m *RegionMove) serveThere(ctx context.Context, row query.LastMoveRow) error {
	if err := m.awaitMark(ctx, row.Fences); err != nil {
		return err
	}
	// Copied behind the mark, so that no further answer is stored here: writes of the region are refused.
	if err := m.copyAnswers(ctx); err != nil {
		return err
	}
	// region_beacons is not replicated: the other cell gets a copy, unless it has a beacon for the region.
	beacon, err := m.source.q.BeaconOf(ctx, m.terms.Region)
	if err != nil {
		return err
	}
	return m.target.moveTx(ctx, m.actor, func(q *query.Queries) error {
		served, err := q.ServeRegion(ctx, query.ServeRegionParams{ID: m.id, Fence: row.Fences, Beacon: beacon})
		if err != nil {
			return err
		}
		// Another command has flipped the region, or was killed while it lifted this fence.
		if !served {
			return fault.NewUnavailable("the other cell refuses this fence", nil)
		}
		return nil
	})
}

// notifyOthers names the new cell of the region to the further cells, before this one sends callers away: SDKs follow
// one answer 421 for each call, and a further cell that does not know the new one sends its callers here.
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
			// The flip does not wait for cells that are down: the report says how many were not reached.
			if err != nil {
				unreached.Add(1)
			}
		})
	}
	running.Wait()
	m.unreachedCells = int(unreached.Load())
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

// lift ends a fence whose region could not be flipped because of cause, so that this cell takes writes again. Where the
// other cell does not answer, or has flipped the region, the fence stays. It returns nil if the move is to continue,
// else cause.
func (m *RegionMove) lift(ctx context.Context, fence int32, cause error) error {
	// Also after Ctrl-C: otherwise the region would be refused until somebody starts the command again.
	isStopped := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), liftWithin)
	defer cancel()
	forbidden, err := m.target.q.ForbidFlip(ctx, query.ForbidFlipParams{ID: m.id, Fence: fence})
	// The other cell may have flipped the region, and then this one must not take writes.
	if err != nil {
		return cause
	}
	// Another command has flipped or undone the move: Run reads which, and continues with that step.
	if forbidden == 0 {
		return nil
	}
	if _, err := m.source.q.LiftFence(ctx, query.LiftFenceParams{ID: m.id, Fence: fence}); err != nil {
		return err
	}
	m.liftedFences++
	isRepeatable := fault.Is(frame.Classify(cause), fault.Unavailable)
	if isRepeatable && !isStopped && m.liftedFences < maxLifted {
		return nil
	}
	return cause
}

// copyAnswers copies the stored answers of calls about the region, so that a call which is repeated in the other cell
// gets the answer that it had here. It continues behind the last answer that this move has copied.
func (m *RegionMove) copyAnswers(ctx context.Context) error {
	m.lastCopied = query.IdempotencyKey{ExpiresAt: m.lastCopied.ExpiresAt.Add(-answersAgain)}
	for {
		page, err := m.source.q.AnswersToCopy(ctx, query.AnswersToCopyParams{After: m.lastCopied.ExpiresAt,
			Caller: m.lastCopied.Caller, Key: m.lastCopied.Key, Region: m.terms.Region, Page: answersAtOnce})
		if err != nil || len(page) == 0 {
			return err
		}
		var arg query.CopyAnswersParams
		for _, a := range page {
			arg.Callers, arg.Keys = append(arg.Callers, a.Caller), append(arg.Keys, a.Key)
			arg.Hashes, arg.Answers = append(arg.Hashes, a.RequestHash), append(arg.Answers, string(a.Answer))
			arg.Expires = append(arg.Expires, a.ExpiresAt)
		}
		if err := m.target.q.CopyAnswers(ctx, arg); err != nil {
			return err
		}
		m.lastCopied = page[len(page)-1]
		if len(page) < answersAtOnce {
			return nil
		}
	}
}
