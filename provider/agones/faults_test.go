package agones_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/certtest"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/agones"
	"github.com/lattice-director/director/provider/agones/agonestest"
)

func nameOf(t *testing.T, ref provider.Ref) string {
	t.Helper()
	name, _, found := strings.Cut(string(ref), "/")
	require.True(t, found)
	return name
}

// Pins a deployment without the director's credential: an allocated server reads it from its annotations.
func TestEnvironmentIsAnAnnotation(t *testing.T) {
	t.Parallel()
	e := start(t, agonestest.Options{})
	s := spec()
	o, err := open(t, e.cfg).Deploy(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, provider.PhaseReady, o.Phase, "Agones hands out ready servers")
	require.True(t, o.IP.IsValid())
	require.NotZero(t, o.Ports["game"].External)
	var env provider.Env
	require.NoError(t, json.Unmarshal([]byte(e.Annotations(nameOf(t, o.Ref))[agones.AnnotationEnvironment]), &env))
	require.Equal(t, string(s.Tag), env[agones.EnvironmentTag], "the server makes its ref of it")
	delete(env, agones.EnvironmentTag)
	require.Equal(t, map[string]string(s.Env), map[string]string(env))
}

// Pins a server that is deleted although it serves somebody else: it returned to its fleet and was allocated again.
func TestAServerThatWentBackIsGone(t *testing.T) {
	t.Parallel()
	e := start(t, agonestest.Options{})
	p, s := open(t, e.cfg), spec()
	o, err := p.Deploy(t.Context(), s)
	require.NoError(t, err)
	gone := func(when string) {
		t.Helper()
		got, err := p.Get(t.Context(), o.Ref)
		require.NoError(t, err)
		require.Equal(t, provider.PhaseGone, got.Phase, when)
		require.Equal(t, provider.Gone, provider.KindOf(p.Stop(t.Context(), o.Ref, 0)), when)
	}
	e.SetState(nameOf(t, o.Ref), "Ready")
	gone("it is in its fleet")
	all, err := provider.ListAll(t.Context(), p, s.Owner)
	require.NoError(t, err)
	require.Empty(t, all, "nobody stops a server of the fleet as a leftover")
	e.SetState(nameOf(t, o.Ref), "Allocated")
	e.SetLabel(nameOf(t, o.Ref), agones.LabelTag, string(provider.NewTag()))
	gone("another deployment has it")
	require.Equal(t, 1, e.AliveCount())
}

func TestStates(t *testing.T) {
	t.Parallel()
	e := start(t, agonestest.Options{})
	p := open(t, e.cfg)
	o, err := p.Deploy(t.Context(), spec())
	require.NoError(t, err)
	for state, want := range map[string]provider.Phase{
		"Allocated": provider.PhaseReady, "Reserved": provider.PhaseReady, "Unhealthy": provider.PhaseFailed, "Error": provider.PhaseFailed,
		"Shutdown": provider.PhaseStopping, "Scheduled": provider.PhaseStarting, "SomethingNew": provider.PhaseUnknown,
	} {
		e.SetState(nameOf(t, o.Ref), state)
		got, err := p.Get(t.Context(), o.Ref)
		require.NoError(t, err)
		require.Equal(t, want, got.Phase, state)
		require.Equal(t, state, got.Raw)
	}
}

// Pins an allocation that is repeated although it may have happened, or given up although it can be repeated.
func TestAllocationErrors(t *testing.T) {
	t.Parallel()
	e := start(t, agonestest.Options{Fleets: map[string]int{"arena": 1}})
	p := open(t, e.cfg)
	for fault, kind := range map[agonestest.Fault]provider.Kind{
		agonestest.Contention: provider.Transient, agonestest.Cancelled: provider.Ambiguous, agonestest.Fail500: provider.Ambiguous, agonestest.Page404: provider.Permanent,
	} {
		e.QueueFaults("allocate", fault)
		_, err := p.Deploy(t.Context(), spec())
		require.Equal(t, kind, provider.KindOf(err), "%d: %v", fault, err)
	}
	e.QueueFaults("allocate", agonestest.NotJSON)
	_, err := p.Deploy(t.Context(), spec())
	require.Equal(t, provider.Ambiguous, provider.KindOf(err), "%v", err)
	require.Equal(t, 1, e.AliveCount())
	_, err = p.Deploy(t.Context(), spec())
	require.Equal(t, provider.Capacity, provider.KindOf(err), "%v", err)
	var full *provider.Error
	require.ErrorAs(t, err, &full)
	require.Empty(t, full.Ref, "nothing must be stopped")
	s := spec()
	s.Version = "1.0"
	_, err = p.Deploy(t.Context(), s)
	require.ErrorContains(t, err, "version")
}

