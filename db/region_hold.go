package db

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/panics"
)

// While a region is between two cells, nobody writes it here, for about 200 ms (db/region_move_flip.go). A call that is
// refused meanwhile waits in its replica, and goes on when the region is flipped: with Elsewhere, or here if the fence
// was lifted. A caller who obeyed the Retry-After of a refusal would wait for a second longer.
//
// A call that waits has no connection and no lock, so it delays no other region. The age of the fence, by the clock of
// the database, says for how long calls wait: a command that froze behind its fence costs callers a second once, and
// not each of them a second. One goroutine of a process asks for all calls of a region, so there is nothing to notify.
const (
	holdFenceFor  = time.Second           // from the fence on, calls wait; later ones are refused at once
	maxHeldCalls  = 256                   // of a process: half of those that it serves at a time, unless that was set
	askFenceEvery = 20 * time.Millisecond // short against the flip
	askFenceFor   = 30 * time.Second      // bounds the goroutine where the database does not answer
)

// heldCalls are the calls of a process that wait for regions to be flipped. The zero value has none.
type heldCalls struct {
	mu      sync.Mutex
	count   int
	watches map[string]*fenceWatch // by region; one is here until it ends
}

// fenceWatch follows a region until its writes are not refused any more, or calls about it are not held any longer. The
// fields are written before ended is closed.
type fenceWatch struct {
	ended chan struct{}
	// Exactly one of the two is set, if calls waited for long enough.
	isLifted  bool  // this cell goes on serving the region
	elsewhere error // the other cell serves it
}

// holdUntilFlip waits with a call whose transaction was refused since its region is between two cells. It returns nil if
// the call is to be decided again, else what the caller gets: refused itself, for each other error, for a fence that
// lasts, and for a caller who left. Errors: refused; Elsewhere.
func (s *Store) holdUntilFlip(ctx context.Context, refused error) error {
	region := frame.MovingRegion(refused)
	if region == "" {
		return refused
	}
	watch := s.joinWatch(region)
	if watch == nil {
		return refused
	}
	defer s.heldCalls.leave()
	select {
	case <-watch.ended:
	case <-ctx.Done():
		return refused
	}
	switch {
	case watch.elsewhere != nil:
		return watch.elsewhere
	case watch.isLifted:
		return nil
	}
	return refused
}

// untilFlip is [Store.holdUntilFlip] for a call that shares no batch: it repeats decide, which is a transaction, as often
// as its region was refused in between.
func (s *Store) untilFlip(ctx context.Context, decide func() error) error {
	for {
		err := decide()
		if err == nil {
			return nil
		}
		if err = s.holdUntilFlip(ctx, err); err != nil {
			return err
		}
	}
}

// joinWatch counts a call that waits for a region, and begins to follow it where no other call does. nil: as many calls
// wait as may.
func (s *Store) joinWatch(region string) *fenceWatch {
	h := &s.heldCalls
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count >= maxHeldCalls {
		return nil
	}
	h.count++
	watch := h.watches[region]
	if watch == nil {
		watch = &fenceWatch{ended: make(chan struct{})}
		if h.watches == nil {
			h.watches = map[string]*fenceWatch{}
		}
		h.watches[region] = watch
		// It belongs to all who wait, so none of their contexts ends it.
		go s.followFence(region, watch)
	}
	return watch
}

func (h *heldCalls) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count--
}

// followFence asks what became of a fence until calls need not wait for it any more.
func (s *Store) followFence(region string, watch *fenceWatch) {
	ctx, cancel := context.WithTimeout(context.Background(), askFenceFor)
	defer cancel()
	guard := panics.New(s.cfg.Log, nil)
	_ = guard.Do("fence", func() error {
		turns := time.NewTicker(askFenceEvery)
		defer turns.Stop()
		for s.isBetweenCells(ctx, region, watch) {
			<-turns.C
		}
		return nil
	})
	s.heldCalls.mu.Lock()
	defer s.heldCalls.mu.Unlock()
	// A call that is refused from now on begins another watch: the fence may be a new one.
	delete(s.heldCalls.watches, region)
	close(watch.ended)
}

// isBetweenCells returns whether calls about the region have to wait, and notes in the watch what became of its fence.
func (s *Store) isBetweenCells(ctx context.Context, region string, watch *fenceWatch) bool {
	fence, err := s.q.RegionFence(ctx, region)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		watch.isLifted = true
		return false
	case err != nil || fence.Direction != "leaves":
		// A region that arrives is refused for as long as it is copied.
		return false
	case fence.Step == stepFlipped:
		// What this process has read of the cells may be older than the flip.
		if cells, err := s.readElsewhere(ctx); err == nil && cells[region] != nil {
			watch.elsewhere = fault.NewElsewhere(cells[region])
		}
		return false
	}
	return fence.FencedFor < holdFenceFor
}
