package worker

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/provider"
)

// works is a database with an app version of a shop's, and workers that provision in virtual time.
type works struct {
	*bundle
	*shop
	opt ProvisionOptions
}

func setupWorks(t *testing.T) *works {
	t.Helper()
	w := &works{shop: &shop{
		can: provider.Capabilities{List: true, Stop: true}, start: 20 * time.Second, now: time.Now().Truncate(time.Microsecond), rand: rand.New(rand.NewPCG(1, 2)),
		script: map[string][]func() error{}, servers: map[provider.Ref]*server{}, executed: map[provider.Tag]int{}, most: map[provider.Tag]int{}, calls: map[string]int{},
	}}
	b := &bundle{storetest.New(t, func(c *db.Config) { c.VirtualClock, c.Timing = w.Now, db.DefaultTiming() }), t}
	w.bundle = b
	b.AddAppVersion(map[string]any{"version": "1.0", "provider": "shop", "ports": `[{"name": "game", "internal": 5000, "protocol": "udp"}]`})
	w.opt = ProvisionOptions{
		Owner: "ld-test",
		Environment: func(provision.Deployment, provision.AppVersion) (provider.Env, provider.Secret, error) {
			return provider.Env{"A": "b"}, "", nil
		},
	}
	return w
}

// worker makes a provisioner with the shop that ends with the test.
func (w *works) worker() *provisioner {
	w.bundle.t.Helper()
	return w.workerOf("shop", w.shop)
}

// workerOf is worker with another provider.
func (w *works) workerOf(name string, p provider.Provider) *provisioner {
	w.bundle.t.Helper()
	o := w.options()
	o.Providers, o.Provision = map[string]provider.Provider{name: p}, &w.opt
	m := must.Get(New(o))(w.bundle.t)
	w.bundle.t.Cleanup(m.provision.finishSteps)
	return m.provision
}

// step makes one run of the loop, and waits for its steps.
func (w *works) step(p *provisioner) {
	w.bundle.t.Helper()
	must.Get(p.runOnce(w.bundle.t.Context()))(w.bundle.t)
	p.runningSteps.Wait()
}

// let lets virtual time pass, with a run in each half second.
func (w *works) let(d time.Duration, workers ...*provisioner) {
	w.bundle.t.Helper()
	for range int(d / (500 * time.Millisecond)) {
		for _, p := range workers {
			w.step(p)
		}
		w.elapse(500 * time.Millisecond)
	}
}

func (w *works) want(region ...string) uuid.UUID {
	n := provision.NewDeployment{ID: uuid.New(), App: "arena", Version: "1.0", Provider: "shop", Tag: provider.NewTag(),
		Origin: provision.OriginPool}
	require.NoError(w.bundle.t, w.StartDeployment(w.bundle.t.Context(), append(region, "eu")[0], n))
	w.Exec("UPDATE deployments SET next_at = $1, created_at = $1 WHERE id = $2", w.Now(), n.ID)
	return n.ID
}

// join registers the server of a deployment.
func (w *works) join(id uuid.UUID) {
	w.bundle.t.Helper()
	must.Get(w.Register(w.bundle.t.Context(), db.Registration{
		InstanceID: id.String(), Region: "eu", Modes: []string{"duel"}, Capacity: 8, BootID: "boot",
		Joining: &provision.Joining{Region: "eu", ID: id, TokenBy: "aa"},
	}))(w.bundle.t)
}

// phase returns the phase of a deployment, or why it has ended.
func (w *works) phase(id uuid.UUID) string {
	w.bundle.t.Helper()
	return storetest.One[string](w.bundle.DB, `SELECT coalesce((SELECT phase FROM deployments WHERE id = $1), (SELECT 'gone: ' || reason FROM deployment_history WHERE id = $1), 'unknown')`, id)
}

// ready makes a deployment ready.
func (w *works) ready(p *provisioner) uuid.UUID {
	w.bundle.t.Helper()
	id := w.want()
	w.step(p)
	w.join(id)
	w.let(30*time.Second, p)
	require.Equal(w.bundle.t, "ready", w.phase(id))
	return id
}

