package webhooks

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/db"
)

const (
	// maxRequests is how many requests of one webhook run at a time.
	maxRequests = 16
	// maxFailed is how many letters of a round may fail, with none delivered, before the others are not tried.
	maxFailed = 4
)

// round sends the letters of batches: those of one batch one after another, until one fails.
type round struct {
	engine                 *Engine
	targetURL              string
	sentCount, failedCount atomic.Int64
}

// sendBatches returns when all letters were tried that are to be, or ctx has ended. Errors: ctx's, and those of the
// keys. After an error nothing of the round is recorded: what was delivered is sent again, with the same webhook-id.
func (r *round) sendBatches(ctx context.Context, batches []*batch) error {
	var running errgroup.Group
	running.SetLimit(maxRequests)
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
		m, err := r.signLetter(ctx, l)
		if err != nil {
			return err
		}
		failed := postMessage(ctx, r.engine.client, r.targetURL, m)
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

// signLetter makes the message of a letter. Each attempt has a time and signatures of its own.
func (r *round) signLetter(ctx context.Context, l db.Letter) (message, error) {
	ring, err := r.engine.keyRings.currentRing(ctx)
	if err != nil {
		return message{}, err
	}
	m := message{id: webhookID(l.Cursor.ID), bodyText: l.Body, signedAt: r.engine.options.Store.Now()}
	m.signatureText, err = ring.SignWebhook(m.signedAt, m.id, []byte(l.Body))
	return m, err
}
