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
	courier      *courier
	url          string
	sent, failed atomic.Int64
}

// run returns when all letters were tried that are to be, or ctx has ended. Errors: ctx's, and those of the keys.
func (r *round) run(ctx context.Context, batches []*batch) error {
	var running errgroup.Group
	running.SetLimit(sideBySide)
	for _, b := range batches {
		running.Go(func() error { return r.send(ctx, b) })
	}
	return running.Wait()
}

func (r *round) isHopeless() bool { return r.sent.Load() == 0 && r.failed.Load() >= maxFailed }

func (r *round) send(ctx context.Context, b *batch) error {
	for _, l := range b.letters {
		if r.isHopeless() {
			return nil
		}
		m, err := r.courier.seal(ctx, l)
		if err != nil {
			return err
		}
		failed := post(ctx, r.courier.engine.client, r.url, m)
		if ctx.Err() != nil {
			return ctx.Err() // the answer, if there was one, says nothing
		}
		if failed != nil {
			r.failed.Add(1)
			b.failed = failed
			return nil
		}
		r.sent.Add(1)
		b.sent++
	}
	return nil
}
