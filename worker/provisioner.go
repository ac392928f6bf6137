package worker

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/provider"
)

// ProvisionOptions configure the loops provision and orphans.
type ProvisionOptions struct {
	// Owner marks what this installation has started. All workers must have the same one; a worker with another owner
	// than that which the database has stored provisions nothing, because its database may be a copy of another
	// installation's.
	Owner provider.Owner
	// Timeout bounds a call of a provider; 0 means DefaultCallTimeout.
	Timeout time.Duration
	// SweepEvery is the interval at which servers without a deployment are searched for; 0 means 5 minutes.
	SweepEvery time.Duration
	// Environment returns the environment of a deployment's server, and the URL at which its provider reports changes,
	// "" for none. An error ends the deployment.
	Environment func(provision.Deployment, provision.AppVersion) (provider.Env, provider.Secret, error)
}

// DefaultCallTimeout bounds a call of a provider, unless the options have another bound.
const DefaultCallTimeout = 15 * time.Second

func (o ProvisionOptions) withDefaults() ProvisionOptions {
	o.Timeout, o.SweepEvery = cmp.Or(o.Timeout, DefaultCallTimeout), cmp.Or(o.SweepEvery, 5*time.Minute)
	return o
}

// provisioner claims due deployments and makes one step for each. Its calls run beside each other and beside the next
// claims, with no transaction open and no lock held.
type provisioner struct {
	store     *db.Store
	opt       ProvisionOptions
	providers map[string]provider.Provider
	log       *slog.Logger
	metrics   *provisionMetrics

	workerLife      context.Context // of the worker; after its end no more calls start
	callsContext    context.Context // ends at most shutdownGrace after workerLife
	cancelCalls     context.CancelFunc
	runningSteps    sync.WaitGroup
	stepsByProvider map[string]*atomic.Int64 // steps in progress, by provider
	loopWaker       *waker
	ownsDatabase    atomic.Bool // the database has this worker's owner
}

func newProvisioner(o Options, m *provisionMetrics) (*provisioner, error) {
	if o.Provision == nil || !o.Provision.Owner.Valid() || o.Provision.Environment == nil {
		return nil, fmt.Errorf("worker: providers need an owner and an environment")
	}
	p := &provisioner{
		store: o.Store, opt: o.Provision.withDefaults(), providers: o.Providers,
		log: o.Log.With(slog.String("loop", "provision")), metrics: m,
		stepsByProvider: map[string]*atomic.Int64{}, loopWaker: newWaker(o.Store),
	}
	for name := range o.Providers {
		p.stepsByProvider[name] = &atomic.Int64{}
	}
	p.beginLife(context.Background())
	return p, nil
}

// versionCache holds the app versions of a batch.
type versionCache map[[2]string]*provision.AppVersion

// get reads each app version once. Errors: NotFound, Unavailable.
func (c versionCache) get(ctx context.Context, store *db.Store, app, version string) (*provision.AppVersion, error) {
	key := [2]string{app, version}
	if v, ok := c[key]; ok {
		return v, nil
	}
	v, err := store.FindAppVersion(ctx, app, version)
	if err != nil {
		return nil, err
	}
	c[key] = &v
	return &v, nil
}

// Bounds of the loop.
const (
	provisionInterval = 250 * time.Millisecond
	noRegionsPause    = time.Second // between two looks for the first pool
	provisionBatch    = 32          // deployments that one statement claims
	// steps in progress for each provider in this worker, so that a slow provider blocks no others
	maxSteps       = 128
	claimTimeouts  = 3   // the length of a claim, in call timeouts
	budgetShare    = 0.8 // of a provider's limit that all workers together use
	shutdownGrace  = 5 * time.Second
	releaseTimeout = 2 * time.Second
	resolveTimeout = 5 * time.Second
)

// resolveHost returns an address of a host name, an IPv4 one if there is one, or the zero Addr.
func (p *provisioner) resolveHost(ctx context.Context, host string) netip.Addr {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(found) == 0 {
		p.log.LogAttrs(ctx, slog.LevelWarn, "the host name of a server could not be resolved",
			slog.String("host", host), slog.Any("error", err))
		return netip.Addr{}
	}
	// Unmapped, since resolvers give IPv4 addresses also in IPv6 form.
	if i := slices.IndexFunc(found, func(a netip.Addr) bool { return a.Unmap().Is4() }); i >= 0 {
		return found[i].Unmap()
	}
	return found[0]
}

// putBack makes deployments due again, at once or at a time, even if ctx has ended.
func (p *provisioner) putBack(ctx context.Context, claimed []provision.ClaimedDeployment, next time.Time) error {
	// Most often ctx has ended since the worker stops: just then others should get the deployments.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	return p.store.PutBackDeployments(ctx, claimed, slices.Repeat([]time.Time{next}, len(claimed)))
}
