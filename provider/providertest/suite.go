// Package providertest holds the conformance suite that every provider passes, see [Run].
package providertest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/provider"
)

// Engine is what a provider talks to in a test: the real thing, or a fake of its API. It is fresh for each test.
type Engine struct {
	// New returns a provider with a state of its own, as a worker that has just started would make it. All of them
	// reach the same deployments.
	New func(t *testing.T) provider.Provider
	// Spec is a game server that becomes ready. The suite sets Tag and Owner.
	Spec provider.Spec
	// Owner of the game servers; ld-conformance by default. Engines that tests share have one for each test.
	Owner provider.Owner
	// AliveCount returns how many game servers run or cost money, by looking at the engine and not through the
	// provider.
	AliveCount func(t *testing.T) int
	// LoseReply makes the engine execute the next Deploy and lose its answer. Nil where no answer can be lost.
	LoseReply func(t *testing.T)
	// Block makes calls hang until the returned function is called. Nil where the engine cannot.
	Block func(t *testing.T) (unblock func())
	// UnknownApp is the kind of error for an app that does not exist; Permanent by default.
	UnknownApp provider.Kind
	// Within bounds how long a server takes to become ready, and to end; 10 s by default.
	Within time.Duration
}

// grace is short: the servers of the suite end at once.
const grace = 5 * time.Second

// Run runs the suite. setup makes a fresh Engine for a test, and registers its cleanup.
func Run(t *testing.T, setup func(t *testing.T) Engine) {
	for name, test := range map[string]func(*bench){
		"Ready":      testReady,
		"TwoDeploys": testTwoDeploys,
		"LostReply":  testLostReply,
		"Stop":       testStop,
		"Unknown":    testUnknown,
		"Cancelled":  testCancelled,
		"Slow":       testSlow,
		"Concurrent": testConcurrent,
		"Refused":    testRefused,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			if e.Within == 0 {
				e.Within = 10 * time.Second
			}
			if e.Owner == "" {
				e.Owner = "ld-conformance"
			}
			if e.UnknownApp == "" {
				e.UnknownApp = provider.Permanent
			}
			b := &bench{t: t, engine: e, provider: e.New(t)}
			test(b)
			b.stopAll()
		})
	}
}

// bench is what one test uses.
type bench struct {
	t        *testing.T
	engine   Engine
	provider provider.Provider
}

// spec returns a server with a tag of its own, so that no test finds that of another.
func (b *bench) spec() provider.Spec {
	s := b.engine.Spec
	s.Tag, s.Owner = provider.NewTag(), b.engine.Owner
	return s
}

// deploy requires what a caller stores: a ref, within its bound.
func (b *bench) deploy(s provider.Spec) provider.Observation {
	b.t.Helper()
	o, err := b.provider.Deploy(b.t.Context(), s)
	require.NoError(b.t, err)
	require.NotEmpty(b.t, o.Ref)
	require.LessOrEqual(b.t, len(o.Ref), provider.MaxRefBytes)
	return o
}

// await reads the deployment until it is in the phase.
func (b *bench) await(ref provider.Ref, phase provider.Phase) (o provider.Observation) {
	b.t.Helper()
	b.until(string(phase), func() bool {
		var err error
		o, err = b.provider.Get(b.t.Context(), ref)
		require.NoError(b.t, err)
		require.Equal(b.t, ref, o.Ref)
		return o.Phase == phase
	})
	return o
}

// awaitEnd reads the deployment until it is gone, or the provider has forgotten it.
func (b *bench) awaitEnd(ref provider.Ref) {
	b.t.Helper()
	b.until("ended", func() bool {
		o, err := b.provider.Get(b.t.Context(), ref)
		require.NoError(b.t, err)
		require.Equal(b.t, ref, o.Ref)
		return !o.Exists()
	})
}

// until polls: the interface has no call that waits for a change.
func (b *bench) until(what string, ok func() bool) {
	b.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(b.t.Context(), b.engine.Within)
	defer cancel()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			require.FailNow(b.t, "not within "+b.engine.Within.String(), what)
		}
	}
}

