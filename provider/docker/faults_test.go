package docker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/docker"
	"github.com/lattice-director/director/provider/docker/dockertest"
)

// Pins a container that a director created and did not start: it must not be taken for a server, nor be in the way of
// one.
func TestCreatedIsNotDeployed(t *testing.T) {
	t.Parallel()
	e := start(t, dockertest.Options{})
	p, s := e.open(t), spec()
	e.QueueFault("create", dockertest.LoseAnswer)
	_, err := p.Deploy(t.Context(), s)
	require.Equal(t, provider.Ambiguous, provider.KindOf(err))
	require.Equal(t, 1, e.Containers())
	require.Zero(t, e.AliveCount())
	found, err := p.Find(t.Context(), s.Owner, s.Tag)
	require.NoError(t, err)
	require.Empty(t, found)
	o, err := p.Deploy(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, provider.Ref(s.Tag), o.Ref)
	require.Equal(t, 1, e.AliveCount())
	require.Equal(t, 1, e.Containers())
}

// Pins an answer that is nonsense: after Deploy it says nothing about what runs, and after a read nothing at all.
func TestBadAnswers(t *testing.T) {
	t.Parallel()
	for _, fault := range []dockertest.Fault{dockertest.Fail500, dockertest.NotJSON, dockertest.TooLong} {
		e := start(t, dockertest.Options{})
		p, s := e.open(t), spec()
		_, err := p.Deploy(t.Context(), s)
		require.NoError(t, err)
		e.QueueFault("inspect", fault)
		_, err = p.Get(t.Context(), provider.Ref(s.Tag))
		require.Equal(t, provider.Transient, provider.KindOf(err), "%d: %v", fault, err)
		e.QueueFault("list", fault)
		_, err = p.List(t.Context(), s.Owner, "")
		require.Equal(t, provider.Transient, provider.KindOf(err), "%d: %v", fault, err)
	}
	for _, op := range []string{"create", "start"} {
		e := start(t, dockertest.Options{})
		e.QueueFault(op, dockertest.Fail500)
		_, err := e.open(t).Deploy(t.Context(), spec())
		require.Equal(t, provider.Ambiguous, provider.KindOf(err), "%s: %v", op, err)
	}
}

// Pins what a container is created with: a secret in a label, ports without a bound address, or limits that are lost.
func TestContainer(t *testing.T) {
	t.Parallel()
	e := start(t, dockertest.Options{})
	s := spec()
	s.Resources.CPUUnits, s.Resources.MemoryMiB = 512, 256
	_, err := open(t, docker.Config{Host: e.host}).Deploy(t.Context(), s)
	require.NoError(t, err)
	got, err := json.Marshal(e.Create(nameOf(s)))
	require.NoError(t, err)
	require.JSONEq(t, fmt.Sprintf(`{
		"Image": "arena:1.0",
		"Env": ["FLEET_TOKEN=s3cret-value-of-a-token", "LATTICE_PORT_GAME=5000", "LATTICE_PORT_WEB_1=7000"],
		"ExposedPorts": {"5000/udp": {}, "7000/tcp": {}},
		"Labels": {"lattice-director.owner": "ld-test", "lattice-director.tag": %q,
			"lattice-director.ports": "[{\"name\":\"game\",\"internal\":5000,\"external\":0,\"protocol\":\"udp\"},{\"name\":\"web-1\",\"internal\":7000,\"external\":0,\"protocol\":\"tcp\"}]"},
		"HostConfig": {"NanoCpus": 500000000, "Memory": 268435456, "SecurityOpt": ["no-new-privileges"],
			"LogConfig": {"Type": "json-file", "Config": {"max-size": "8m", "max-file": "2"}},
			"PortBindings": {"5000/udp": [{"HostIp": "127.0.0.1", "HostPort": ""}], "7000/tcp": [{"HostIp": "127.0.0.1", "HostPort": ""}]}}}`,
		s.Tag), string(got))
}

// Pins an image that a row of the database could start although the host does not allow it.
func TestImages(t *testing.T) {
	t.Parallel()
	e := start(t, dockertest.Options{Images: []string{
		"arena:1.0", "other:1.0", "registry:5000/team/arena:2", "registry:5000/team/arena@sha256:ab", "fixed:1", "fixed:2",
	}})
	p := open(t, docker.Config{Host: e.host, Images: []string{"arena", "registry:5000/team/arena", "fixed:1"}})
	for image, allowed := range map[[2]string]bool{
		{"arena", "1.0"}: true, {"arena:1.0", ""}: true, {"other", "1.0"}: false, {"arena/../other", "1.0"}: false, {"other:1.0", "arena"}: false,
		{"registry:5000/team/arena", "2"}: true, {"registry:5000/team/arena", "sha256:ab"}: true, {"registry:5000/team", "2"}: false,
		{"fixed", "1"}: true, {"fixed", "2"}: false, {"arena?x", ""}: false, {"arena:1.0#", ""}: false, {"other@arena", ""}: false,
	} {
		s := spec()
		s.App, s.Version = image[0], image[1]
		_, err := p.Deploy(t.Context(), s)
		if allowed {
			require.NoError(t, err, image)
			continue
		}
		require.Equal(t, provider.Permanent, provider.KindOf(err), "%v: %v", image, err)
		require.ErrorContains(t, err, "not allowed on this host", image)
		require.ErrorContains(t, p.Check(t.Context(), image[0], image[1]), "not allowed on this host")
	}
	require.NoError(t, p.Check(t.Context(), "arena", "1.0"))
	require.ErrorContains(t, p.Check(t.Context(), "arena", "1.1"), "the engine has no image arena:1.1")
}