// Pins a match that ends because a proxy answered instead of Kubernetes.
func TestBadAnswersOfKubernetes(t *testing.T) {
	t.Parallel()
	e := start(t, agonestest.Options{})
	p, s := open(t, e.cfg), spec()
	o, err := p.Deploy(t.Context(), s)
	require.NoError(t, err)
	for _, fault := range []agonestest.Fault{agonestest.Page404, agonestest.Fail500, agonestest.NotJSON} {
		e.QueueFaults("get", fault)
		_, err := p.Get(t.Context(), o.Ref)
		require.Equal(t, provider.Transient, provider.KindOf(err), "%d: %v", fault, err)
		e.QueueFaults("list", fault)
		_, err = p.List(t.Context(), s.Owner, "")
		require.Equal(t, provider.Transient, provider.KindOf(err), "%d: %v", fault, err)
	}
	require.NoError(t, os.WriteFile(e.cfg.Kube.Token, []byte("expired-token"), 0o600))
	_, err = p.Get(t.Context(), o.Ref)
	require.Equal(t, provider.Permanent, provider.KindOf(err), "%v", err)
	require.NotContains(t, err.Error(), "expired-token")
	require.NoError(t, os.WriteFile(e.cfg.Kube.Token, []byte(token), 0o600))
	_, err = p.Get(t.Context(), o.Ref)
	require.NoError(t, err, "a renewed token is read")
}

// Pins promises that need Kubernetes, without access to it.
func TestWithoutKubernetes(t *testing.T) {
	t.Parallel()
	e := start(t, agonestest.Options{})
	e.cfg.Kube = agones.Kube{}
	p, s := open(t, e.cfg), spec()
	require.Equal(t, provider.Capabilities{WarmPool: true}, p.Capabilities())
	o, err := p.Deploy(t.Context(), s)
	require.NoError(t, err)
	got, err := p.Get(t.Context(), o.Ref)
	require.NoError(t, err)
	require.Equal(t, provider.PhaseReady, got.Phase)
	found, err := p.Find(t.Context(), s.Owner, s.Tag)
	require.NoError(t, err)
	require.Empty(t, found)
	_, err = p.List(t.Context(), s.Owner, "")
	require.Equal(t, provider.Permanent, provider.KindOf(err), "an empty list would prove that all are gone")
	require.Equal(t, provider.Gone, provider.KindOf(p.Stop(t.Context(), o.Ref, 0)))
	require.NoError(t, p.Check(t.Context(), "no-such-fleet", ""))
}

// Pins an allocator that serves whoever asks, a client that trusts any allocator, and certificates that a restart must
// renew.
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	e := start(t, agonestest.Options{})
	stranger := certtest.New(t)
	stranger.Issue("client")
	foreign := e.cfg
	foreign.Cert, foreign.Key = stranger.File("client.pem"), stranger.File("client.key")
	_, err := open(t, foreign).Deploy(t.Context(), spec())
	require.Error(t, err)
	require.Contains(t, []provider.Kind{provider.Transient, provider.Ambiguous}, provider.KindOf(err), "%v", err)
	foreign = e.cfg
	foreign.CA = stranger.File("ca.pem")
	_, err = open(t, foreign).Deploy(t.Context(), spec())
	require.Equal(t, provider.Transient, provider.KindOf(err), "%v", err)
	require.Zero(t, e.AliveCount())

	p := open(t, e.cfg)
	e.authority.Issue("client") // the files are renewed
	_, err = p.Deploy(t.Context(), spec())
	require.NoError(t, err)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	e := start(t, agonestest.Options{})
	p := open(t, e.cfg)
	require.NoError(t, p.Check(t.Context(), "arena", ""))
	err := p.Check(t.Context(), "other", "")
	require.ErrorContains(t, err, "namespace games has no fleet other")
	require.Equal(t, provider.Permanent, provider.KindOf(err))
	require.ErrorContains(t, p.Check(t.Context(), "arena", "1.0"), "version")
}

func TestNew(t *testing.T) {
	t.Parallel()
	e := start(t, agonestest.Options{})
	for want, spoil := range map[string]func(*agones.Config){
		"https":            func(c *agones.Config) { c.URL = "http://allocator" },
		"no certificate":   func(c *agones.Config) { c.CA = c.Key },
		"no such file":     func(c *agones.Config) { c.Cert = "/no/such/file" },
		"is no namespace":  func(c *agones.Config) { c.Namespace = "../x" },
		"Kubernetes: open": func(c *agones.Config) { c.Kube.Token = "/no/such/file" },
		"holds no token":   func(c *agones.Config) { c.Kube.Token = os.DevNull },
	} {
		cfg := e.cfg
		spoil(&cfg)
		_, err := agones.New(cfg)
		require.ErrorContains(t, err, want)
	}
}