// requireSame requires that what runs at the provider is what the rows say.
func (w *works) requireSame() {
	w.bundle.t.Helper()
	rows := storetest.One[[]string](w.bundle.DB,
		"SELECT coalesce(array_agg(ref ORDER BY ref), '{}') FROM deployments WHERE ref IS NOT NULL AND phase <> 'stopping'")
	refs := w.refs()
	slices.Sort(refs)
	slices.Sort(rows)
	require.Equal(w.bundle.t, rows, refs)
}

func TestADeploymentLives(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	id := w.want()
	w.step(p)
	require.Equal(t, "starting", w.phase(id))
	w.let(10*time.Second, p)
	require.Equal(t, "starting", w.phase(id))
	require.InDelta(t, 4, w.count("get"), 1)
	w.join(id)
	w.let(25*time.Second, p) // the provider says ready after 20 s, and the pauses between calls grow
	require.Equal(t, "ready", w.phase(id))
	require.Equal(t, "192.0.2.1:31000 ready",
		storetest.One[string](w.bundle.DB, "SELECT endpoint || ' ' || status FROM instances"))
	gets := w.count("get")
	w.let(5*time.Minute, p)
	require.Equal(t, gets, w.count("get"), "a ready server costs no calls")

	require.NoError(t, w.StopDeployment(t.Context(), "eu", id, "enough"))
	w.let(10*time.Second, p)
	require.Equal(t, "gone: enough", w.phase(id))
	require.Equal(t, "gone", storetest.One[string](w.bundle.DB, "SELECT status FROM instances"))
	require.Empty(t, w.refs())
	require.Equal(t, 1, w.count("deploy"))
	w.RequireInvariants()
}

// Two workers: one sleeps in a call past its claim, and the other goes on until the server is ready. What the sleeper
// decides on waking, that the server is still starting, is dropped.
func TestASleepersDecisionIsDropped(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	id := w.want()
	sleeper, other := w.worker(), w.worker()
	w.step(other)
	require.Equal(t, "starting", w.phase(id))
	w.join(id)
	asleep, wakes := make(chan struct{}), make(chan struct{})
	w.mu.Lock()
	w.script["get"] = []func() error{func() error {
		close(asleep)
		<-wakes
		return provider.Fail(provider.Transient, "get", errTest)
	}}
	w.mu.Unlock()
	w.elapse(10 * time.Second)
	_, err := sleeper.runOnce(t.Context())
	require.NoError(t, err)
	<-asleep
	w.let(90*time.Second, other)
	require.Equal(t, "ready", w.phase(id))
	close(wakes)
	sleeper.runningSteps.Wait()
	require.Equal(t, "ready", w.phase(id))
	w.requireSame()
}

// Two workers: one sleeps past its claim, and the other goes on. The server that the sleeper started is stopped.
func TestASleepersServerIsStopped(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	w.lists = 300 * time.Second
	id := w.want()
	sleeper, other := w.worker(), w.worker()
	w.block = make(chan struct{})
	_, err := sleeper.runOnce(t.Context())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(w.refs()) == 1 }, 10*time.Second, time.Millisecond)
	wakes := w.block
	w.mu.Lock()
	w.block = nil
	w.mu.Unlock()
	w.let(2*time.Minute, other)
	require.Len(t, w.refs(), 2)
	own := storetest.One[string](w.bundle.DB, "SELECT ref FROM deployments WHERE id = $1", id)
	close(wakes)
	sleeper.runningSteps.Wait()
	require.Equal(t, []string{own}, w.refs())
	require.Equal(t, own, storetest.One[string](w.bundle.DB, "SELECT ref FROM deployments WHERE id = $1", id))
}

