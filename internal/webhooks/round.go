package webhooks

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

const (
	// sideBySide is how many requests of one webhook run at a time.
	sideBySide = 16
	// maxFailed is how many letters of a round may fail, with none delivered, before the others are not tried.
	maxFailed = 4
)

// round sends the letters of batches: those of one batch one after another, until one fails.
type round struct {
	courier                *courier
	targetURL              string
	sentCount, failedCount atomic.Int64
}

// sendBatches returns when all letters were tried that are to be, or ctx has ended. Errors: ctx's, and those of the keys.
func (r *round) sendBatches(ctx context.Context, batches []*batch) error {
	var running errgroup.Group
	running.SetLimit(sideBySide)
	for _, b := range batches {
		running.Go(func() error { return r.sendBatch(ctx, b) })
	}
	return running.Wait()
}

func (r *round) isHopeless() bool {
	return r.sentCount.Load() == 0 && r.failedCount.Load() >= maxFailed
}

func (r *round) sendBatch(ctx context.Context, b *batch) error {
	for _, l := range b.letters {
		if r.isHopeless() {
			return nil
		}
		m, err := r.courier.sealLetter(ctx, l)
		if err != nil {
			return err
		}
		failed := postMessage(ctx, r.courier.engine.client, r.targetURL, m)
		if ctx.Err() != nil {
			return ctx.Err() // the answer, if there was one, says nothing
		}
		if failed != nil {
			r.failedCount.Add(1)
			b.lastFailure = failed
			return nil
		}
		r.sentCount.Add(1)
		b.sentCount++
	}
	return nil
}
