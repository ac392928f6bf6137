// Package worker owns the background loops of the director. Any number of workers may run, beside any number of
// replicas, without a leader. Every decision that two workers could disagree on is made in package db, under locks that
// no worker waits for: a second worker finds less to do and never does the same thing twice.
//
// What each loop guarantees:
//
//	reap     Instances whose lease has expired end, their sessions close, and seats whose players never connected
//	         become free, about an interval after they are due. Only capacity depends on it: every call checks
//	         leases itself.
//	evacuate Players of a region, a host or a label that operators evacuate lose their seats, and wait or play
//	         elsewhere.
//	rotate   There is always a signing key and a next one that verifiers already know, and no key stays sealed by an
//	         old key-encryption key.
//	prune    Stored answers, redeemed token ids, ended instances, replicas, agents and commands, lapsed demand and
//	         old keys are deleted when their retention is over.
//	agents   The agents of replicas whose lease has expired leave, and commands that nobody waits for time out. Lists
//	         and placement leave out such agents by themselves.
//	realtime Sessions of the realtime lobby whose replica is dead are suspended, and those that are not resumed
//	         within their TTL end. Whether a client can resume its session does not depend on when the loop runs.
//	erase    Players are erased that an operator asked for in SQL, and the last pass over the tables of each erasure
//	         is made.
//	lobby    Rooms of the realtime lobby close when they have been empty for their grace, and old rows of their logs
//	         are deleted.
//	queue    Expired tickets and backfills are deleted; queries ignore them from the moment they expire. Ready
//	         checks that no owner of their profile ends are ended.
//	waiting  Rooms of the realtime lobby learn what became of the tickets with which their members queued, and that
//	         their match has ended (lobby_tickets.go).
//	admit    The first players of login queues are admitted, as fast as their valves allow. Who is next depends on
//	         the rows only.
//	admissions Places of players who are away for longer than five minutes end, and admissions of those who have left.
//	analyze  Hot tables that grew by half are analyzed within seconds, so that a young installation has good plans.
//	vacuum   Hot tables with more dead than live rows are vacuumed within seconds, while they are small.
//	sample   Once a minute, the measures that the console plots are written. A minute in which no worker runs has
//	         none.
//	history  Partitions exist days before they are needed, and days past the retention are dropped whole.
//	watch    The cheap checks of doctor are made every 15 seconds, and exported for alerts.
//	report   A process that is a worker alone stores every 5 seconds that it runs.
//	clock    A process that is a worker alone compares its clock with the database's, as a replica does.
//	scale    Pools have the servers that their players need: the loop decides how many, and which end. Runs with
//	         providers only.
//	provision Deployments are started and stopped at their providers, each exactly once: see the comment of migration
//	         00026.
//	orphans  Servers that run at a provider without a deployment are stopped; deployments whose server the provider
//	         does not list any more are looked at.
//	webhooks Events of the log are sent to webhooks, each by one worker: internal/webhooks, with loops of its own.
//	match    Tickets of profiles become matches. This is the director loop, internal/matching/loop, with a schedule
//	         of its own.
//
// A loop runs when its worker starts, and then at its interval. Jitter of a tenth keeps many workers from running in
// step. Each run has a timeout. A run that fails or panics is retried with growing pauses; other loops are not
// affected. Each loop has a file of its own, with its logic in runOnce, which returns what the run did.
//
// Each loop also records its successes in the database (loop.go), where operators see whether any worker runs.
package worker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/wait"
	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/internal/keymint"
	matchloop "github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/webhooks"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/token"
)

// reapInterval is the pause of the loops that end what has expired. Every call checks leases itself.
const reapInterval = time.Second

