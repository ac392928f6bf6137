package webhooks

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/outbound"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/token"
)

// defaultLease is how long a webhook is a worker's without a renewal, unless the options say otherwise.
const defaultLease = 5 * time.Second

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
	options  Options
	workerID uuid.UUID
	client   *http.Client
	keyRings *keys
	guard    *panics.Guard
	metrics  *metrics
	couriers sync.WaitGroup
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
		o.Lease = defaultLease
	}
	m, err := newMetrics(o.Metrics)
	if err != nil {
		return nil, err
	}
	return &Engine{
		options: o, workerID: uuid.New(), client: newClient(allowed),
		keyRings: &keys{store: o.Store, sealer: o.Sealer}, guard: panics.New(o.Log, nil), metrics: m,
	}, nil
}
