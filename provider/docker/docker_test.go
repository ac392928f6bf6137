package docker_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/docker"
	"github.com/lattice-director/director/provider/docker/dockertest"
	"github.com/lattice-director/director/provider/providertest"
)

type engine struct {
	*dockertest.Fake

	host string
}

func start(t *testing.T, opt dockertest.Options) engine {
	t.Helper()
	f := dockertest.New(opt)
	return engine{f, strings.Replace(providertest.Serve(t, f, nil), "http", "tcp", 1)}
}

func open(t *testing.T, cfg docker.Config) *docker.Provider {
	t.Helper()
	if cfg.Images == nil {
		cfg.Images = []string{"arena"}
	}
	p := must.Get(docker.New(cfg))(t)
	t.Cleanup(p.Close)
	return p
}

func (e engine) open(t *testing.T) *docker.Provider {
	t.Helper()
	return open(t, docker.Config{Host: e.host, Advertise: netip.MustParseAddr("192.0.2.7")})
}

func spec() provider.Spec {
	return provider.Spec{
		Tag: provider.NewTag(), Owner: "ld-test", App: "arena", Version: "1.0", Env: provider.Env{"FLEET_TOKEN": "s3cret-value-of-a-token"},
		Ports: []provider.Port{{Name: "game", Internal: 5000, Protocol: provider.UDP}, {Name: "web-1", Protocol: provider.TCP}},
	}
}

func nameOf(s provider.Spec) string { return "lattice-" + string(s.Tag) }

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]dockertest.Options{"Usual": {}, "Other": {Forget: true, Logging: "journald"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			providertest.Run(t, func(t *testing.T) providertest.Engine {
				e := start(t, opt)
				return providertest.Engine{
					New:        func(t *testing.T) provider.Provider { return e.open(t) },
					Spec:       spec(),
					AliveCount: func(*testing.T) int { return e.AliveCount() },
					LoseReply:  func(*testing.T) { e.QueueFault("start", dockertest.LoseAnswer) },
					Block:      func(*testing.T) func() { return e.Block() },
				}
			})
		})
	}
}