// find requires that each deployment that was found has the tag.
func (b *bench) find(p provider.Provider, tag provider.Tag) []provider.Observation {
	b.t.Helper()
	found, err := p.Find(b.t.Context(), b.engine.Owner, tag)
	require.NoError(b.t, err)
	for _, o := range found {
		require.Equal(b.t, tag, o.Tag)
		require.NotEmpty(b.t, o.Ref)
	}
	return found
}

// listAll returns the complete list. While deployments end, a page may come short, which is an error of kind Transient.
func (b *bench) listAll() (all []provider.Observation) {
	b.t.Helper()
	b.until("a complete list", func() bool {
		var err error
		if all, err = provider.ListAll(b.t.Context(), b.provider, b.engine.Owner); err != nil {
			require.Equal(b.t, provider.Transient, provider.KindOf(err), "%v", err)
		}
		return err == nil
	})
	return all
}

// stopAll stops the remaining deployments of a test, and checks that the provider's list contained all of them.
func (b *bench) stopAll() {
	for _, o := range b.listAll() {
		if !o.Exists() {
			continue
		}
		if err := b.provider.Stop(b.t.Context(), o.Ref, grace); err != nil {
			require.Equal(b.t, provider.Gone, provider.KindOf(err), "%v", err)
		}
	}
	b.until("nothing is alive", func() bool { return b.engine.AliveCount(b.t) == 0 })
}

// parallel runs f n times at once and waits.
func parallel(n int, f func(i int)) {
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { f(i) })
	}
	calls.Wait()
}

// Pins a deployment that a new worker cannot find, or whose ports have no names.
func testReady(b *bench) {
	s := b.spec()
	ref := b.deploy(s).Ref
	o := b.await(ref, provider.PhaseReady)
	require.True(b.t, o.IP.IsValid() || o.FQDN != "", "an address that players dial")
	require.Len(b.t, o.Ports, len(s.Ports))
	for _, p := range s.Ports {
		require.NotZero(b.t, o.Ports[p.Name].External, p.Name)
		require.NotZero(b.t, o.Ports[p.Name].Internal, p.Name)
		require.Equal(b.t, p.Protocol, o.Ports[p.Name].Protocol)
	}
	require.Equal(b.t, 1, b.engine.AliveCount(b.t))
	for _, p := range []provider.Provider{b.provider, b.engine.New(b.t)} {
		found := b.find(p, s.Tag)
		require.Len(b.t, found, 1)
		require.Equal(b.t, ref, found[0].Ref)
		require.Equal(b.t, o.Ports, found[0].Ports)
		require.Empty(b.t, b.find(p, provider.NewTag()))
		others, err := p.Find(b.t.Context(), "ld-somebody-else", s.Tag)
		require.NoError(b.t, err)
		require.Empty(b.t, others, "a deployment of another installation")
	}
}

// Pins a second server under a native name, and a second one that is not found.
func testTwoDeploys(b *bench) {
	s := b.spec()
	first, second := b.deploy(s), b.deploy(s)
	// The tag is the server's name: a second call finds the first server.
	if b.provider.Capabilities().NativeNames {
		require.Equal(b.t, first.Ref, second.Ref)
		require.Len(b.t, b.find(b.provider, s.Tag), 1)
		require.Equal(b.t, 1, b.engine.AliveCount(b.t))
		return
	}
	require.NotEqual(b.t, first.Ref, second.Ref)
	b.until("both are found", func() bool { return len(b.find(b.provider, s.Tag)) == 2 })
}