// claimed claims the deployments that are due, and returns the first one's step.
func (w *works) claimed(p *provisioner) *step {
	w.bundle.t.Helper()
	ctx := w.bundle.t.Context()
	require.NoError(w.bundle.t, p.claimDatabase(ctx))
	claimed := must.Get(p.store.ClaimDeployments(ctx, provision.DeploymentClaim{
		Region: "eu", Provider: "shop", Owner: p.opt.Owner, HoldFor: claimTimeouts * p.opt.Timeout, Batch: 1,
	}))(w.bundle.t)
	require.Len(w.bundle.t, claimed, 1)
	steps, ops, err := p.prepareSteps(ctx, "shop", claimed, time.Now())
	require.NoError(w.bundle.t, err)
	require.Equal(w.bundle.t, []operation{opDeploy}, ops)
	return steps[0]
}

// Pins a Deploy after PutIntent was refused, because the deployment was stopped between the claim and the step.
func TestNoServerIsStartedWithoutAnIntent(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	id := w.want()
	s := w.claimed(p)
	require.NoError(t, w.StopDeployment(t.Context(), "eu", id, "enough"))
	require.NoError(t, s.run(t.Context(), opDeploy))
	require.Zero(t, w.count("deploy"))
	require.Empty(t, w.refs())
}

// Pins the deadline of a step: a process that was frozen for longer than its claim makes no call on waking.
func TestNoCallIsMadeAfterTheEndOfTheClaim(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	w.want()
	s := w.claimed(p)
	s.started = s.started.Add(-claimTimeouts * p.opt.Timeout)
	require.Error(t, s.run(t.Context(), opDeploy))
	require.Zero(t, w.count("deploy"))
	require.Empty(t, w.refs())
}

func TestPermanentErrorsPauseTheVersion(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	refused := provider.Fail(provider.Permanent, "deploy", errors.New("no such version"))
	w.next("deploy", refused, refused, refused)
	for range 3 {
		id := w.want()
		w.let(2*time.Second, p)
		require.Equal(t, "gone: the provider refused it", w.phase(id))
	}
	id := w.want()
	w.let(50*time.Second, p)
	require.Equal(t, 3, w.count("deploy"))
	require.Equal(t, "wanted", w.phase(id))
	require.Contains(t, storetest.One[string](w.bundle.DB, "SELECT reason FROM start_pauses"), "no such version")
	w.let(20*time.Second, p)
	require.Equal(t, "starting", w.phase(id))
}

// Pins a failure whose cause only the server knows, which the director refused.
func TestAServerThatMayNotRegisterSaysWhy(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	id := w.want()
	w.let(30*time.Second, p)
	require.NoError(t, w.NoteRefusedRegistration(t.Context(), provision.Joining{Region: "eu", ID: id},
		"outside_deployment: its app version has a capacity of 8"))
	w.let(70*time.Second, p)
	require.Equal(t, "gone: did not register within 1m0s", w.phase(id))
	require.Equal(t, "its registration was refused: outside_deployment: its app version has a capacity of 8",
		storetest.One[string](w.bundle.DB, "SELECT last_error FROM deployment_history"))
}

func TestASilentServerIsReplaced(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	id := w.want()
	w.let(70*time.Second, p)
	require.Equal(t, "starting", w.phase(id))
	w.let(30*time.Second, p)
	require.Equal(t, "gone: did not register within 1m0s", w.phase(id))
	require.Equal(t, 1, w.failures("eu"))
	require.Empty(t, w.refs())
}

func TestAServerThatFailsIsStopped(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	id := w.want()
	w.step(p)
	w.mu.Lock()
	w.servers["ref-0"].failed = true
	w.mu.Unlock()
	w.let(20*time.Second, p)
	require.Equal(t, "gone: the provider could not run it", w.phase(id))
	require.Empty(t, w.refs())
}

