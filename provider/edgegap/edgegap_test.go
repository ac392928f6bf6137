package edgegap_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/edgegap"
	"github.com/lattice-director/director/provider/edgegap/edgegaptest"
	"github.com/lattice-director/director/provider/providertest"
)

const key = "edgegap-test-key"

// fast is for tests that count no calls.
var fast = provider.Rates{Deploy: 4000, Get: 4000, List: 4000, Stop: 4000}

type engine struct {
	*edgegaptest.Fake

	url string
}

func start(t *testing.T, opt edgegaptest.Options) engine {
	t.Helper()
	f := edgegaptest.New(opt)
	t.Cleanup(f.Close)
	return engine{f, providertest.Serve(t, f, nil)}
}

func (e engine) client(t *testing.T, rates provider.Rates) *edgegap.Provider {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return must.Get(edgegap.New(edgegap.Config{Token: "token " + key, URL: e.url, Rates: rates, Transport: transport}))(t)
}

func spec() provider.Spec {
	return provider.Spec{
		Tag: provider.NewTag(), Owner: "ld-test", App: "arena", Version: "1.0",
		Env:   provider.Env{"FLEET_TOKEN": "s3cret-value-of-a-token"},
		Ports: []provider.Port{{Name: "game", Protocol: provider.UDP}},
		Hint:  provider.Hint{Addr: netip.MustParseAddr("198.51.100.7")},
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]edgegaptest.Options{
		"Usual": {Rates: fast},
		"Other": {Rates: fast, PortsList: true, NoFilter: true, Forget: true, PageSize: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			providertest.Run(t, func(t *testing.T) providertest.Engine {
				e := start(t, opt)
				t.Cleanup(func() { require.Zero(t, e.Violations()) })
				return providertest.Engine{
					New:        func(t *testing.T) provider.Provider { return e.client(t, fast) },
					Spec:       spec(),
					AliveCount: func(*testing.T) int { return e.AliveCount() },
					LoseReply:  func(*testing.T) { e.QueueFaults("deploy", edgegaptest.LoseAnswer) },
					Block:      func(*testing.T) func() { return e.Block() },
				}
			})
		})
	}
}
