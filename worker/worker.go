// Package worker owns the loops that tidy up behind the calls. Any number of workers may run, beside any number of
// replicas; none of them leads. What two could disagree on is decided in db, under locks that nobody waits for, so a
// second worker finds less to do and never does it twice.
//
// What each loop promises:
//
//	reap     Instances past their lease end, sessions they left behind close, seats nobody came for are free again, all
//	         about an interval after their time. Nothing hangs on it but the room they take: every call judges leases itself.
//	rotate   There is always a key that signs and a next one that verifiers know already, and no key stays sealed by a
//	         key-encryption key that is on its way out.
//	prune    What is remembered for a while is forgotten after it: stored answers, redeemed token ids, ended instances, old keys.
//	queue    Tickets and backfills whose time is over leave their tables; no query has found them since.
//	analyze  The planner knows of hot tables that grew by half within seconds, so that a young installation is not slow.
//	vacuum   Hot tables of which more is dead than lives are cleaned up within seconds, while they are small.
//	history  Tomorrow's partitions are there days before they are needed, and days past the retention are dropped whole.
//
// A loop runs at once when its worker starts, and then at its interval, spread by a tenth either way so that a fleet of
// workers does not knock in step. A run is bounded in time. One that fails, or panics, is tried again with growing
// pauses; the other loops go on. Each file holds one loop; its thought is in runOnce, which says what it did.
//
// A loop that succeeds says so in the database too (record.go): operators see there whether any worker runs.
package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/keymint"
	"github.com/lattice-director/director/token"
)

// Options say what a worker works on. Store and Sealer are required; every other zero value is usable.
type Options struct {
	Store  *db.Store
	Sealer *token.Sealer
	// Alg is what new signing keys are made for, token.AlgEdDSA or token.AlgEd25519; "" is token.AlgEdDSA.
	Alg string
	// Policy is the schedule of keys; it has to be the one that replicas go by.
	Policy db.KeyPolicy
	// ReapEvery is the interval of the reaper; 0 means one second.
	ReapEvery time.Duration
	// Retention is how long history and events are kept, cut to whole days; 0 means 30 days. Below the time that closed
	// sessions are remembered for, 410 becomes 404 early.
	Retention time.Duration
	Log       *slog.Logger          // nil: no log
	Metrics   prometheus.Registerer // nil: none
}

func (o Options) withDefaults() Options {
	if o.Alg == "" {
		o.Alg = token.AlgEdDSA
	}
	if o.ReapEvery == 0 {
		o.ReapEvery = time.Second
	}
	if o.Retention == 0 {
		o.Retention = 30 * day
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

const day = 24 * time.Hour

// Worker runs the loops. Make one with [New].
type Worker struct{ loops []*loop }

// New makes a worker that does nothing yet. Errors: an option that is missing, metrics that are registered already.
func New(o Options) (*Worker, error) {
	if o.Store == nil || o.Sealer == nil {
		return nil, errors.New("worker: a store and a sealer are required")
	}
	o = o.withDefaults()
	m, err := newMetrics(o.Metrics)
	if err != nil {
		return nil, err
	}
	rotate := rotator{store: o.Store, sealer: o.Sealer, policy: o.Policy, mint: keymint.With(o.Sealer, o.Alg)}
	w := &Worker{loops: []*loop{
		{name: "reap", every: o.ReapEvery, timeout: 30 * time.Second, runOnce: reaper{o.Store}.runOnce},
		{name: "rotate", every: 10 * time.Second, timeout: 10 * time.Second, runOnce: rotate.runOnce},
		{name: "prune", every: time.Minute, timeout: time.Minute, runOnce: pruner{o.Store, o.Retention}.runOnce},
		{name: "queue", every: time.Second, timeout: 30 * time.Second, runOnce: sweeper{o.Store}.runOnce},
		{name: "analyze", every: 2 * time.Second, timeout: 10 * time.Second, runOnce: analyst{o.Store}.runOnce},
		{name: "vacuum", every: 2 * time.Second, timeout: 30 * time.Second, runOnce: cleaner{o.Store}.runOnce},
		{name: "history", every: 10 * time.Minute, timeout: 5 * time.Minute, runOnce: historian{o.Store, o.Retention}.runOnce},
	}}
	for _, l := range w.loops {
		l.record = o.Store.RecordRun
		l.log, l.metrics, l.pause = o.Log.With(slog.String("loop", l.name)), m, pause
	}
	return w, nil
}

// Run runs all loops until ctx ends, and returns when the last of them has. Runs in progress are cut off by it; what
// they had not committed is found again by the next worker.
func (w *Worker) Run(ctx context.Context) {
	var loops sync.WaitGroup
	for _, l := range w.loops {
		loops.Go(func() { l.run(ctx) })
	}
	loops.Wait()
}
