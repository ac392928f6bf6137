package webhooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/internal/base/outbound"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/token"
)

const (
	// takeEvery is how often a worker looks for webhooks that nobody delivers for.
	takeEvery = time.Second
	// lease is how long a webhook is a worker's without a renewal, unless the options say otherwise.
	lease = 5 * time.Second
	// reportEvery is how often the places of webhooks are exported.
	reportEvery = 15 * time.Second
	callTimeout = 10 * time.Second
)

// Options configure an [Engine]. Store and Sealer are required.
type Options struct {
	Store  *db.Store
	Sealer *token.Sealer
	// Hosts are the hosts, addresses and networks that webhooks may have, as outbound.ParseAllowList reads them. None:
	// nothing can be delivered.
	Hosts   []string
	Lease   time.Duration         // how long a webhook is a worker's without a renewal; 0 means 5 s
	Log     *slog.Logger          // nil: no log
	Metrics prometheus.Registerer // nil: no metrics
}

// Engine delivers for webhooks. Make it with [New].
type Engine struct {
	options    Options
	leaseLasts time.Duration
	workerID   uuid.UUID
	client     *http.Client
	keyRings   *keys
	guard      *panics.Guard
	metrics    *metrics
	couriers   sync.WaitGroup
}

// New makes an engine; [Engine.Run] starts it. Errors: a required option is missing, a host is invalid, the metrics are
// already registered.
func New(o Options) (*Engine, error) {
	if o.Store == nil || o.Sealer == nil {
		return nil, errors.New("webhooks: a store and a sealer are required")
	}
	allowed, err := outbound.ParseAllowList(o.Hosts, false)
	if err != nil {
		return nil, fmt.Errorf("the hosts of webhooks: %w", err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Lease == 0 {
		o.Lease = lease
	}
	m, err := newMetrics(o.Metrics)
	if err != nil {
		return nil, err
	}
	return &Engine{
		options: o, leaseLasts: o.Lease, workerID: uuid.New(), client: newClient(allowed),
		keyRings: &keys{store: o.Store, sealer: o.Sealer}, guard: panics.New(o.Log, nil), metrics: m,
	}, nil
}

// Run delivers until ctx ends, and returns when all requests have ended and the leases are given up.
func (e *Engine) Run(ctx context.Context) {
	calls := outage.New(e.options.Log)
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
	taken, err := e.options.Store.TakeWebhooks(ctx, e.workerID, e.leaseLasts)
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