// Options configure a [Worker]. Store and Sealer are required; the zero value of every other field is usable.
type Options struct {
	Store  *db.Store
	Sealer *token.Sealer
	// Alg is the algorithm of new signing keys, token.AlgEdDSA or token.AlgEd25519; "" means token.AlgEdDSA.
	Alg string
	// Policy is the schedule of key rotation. All replicas must have the same one.
	Policy db.KeyPolicy
	// Retention is how long history and events are kept, in whole days; 0 means 30 days. Calls about a closed session
	// answer 404 instead of 410 once its history is dropped.
	Retention time.Duration
	// MatchRetention is how long the history of matches and tickets is kept; 0 means 7 days, and less than 0 not at
	// all.
	MatchRetention time.Duration
	MatchLoop      *matchloop.Options // the director loop; nil: this worker does not decide about tickets
	// Providers run game servers, by the name that app versions have. A worker handles the deployments of these
	// providers only.
	Providers map[string]provider.Provider
	Provision *ProvisionOptions // required with Providers
	// WebhookHosts are the hosts, addresses and networks that webhooks may have; none: nothing can be delivered.
	WebhookHosts []string
	Doctor       doctor.Doctor         // what the watch loop checks with; Store replaces its store
	Reports      bool                  // the process is a worker alone, and stores that it runs
	Log          *slog.Logger          // nil: no log
	Metrics      prometheus.Registerer // nil: no metrics
}

// Defaults returns what operators may change, with its defaults. [New] uses them for fields that are zero.
func Defaults() Options {
	return Options{Alg: token.AlgEdDSA, Retention: 30 * day, MatchRetention: 7 * day}
}