// Pins a server that runs and costs money, and that nobody knows: the worker may also have died before its commit.
func testLostReply(b *bench) {
	s := b.spec()
	if b.engine.LoseReply != nil {
		b.engine.LoseReply(b.t)
		_, err := b.provider.Deploy(b.t.Context(), s)
		require.Error(b.t, err)
		require.Equal(b.t, provider.Ambiguous, provider.KindOf(err), "%v", err)
	} else {
		b.deploy(s) // and the answer is dropped
	}
	successor := b.engine.New(b.t)
	b.until("found by tag", func() bool { return len(b.find(successor, s.Tag)) == 1 })
	ref := b.find(successor, s.Tag)[0].Ref
	b.await(ref, provider.PhaseReady)
	require.Equal(b.t, 1, b.engine.AliveCount(b.t))
	require.NoError(b.t, successor.Stop(b.t.Context(), ref, grace))
	b.awaitEnd(ref)
}

// Pins an error of a stop that is repeated because its answer was lost, and a server that survives it.
func testStop(b *bench) {
	ref := b.deploy(b.spec()).Ref
	b.await(ref, provider.PhaseReady)
	other := b.deploy(b.spec()).Ref
	// Repeated, as by a worker whose answers were lost: success, or that there is nothing to stop.
	for range 3 {
		if err := b.provider.Stop(b.t.Context(), ref, grace); err != nil {
			require.Equal(b.t, provider.Gone, provider.KindOf(err), "%v", err)
		}
	}
	b.awaitEnd(ref)
	// By another process, which has nothing in memory.
	err := b.engine.New(b.t).Stop(b.t.Context(), ref, grace)
	require.Equal(b.t, provider.Gone, provider.KindOf(err), "%v", err)
	b.await(other, provider.PhaseReady)
	require.NoError(b.t, b.provider.Stop(b.t.Context(), other, grace))
	b.awaitEnd(other)

	starting := b.deploy(b.spec()).Ref // a server may be stopped before it is ready
	require.NoError(b.t, b.provider.Stop(b.t.Context(), starting, grace))
	b.awaitEnd(starting)
}

// Pins a panic or an internal error for a ref that the provider does not know.
func testUnknown(b *bench) {
	for _, ref := range []provider.Ref{"0123456789ab", "", "../..", "a/b?c#d", "x y\n",
		provider.Ref(make([]byte, 300))} {
		o, err := b.provider.Get(b.t.Context(), ref)
		require.NoError(b.t, err)
		require.Equal(b.t, provider.PhaseAbsent, o.Phase, "%q", ref)
		err = b.provider.Stop(b.t.Context(), ref, grace)
		require.Equal(b.t, provider.Gone, provider.KindOf(err), "%q %v", ref, err)
	}
	require.Empty(b.t, b.listAll())
}

// Pins a call that runs on without its caller, and a Deploy whose outcome is taken for certain.
func testCancelled(b *bench) {
	ref := b.deploy(b.spec()).Ref
	b.await(ref, provider.PhaseReady)
	ctx, cancel := context.WithCancel(b.t.Context())
	cancel()
	s := b.spec()
	_, err := b.provider.Deploy(ctx, s)
	require.Error(b.t, err)
	require.Contains(b.t, []provider.Kind{provider.Transient, provider.Ambiguous}, provider.KindOf(err), "%v", err)
	require.LessOrEqual(b.t, len(b.find(b.provider, s.Tag)), 1)
	b.reads(ctx, ref, provider.Transient)
	require.Equal(b.t, provider.PhaseReady, b.await(ref, provider.PhaseReady).Phase)
}

// reads calls everything but Deploy; each call fails with the kind.
func (b *bench) reads(ctx context.Context, ref provider.Ref, want provider.Kind) {
	b.t.Helper()
	_, get := b.provider.Get(ctx, ref)
	_, find := b.provider.Find(ctx, b.engine.Owner, provider.NewTag())
	_, list := b.provider.List(ctx, b.engine.Owner, "")
	stop := b.provider.Stop(ctx, ref, grace)
	for call, err := range map[string]error{"get": get, "find": find, "list": list, "stop": stop} {
		require.Error(b.t, err, call)
		require.Equal(b.t, want, provider.KindOf(err), "%s: %v", call, err)
	}
}

