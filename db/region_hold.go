package db

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/panics"
)

// While a region is between two cells, this cell refuses its writes, for about 200 ms (db/region_move_flip.go). A call
// that is refused meanwhile waits in its replica until the region is flipped, and then fails with Elsewhere; if the
// fence is lifted, it is decided here. Without that, callers would wait for the second of Retry-After.
//
// A waiting call has no connection to the database and no lock, so it delays no other region. How long calls wait
// follows from the age of the fence by the clock of the database: if the command dies behind its fence, only the calls
// of the first second wait, and later ones fail at once. One goroutine of a process polls the fence for all waiting
// calls of a region.
const (
	holdFenceFor = time.Second // after the fence; later calls are refused at once
	// Held calls keep their slots of DIRECTOR_MAX_IN_FLIGHT, whose default is 512: half is left to other regions.
	maxHeldCalls  = 256
	askFenceEvery = 20 * time.Millisecond // a tenth of what a flip takes
	askFenceFor   = 30 * time.Second      // bounds the goroutine where the database does not answer
)

// heldCalls are the calls of a process that wait for regions to be flipped. The zero value has none.
type heldCalls struct {
	mu      sync.Mutex
	count   int
	watches map[string]*fenceWatch // by region; a watch removes itself when it ends
}

// fenceWatch follows the fence of a region until calls need not wait for it any longer.
type fenceWatch struct {
	ended chan struct{}
	end   fenceEnd // written before ended is closed, and may be read afterwards
}

// fenceEnd is why calls need not wait for a fence any longer. At most one of the two fields is set. The zero value says
// that the fence lasts too long, or could not be read: calls are refused.
type fenceEnd struct {
	isLifted  bool  // this cell still serves the region
	elsewhere error // the other cell serves it
}

// holdUntilFlip waits on behalf of a call whose transaction was refused because its region is between two cells. It
// returns nil if the call is to be decided again, and Elsewhere after the flip. It returns refused itself if that is
// another error, if the fence lasts too long or too many calls wait, and when ctx ends.
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
	if watch.end.isLifted {
		return nil
	}
	if watch.end.elsewhere != nil {
		return watch.end.elsewhere
	}
	return refused
}

// untilFlip is [Store.holdUntilFlip] for a call outside batches: it runs the transaction decide, and again each time
// that a fence was lifted. Errors: those of decide; Elsewhere.
func (s *Store) untilFlip(ctx context.Context, decide func() error) error {
	return batch.Repeat(ctx, decide, s.holdUntilFlip)
}

// joinWatch counts a call that waits for a region, and starts the watch of the region unless another call has. It
// returns nil if maxHeldCalls wait; otherwise the caller must call heldCalls.leave when it no longer waits.
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
		// Without the context of this call: the others wait on when this caller leaves.
		go s.followFence(region, watch)
	}
	return watch
}

func (h *heldCalls) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count--
}

// followFence polls a fence until calls need not wait for it any longer.
func (s *Store) followFence(region string, watch *fenceWatch) {
	ctx, cancel := context.WithTimeout(context.Background(), askFenceFor)
	defer cancel()
	// A panic is logged and ends the watch, so that its calls do not wait for ever.
	guard := panics.New(s.cfg.Log, nil)
	_ = guard.Do("fence", func() error {
		ticker := time.NewTicker(askFenceEvery)
		defer ticker.Stop()
		for {
			// Ends with ctx at the latest: the fence can then not be read.
			end := s.readFence(ctx, region)
			if end != nil {
				watch.end = *end
				return nil
			}
			<-ticker.C
		}
	})
	s.heldCalls.mu.Lock()
	defer s.heldCalls.mu.Unlock()
	// A call that is refused from now on starts another watch, since the fence may be a new one.
	delete(s.heldCalls.watches, region)
	close(watch.ended)
}

// readFence returns how the fence of a region has ended for the calls that wait for it; nil while they have to wait.
func (s *Store) readFence(ctx context.Context, region string) *fenceEnd {
	fence, err := s.q.RegionFence(ctx, region)
	// Lifted, or long over: this process may have been frozen while the region was flipped.
	if errors.Is(err, pgx.ErrNoRows) {
		elsewhere, err := s.readFlip(ctx, region)
		return &fenceEnd{isLifted: err == nil && elsewhere == nil, elsewhere: elsewhere}
	}
	if err != nil {
		return &fenceEnd{}
	}
	switch {
	// A region that arrives is refused for as long as its rows are copied: minutes or hours.
	case fence.Direction != directionLeaves:
		return &fenceEnd{}
	case fence.Step == stepFlipped:
		elsewhere, _ := s.readFlip(ctx, region) // on an error, calls are refused as before
		return &fenceEnd{elsewhere: elsewhere}
	case fence.FencedFor >= holdFenceFor:
		return &fenceEnd{}
	}
	return nil
}

// readFlip returns Elsewhere if another cell serves the region, and nil if this one does. It reads the database, since
// the cells that CheckHere knows may be two seconds old, from before the flip.
func (s *Store) readFlip(ctx context.Context, region string) (flipped, err error) {
	cells, err := s.readOtherCells(ctx)
	if err != nil || cells[region] == nil {
		return nil, err
	}
	return fault.NewElsewhere(cells[region]), nil
}