// Pins a name that somebody else's container has.
func TestForeignContainer(t *testing.T) {
	t.Parallel()
	e := start(t, dockertest.Options{})
	p, s := e.open(t), spec()
	_, err := p.Deploy(t.Context(), s)
	require.NoError(t, err)
	s.Owner = "ld-somebody"
	_, err = p.Deploy(t.Context(), s)
	require.Equal(t, provider.Permanent, provider.KindOf(err), "%v", err)
	require.Equal(t, 1, e.AliveCount())
}

// Pins a second SIGTERM, at which many games exit at once, and a server that ignores the first one for ever.
func TestStopSendsOneSignal(t *testing.T) {
	t.Parallel()
	e := start(t, dockertest.Options{Stubborn: true})
	p, s := e.open(t), spec()
	_, err := p.Deploy(t.Context(), s)
	require.NoError(t, err)
	for _, worker := range []*docker.Provider{p, e.open(t), p} {
		require.NoError(t, worker.Stop(t.Context(), provider.Ref(s.Tag), time.Hour))
	}
	require.Equal(t, 1, e.Signals(nameOf(s)))
	require.Equal(t, 1, e.AliveCount(), "its grace is not over")
	e.Age(30 * time.Minute)
	require.NoError(t, p.Stop(t.Context(), provider.Ref(s.Tag), 10*time.Minute), "the engine has not killed it")
	require.Equal(t, 2, e.Signals(nameOf(s)))
	require.Zero(t, e.AliveCount())
	require.Equal(t, provider.Gone, provider.KindOf(p.Stop(t.Context(), provider.Ref(s.Tag), 0)))
}

// Pins a server that ended by itself and seems to run, and a deployment that is started again after that.
func TestEnded(t *testing.T) {
	t.Parallel()
	e := start(t, dockertest.Options{})
	p, s := e.open(t), spec()
	_, err := p.Deploy(t.Context(), s)
	require.NoError(t, err)
	e.End(nameOf(s), 3)
	o, err := p.Get(t.Context(), provider.Ref(s.Tag))
	require.NoError(t, err)
	require.Equal(t, provider.PhaseGone, o.Phase)
	require.Equal(t, "exit status 3", o.Error)
	again, err := p.Deploy(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, provider.PhaseGone, again.Phase, "a tag is one server")
	require.Zero(t, e.AliveCount())
}

// Pins containers that stay for ever after their end, and logs that go before anybody could read them.
func TestTidy(t *testing.T) {
	t.Parallel()
	e := start(t, dockertest.Options{})
	p := e.open(t)
	ended, created, running := spec(), spec(), spec()
	for _, s := range []provider.Spec{ended, running} {
		_, err := p.Deploy(t.Context(), s)
		require.NoError(t, err)
	}
	e.End(nameOf(ended), 0)
	e.QueueFault("create", dockertest.LoseAnswer)
	_, err := p.Deploy(t.Context(), created)
	require.Error(t, err)
	list := func() int {
		all, err := provider.ListAll(t.Context(), p, "ld-test")
		require.NoError(t, err)
		require.Len(t, all, 1)
		return e.Containers()
	}
	require.Equal(t, 3, list())
	e.Age(2 * time.Hour)
	require.Equal(t, 1, list())
}

// Pins containers that stay for ever while a page of newer ones has ended.
func TestTidyReachesTheOldest(t *testing.T) {
	t.Parallel()
	e := start(t, dockertest.Options{})
	p := e.open(t)
	endSome := func(n int) {
		for range n {
			s := spec()
			_, err := p.Deploy(t.Context(), s)
			require.NoError(t, err)
			e.End(nameOf(s), 0)
		}
	}
	endSome(150)
	e.Age(2 * time.Hour)
	endSome(100)
	for range 2 { // each removes a page
		_, err := provider.ListAll(t.Context(), p, "ld-test")
		require.NoError(t, err)
	}
	require.Equal(t, 100, e.Containers())
}

// Pins a list that ends with its first page.
func TestPages(t *testing.T) {
	t.Parallel()
	e := start(t, dockertest.Options{})
	p := e.open(t)
	const n = 230
	for i := range n {
		s := spec()
		_, err := p.Deploy(t.Context(), s)
		require.NoError(t, err)
		if i%50 == 0 {
			e.End(nameOf(s), 0)
		}
	}
	all, err := provider.ListAll(t.Context(), p, "ld-test")
	require.NoError(t, err)
	require.Len(t, all, n-5)
	require.NotZero(t, all[0].Ports["game"].External)
	_, err = p.List(t.Context(), "ld-test", "no-such-container")
	require.Equal(t, provider.Transient, provider.KindOf(err))
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"/var/run/docker.sock", "unix://var/run", "http://a:1", "tcp://a", "tcp://a:1/x", "tcp://a:0", "tcp://a:70000", "ssh://a:1"} {
		require.False(t, docker.ValidHost(host), host)
		_, err := docker.New(docker.Config{Host: host, Images: []string{"a"}})
		require.Error(t, err, host)
	}
	_, err := docker.New(docker.Config{})
	require.ErrorContains(t, err, "no image")
	absent := open(t, docker.Config{Host: "unix:///no/such/socket", Advertise: netip.MustParseAddr("::1")})
	_, err = absent.Deploy(t.Context(), spec())
	require.Equal(t, provider.Transient, provider.KindOf(err), "nothing was sent")
	require.Equal(t, provider.Transient, provider.KindOf(absent.Check(context.Background(), "arena", "1.0")))
}