func (o Options) withDefaults() Options {
	d := Defaults()
	o.Alg = cmp.Or(o.Alg, d.Alg)
	o.Retention = cmp.Or(o.Retention, d.Retention)
	o.MatchRetention = cmp.Or(o.MatchRetention, d.MatchRetention)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Worker runs the loops. Make one with [New].
type Worker struct {
	loops     []*loop
	matcher   matcher // nil: none
	webhooks  *webhooks.Engine
	provision *provisioner // its steps run beside its loops; nil: none
}

// New makes a worker; [Worker.Run] starts it. Errors: a required option is missing, or the metrics are already
// registered.
func New(o Options) (*Worker, error) {
	if o.Store == nil || o.Sealer == nil {
		return nil, errors.New("worker: a store and a sealer are required")
	}
	o = o.withDefaults()
	m, err := newMetrics(o.Metrics)
	if err != nil {
		return nil, err
	}
	o.Doctor.Store = o.Store
	watch, err := newWatcher(o.Doctor, o.Metrics)
	if err != nil {
		return nil, err
	}
	admit, err := newAdmitter(o.Store, o.Metrics)
	if err != nil {
		return nil, err
	}
	w := &Worker{loops: o.loops(watch, admit)}
	if err := w.addProvision(o); err != nil {
		return nil, err
	}
	for _, l := range w.loops {
		l.storeSuccess = o.Store.RecordRun
	}
	// The successes of these two are not recorded: where all workers are replicas as well, none runs them, and they
	// would look late.
	if o.Reports {
		w.loops = append(w.loops,
			&loop{name: "report", interval: 5 * time.Second, runTimeout: 2 * time.Second,
				runOnce: reporter{o.Store}.runOnce},
			&loop{name: "clock", interval: 10 * time.Second, runTimeout: 2 * time.Second,
				runOnce: clockReader{o.Store}.runOnce})
	}
	for _, l := range w.loops {
		l.log, l.metrics = o.Log.With(slog.String("loop", l.name)), m
		// The loops provision and scale are also woken: they have set their own.
		if l.waitForNext == nil {
			l.waitForNext = wait.For
		}
	}
	if w.webhooks, err = webhooks.New(webhooks.Options{
		Store: o.Store, Sealer: o.Sealer, Hosts: o.WebhookHosts, Log: o.Log, Metrics: o.Metrics,
	}); err != nil {
		return nil, err
	}
	if o.MatchLoop != nil {
		if w.matcher, err = matchloop.New(*o.MatchLoop); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// loops are those of each worker.
func (o Options) loops(watch *watcher, admit *admitter) []*loop {
	retention := db.Retention{MatchHistory: max(0, o.MatchRetention), OtherTables: o.Retention}
	rotate := rotator{
		store: o.Store, sealer: o.Sealer, keyPolicy: o.Policy, mintKey: keymint.With(o.Sealer, o.Alg),
		deploymentKeys: &deploymentResealer{store: o.Store, sealer: o.Sealer},
		projectKeys:    &projectResealer{store: o.Store, sealer: o.Sealer},
	}
	return []*loop{
		{name: "reap", interval: reapInterval, runTimeout: 30 * time.Second, runOnce: reaper{o.Store}.runOnce},
		{name: "evacuate", interval: evacuateInterval, runTimeout: 30 * time.Second,
			runOnce: evacuator{o.Store}.runOnce},
		{name: "rotate", interval: 10 * time.Second, runTimeout: 10 * time.Second, runOnce: rotate.runOnce},
		{name: "prune", interval: time.Minute, runTimeout: time.Minute, runOnce: pruner{o.Store, o.Retention}.runOnce},
		{name: "agents", interval: reapInterval, runTimeout: 30 * time.Second,
			runOnce: (&agentReaper{store: o.Store}).runOnce},
		{name: "realtime", interval: reapInterval, runTimeout: 30 * time.Second,
			runOnce: realtimeReaper{o.Store}.runOnce},
		{name: "erase", interval: eraseInterval, runTimeout: 5 * time.Minute,
			runOnce: eraser{o.Store}.runOnce},
		{name: "lobby", interval: 2 * time.Second, runTimeout: 30 * time.Second,
			runOnce: (&lobbyCleaner{store: o.Store}).runOnce},
		{name: "queue", interval: time.Second, runTimeout: 30 * time.Second,
			runOnce: (&queueSweeper{store: o.Store}).runOnce},
		{name: "waiting", interval: 500 * time.Millisecond, runTimeout: 30 * time.Second,
			runOnce: lobbyTicketNotifier{o.Store}.runOnce},
		{name: "admit", interval: 200 * time.Millisecond, runTimeout: 10 * time.Second,
			runOnce: admit.runOnce},
		{name: "admissions", interval: 5 * time.Second, runTimeout: 30 * time.Second,
			runOnce: (&admissionSweeper{store: o.Store}).runOnce},
		{name: "analyze", interval: 2 * time.Second, runTimeout: 10 * time.Second, runOnce: analyst{o.Store}.runOnce},
		{name: "vacuum", interval: 2 * time.Second, runTimeout: 30 * time.Second, runOnce: vacuumer{o.Store}.runOnce},
		{name: "sample", interval: 15 * time.Second, runTimeout: 10 * time.Second, runOnce: sampler{o.Store}.runOnce},
		{name: "watch", interval: 15 * time.Second, runTimeout: 30 * time.Second, runOnce: watch.runOnce},
		{name: "history", interval: 10 * time.Minute, runTimeout: 5 * time.Minute,
			runOnce: historian{o.Store, retention}.runOnce},
	}
}

// addProvision adds the loops that call providers.
func (w *Worker) addProvision(o Options) error {
	if len(o.Providers) == 0 {
		return nil
	}
	m, err := newProvisionMetrics(o.Metrics)
	if err != nil {
		return err
	}
	if w.provision, err = newProvisioner(o, m); err != nil {
		return err
	}
	scale := &scaler{store: o.Store, sealer: o.Sealer, claimDatabase: w.provision.claimDatabase}
	orphans := &orphanSweeper{provisioner: w.provision}
	w.loops = append(w.loops,
		&loop{name: "scale", interval: scaleEvery, runTimeout: 30 * time.Second, runOnce: scale.runOnce,
			waitForNext: scale.waitForDemand},
		&loop{name: "provision", interval: provisionInterval, runTimeout: 30 * time.Second,
			runOnce:     w.provision.runOnce,
			waitForNext: w.provision.loopWaker.waitForWake},
		&loop{name: "orphans", interval: min(orphansTicker, w.provision.opt.SweepEvery), runTimeout: 5 * time.Minute,
			runOnce: orphans.runOnce})
	return nil
}

// Run runs all loops until ctx ends, and returns when the last loop has ended. The end of ctx cancels runs in progress;
// the next worker finds what they had not committed.
func (w *Worker) Run(ctx context.Context) {
	var loops sync.WaitGroup
	if w.provision != nil {
		w.provision.beginLife(ctx)
		// Deferred behind the loops' end: from then on no loop launches a step.
		defer w.provision.finishSteps()
	}
	for _, l := range w.loops {
		loops.Go(func() { l.run(ctx) })
	}
	if w.webhooks != nil {
		loops.Go(func() { w.webhooks.Run(ctx) })
	}
	if w.matcher != nil {
		loops.Go(func() { w.matcher.Run(ctx) })
	}
	loops.Wait()
}
