package agones_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/certtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/agones"
	"github.com/lattice-director/director/provider/agones/agonestest"
	"github.com/lattice-director/director/provider/providertest"
)

const token = "kubernetes-test-token"

type engine struct {
	*agonestest.Fake

	authority *certtest.Authority
	cfg       agones.Config
}

func start(t *testing.T, opt agonestest.Options) engine {
	t.Helper()
	authority := certtest.New(t)
	authority.Issue("client")
	f := agonestest.New(opt)
	tokenFile := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(tokenFile, []byte(token+"\n"), 0o600))
	serve := func(h http.Handler, clients bool) string {
		return providertest.Serve(t, h, authority.Server("server", clients))
	}
	return engine{f, authority, agones.Config{
		URL: serve(f.Allocator(), true), Namespace: "games",
		Cert: authority.File("client.pem"), Key: authority.File("client.key"), CA: authority.File("ca.pem"),
		Kube: agones.Kube{URL: serve(f.Kubernetes(), false), Token: tokenFile, CA: authority.File("ca.pem")},
	}}
}

func open(t *testing.T, cfg agones.Config) *agones.Provider {
	t.Helper()
	p := must.Get(agones.New(cfg))(t)
	t.Cleanup(p.Close)
	return p
}

func spec() provider.Spec {
	return provider.Spec{
		Tag: provider.NewTag(), Owner: "ld-test", App: "arena", Env: provider.Env{"FLEET_TOKEN": "s3cret-value-of-a-token"},
		Ports: []provider.Port{{Name: "game", Internal: 5000, Protocol: provider.UDP}},
	}
}

// Agones' allocator answers for a fleet that does not exist as for one without a ready server.
func TestConformance(t *testing.T) {
	t.Parallel()
	providertest.Run(t, func(t *testing.T) providertest.Engine {
		e := start(t, agonestest.Options{})
		return providertest.Engine{
			New:        func(t *testing.T) provider.Provider { return open(t, e.cfg) },
			Spec:       spec(),
			AliveCount: func(*testing.T) int { return e.AliveCount() },
			LoseReply:  func(*testing.T) { e.QueueFaults("allocate", agonestest.LoseAnswer) },
			Block:      func(*testing.T) func() { return e.Block() },
			UnknownApp: provider.Capacity,
		}
	})
}