// Pins a worker that hangs with its provider.
func testSlow(b *bench) {
	if b.engine.Block == nil {
		return
	}
	ref := b.deploy(b.spec()).Ref
	unblock := b.engine.Block(b.t)
	ctx, cancel := context.WithTimeout(b.t.Context(), 100*time.Millisecond)
	defer cancel()
	s := b.spec()
	_, err := b.provider.Deploy(ctx, s)
	require.Error(b.t, err)
	require.Contains(b.t, []provider.Kind{provider.Transient, provider.Ambiguous}, provider.KindOf(err), "%v", err)
	// Ambiguous says that the request may have arrived: then a server may be found, or none.
	sent := provider.KindOf(err) == provider.Ambiguous
	ctx, cancel = context.WithTimeout(b.t.Context(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	b.reads(ctx, ref, provider.Transient)
	require.Less(b.t, time.Since(begin), 5*time.Second)
	unblock()
	if !sent {
		require.Empty(b.t, b.find(b.provider, s.Tag))
	}
}

// Pins calls that see each other's deployments, and lists with gaps.
func testConcurrent(b *bench) {
	const n = 12
	specs, refs, errs := make([]provider.Spec, n), make([]provider.Ref, n), make([]error, n)
	workers := []provider.Provider{b.provider, b.engine.New(b.t), b.engine.New(b.t)}
	parallel(n, func(i int) {
		specs[i] = b.spec()
		o, err := workers[i%len(workers)].Deploy(b.t.Context(), specs[i])
		refs[i], errs[i] = o.Ref, err
	})
	distinct := map[string]bool{}
	for i := range n {
		require.NoError(b.t, errs[i])
		ready := b.await(refs[i], provider.PhaseReady)
		for name, p := range ready.Ports {
			at := fmt.Sprint(ready.IP, ready.FQDN, name, p.External)
			require.False(b.t, distinct[at], "two servers at %s", at)
			distinct[at] = true
		}
	}
	parallel(n, func(i int) {
		// By another provider than the one that deployed it, as another process has.
		found, err := workers[(i+1)%len(workers)].Find(b.t.Context(), b.engine.Owner, specs[i].Tag)
		if err == nil && (len(found) != 1 || found[0].Ref != refs[i]) {
			err = fmt.Errorf("found %v instead of %s", found, refs[i])
		}
		errs[i] = err
	})
	for i := range n {
		require.NoError(b.t, errs[i])
	}
	require.Len(b.t, b.listAll(), n)
	require.Equal(b.t, n, b.engine.AliveCount(b.t))
	parallel(n, func(i int) { errs[i] = workers[i%len(workers)].Stop(b.t.Context(), refs[i], grace) })
	for i := range n {
		require.NoError(b.t, errs[i])
	}
}

// Pins a server that is started although its description is wrong, and a secret in an error.
func testRefused(b *bench) {
	const secret = "s3cret-value-of-a-token"
	for name, spoil := range map[string]func(*provider.Spec){
		"tag":   func(s *provider.Spec) { s.Tag = "../escape" },
		"owner": func(s *provider.Spec) { s.Owner = "" },
		"app":   func(s *provider.Spec) { s.App = "no-such-app" },
		"ports": func(s *provider.Spec) { s.Ports = append(s.Ports, provider.Port{Name: "Bad Name"}) },
		"env":   func(s *provider.Spec) { s.Env = provider.Env{"A=B": secret} },
	} {
		s := b.spec()
		// A value of the environment must be in no error, whatever was refused.
		s.Env = provider.Env{"FLEET_TOKEN": secret}
		spoil(&s)
		_, err := b.provider.Deploy(b.t.Context(), s)
		require.Error(b.t, err, name)
		want := provider.Permanent
		if name == "app" {
			want = b.engine.UnknownApp
		}
		require.Equal(b.t, want, provider.KindOf(err), "%s: %v", name, err)
		require.NotContains(b.t, err.Error(), secret)
	}
	require.Zero(b.t, b.engine.AliveCount(b.t))
}
