package webhooks

import (
	"context"
	"sync"
	"time"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/base/outage"
)

const (
	// takeEvery is how often a worker looks for webhooks that nobody delivers for.
	takeEvery = time.Second
	// reportEvery is how often the places of webhooks are exported.
	reportEvery = 15 * time.Second
	callTimeout = 10 * time.Second
)

// Run delivers until ctx ends, and returns when all requests have ended and the leases are given up.
func (e *Engine) Run(ctx context.Context) {
	calls := outage.New(e.options.Log)
	// Deferred calls run from the last to the first: no courier begins, then all have ended, then connections close.
	defer e.client.CloseIdleConnections()
	defer e.couriers.Wait()
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		follow.Loop{
			Name: "webhooks", Every: takeEvery, Retry: takeEvery, Timeout: callTimeout, Guard: e.guard,
			Do:     func(call context.Context, _ bool) error { return e.takeWebhooks(call, ctx, calls) },
			Report: calls.Call("webhooks").Report,
		}.Run(ctx)
	})
	running.Go(func() {
		follow.Loop{
			Name: "places of webhooks", Every: reportEvery, Timeout: callTimeout, Guard: e.guard,
			Do: func(call context.Context, _ bool) error { return e.reportStates(call) },
		}.Run(ctx)
	})
}

// takeWebhooks starts couriers for webhooks that nobody delivers for. They run until running ends.
func (e *Engine) takeWebhooks(ctx, running context.Context, calls *outage.Log) error {
	taken, err := e.options.Store.TakeWebhooks(ctx, e.workerID, e.options.Lease)
	for _, l := range taken {
		c := &courier{engine: e, webhookLease: l, outageLog: calls.Call("webhook " + l.Webhook.String())}
		e.couriers.Go(func() { c.runUntilLost(running) })
	}
	return err
}

// reportStates exports the places of all webhooks. Each worker does, so that the metrics do not depend on who delivers.
func (e *Engine) reportStates(ctx context.Context) error {
	all, err := opsview.Webhooks.Read(ctx, e.options.Store.Pool(), opsview.WebhookFilter{}, opsview.Page{})
	if err == nil {
		e.metrics.showWebhooks(all, e.options.Store.Now())
	}
	return err
}