// Edgegap answers 422 with an id: the server exists, in error. The pool waits before it starts more.
func TestCapacityWithARefIsStopped(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	w.Exec("INSERT INTO pools (region, app, version, max_servers) VALUES ('eu', 'arena', '1.0', 5)")
	id := w.want()
	w.mu.Lock()
	w.servers["broken"] = &server{Observation: provider.Observation{Ref: "broken", Started: w.shop.now}, failed: true}
	w.mu.Unlock()
	w.next("deploy", &provider.Error{Kind: provider.Capacity, Op: "deploy", Ref: "broken", Err: errors.New("no room")})
	w.let(10*time.Second, p)
	require.Equal(t, "gone: the provider has no capacity", w.phase(id))
	require.Empty(t, w.refs())
	require.Equal(t, 5*time.Second, storetest.One[time.Duration](w.bundle.DB,
		"SELECT until - $1 FROM start_pauses WHERE cause = 'capacity'",
		storetest.One[time.Time](w.bundle.DB, "SELECT created_at FROM deployment_history")).Round(time.Second))
}

// The provider says that a server is gone: its sessions close, amnesty or not.
func TestAProviderThatSaysGoneEndsTheInstanceDuringAnAmnesty(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	id := w.ready(p)
	w.place("eu", "anna", "ben")
	w.shop.end("ref-0")
	w.let(2*time.Second, p)
	require.Equal(t, "ready", w.phase(id))
	w.Exec("UPDATE deployments SET next_at = $1, woken_at = clock_timestamp()", w.Now()) // a webhook
	w.step(p)
	require.Equal(t, "gone: crashed soon after it was ready: the server has ended", w.phase(id))
	require.Equal(t, 1, storetest.One[int](w.bundle.DB, "SELECT count(*)::int FROM session_history"))
	w.RequireInvariants()
}

// A server whose lease expires may register again within three leases, else it has failed.
func TestALostServerComesBackOrFails(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	lost := w.ready(p)
	w.Exec("UPDATE deployments SET lost_at = $1, next_at = $1, woken_at = clock_timestamp()", w.Now())
	w.let(30*time.Second, p)
	require.Equal(t, "ready", w.phase(lost))
	w.Exec("UPDATE deployments SET lost_at = NULL")
	w.let(2*time.Minute, p)
	require.Equal(t, "ready", w.phase(lost))
	w.Exec("UPDATE deployments SET lost_at = $1, next_at = $1, woken_at = clock_timestamp()", w.Now())
	w.let(time.Minute, p)
	require.Equal(t, "gone: lost its lease and did not register again", w.phase(lost))
	require.Empty(t, w.refs())
}

// Before the end of its life a server gets no new players; it ends when its last session has ended, or a grace before
// its provider ends it.
func TestADeploymentDrainsBeforeItsEnd(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	w.Exec("UPDATE app_versions SET max_lifetime = '10 minutes', drain_ahead = '5 minutes'")
	p := w.worker()
	empty := w.ready(p)
	busy := w.ready(p)
	w.Exec("UPDATE instances SET open_sessions = 1, reserved_seats = 0 WHERE id = $1", busy.String())
	w.let(4*time.Minute, p)
	require.Equal(t, "ready", w.phase(empty))
	w.let(3*time.Minute, p)
	require.Equal(t, "gone: drained before the end of its lifetime", w.phase(empty))
	require.Equal(t, "draining", w.phase(busy))
	require.Equal(t, "draining", storetest.One[string](w.bundle.DB, "SELECT status FROM instances WHERE id = $1",
		busy.String()))
	w.let(4*time.Minute, p)
	require.Equal(t, "gone: its lifetime is over", w.phase(busy))
}

// While the provider is away nothing is concluded from its silence.
func TestAnAbsentProviderProvesNothing(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	id := w.want()
	w.step(p)
	w.lose = 1
	w.let(10*time.Minute, p)
	require.Equal(t, "starting", w.phase(id))
	require.Less(t, w.count("get"), 60, "calls back off")
	require.Contains(t, storetest.One[string](w.bundle.DB, "SELECT last_error FROM deployments"), "timed out")
	w.lose = 0
	w.join(id)
	w.let(2*time.Minute, p)
	require.Equal(t, "ready", w.phase(id))
}
