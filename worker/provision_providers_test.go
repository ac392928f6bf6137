package worker

import (
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/testkit/certtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/agones"
	"github.com/lattice-director/director/provider/agones/agonestest"
	"github.com/lattice-director/director/provider/docker"
	"github.com/lattice-director/director/provider/docker/dockertest"
	"github.com/lattice-director/director/provider/edgegap"
	"github.com/lattice-director/director/provider/edgegap/edgegaptest"
	"github.com/lattice-director/director/provider/manual"
)

// Pins a provider with which the loop cannot work: a server that never becomes ready for players, or one that outlives
// its deployment.
func TestEachProviderWithTheLoop(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string]func(t *testing.T) (p provider.Provider, launch, version string, alive func() int){
		"docker": func(t *testing.T) (provider.Provider, string, string, func() int) {
			f := dockertest.New(dockertest.Options{})
			s := httptest.NewServer(f)
			t.Cleanup(s.Close)
			p := must.Get(docker.New(docker.Config{
				Host: "tcp://" + strings.TrimPrefix(s.URL, "http://"), Images: []string{"arena"},
				Advertise: netip.MustParseAddr("192.0.2.7"),
			}))(t)
			t.Cleanup(p.Close)
			return p, "arena", "1.0", f.AliveCount
		},
		"edgegap": func(t *testing.T) (provider.Provider, string, string, func() int) {
			f := edgegaptest.New(edgegaptest.Options{})
			s := httptest.NewServer(f)
			t.Cleanup(func() {
				s.Close()
				f.Close()
			})
			p := must.Get(edgegap.New(edgegap.Config{Token: "edgegap-test-key", URL: s.URL}))(t)
			return p, "arena", "1.0", f.AliveCount
		},
		"manual": func(*testing.T) (provider.Provider, string, string, func() int) {
			return manual.Provider{}, "arena", "", func() int { return 0 }
		},
		"agones": func(t *testing.T) (provider.Provider, string, string, func() int) {
			f, p := agonesCluster(t, true)
			return p, "arena", "", f.AliveCount
		},
		"agones without Kubernetes": func(t *testing.T) (provider.Provider, string, string, func() int) {
			_, p := agonesCluster(t, false)
			return p, "arena", "", func() int { return 0 } // the servers end by themselves
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, launch, version, alive := setup(t)
			w := setupWorks(t)
			w.Exec("UPDATE app_versions SET launch = $1, launch_version = $2", launch, version)
			worker := w.workerOf("shop", p)
			id := w.want()
			w.Exec("UPDATE deployments SET address = '198.51.100.7'")
			w.until(worker, id, "starting")
			r := db.Registration{
				InstanceID: id.String(), Region: "eu", Modes: []string{"duel"}, Capacity: 8, BootID: "boot",
				Joining: &provision.Joining{Region: "eu", ID: id, TokenBy: "aa"},
			}
			if name == "manual" {
				r.Endpoint = "192.0.2.1:5000"
			}
			_, err := w.Register(t.Context(), r)
			require.NoError(t, err)
			w.until(worker, id, "ready")
			require.Regexp(t, `^[0-9.]+:[0-9]+$`, storetest.One[string](w.bundle.DB, "SELECT endpoint FROM instances WHERE id = $1", id.String()))
			require.NoError(t, w.StopDeployment(t.Context(), "eu", id, "test"))
			w.Exec("UPDATE deployments SET next_at = $1", w.Now())
			w.until(worker, id, "gone: test")
			require.Zero(t, alive())
		})
	}
}

// until makes steps until the deployment has a phase. The providers run in real time, the loop in virtual time.
func (w *works) until(p *provisioner, id uuid.UUID, phase string) {
	w.bundle.t.Helper()
	require.Eventually(w.bundle.t, func() bool {
		w.step(p)
		w.elapse(time.Second)
		return w.phase(id) == phase
	}, 20*time.Second, 10*time.Millisecond, "%s", phase)
}

func agonesCluster(t *testing.T, kubernetes bool) (*agonestest.Fake, *agones.Provider) {
	t.Helper()
	authority := certtest.New(t)
	authority.Issue("client")
	f := agonestest.New(agonestest.Options{})
	cfg := agones.Config{Namespace: "games", Cert: authority.File("client.pem"), Key: authority.File("client.key"),
		CA: authority.File("ca.pem")}
	allocator, kube := httptest.NewUnstartedServer(f.Allocator()), httptest.NewUnstartedServer(f.Kubernetes())
	for s, clients := range map[*httptest.Server]bool{allocator: true, kube: false} {
		s.TLS = authority.Server("server", clients)
		s.StartTLS()
		t.Cleanup(s.Close)
	}
	cfg.URL = allocator.URL
	if kubernetes {
		token := filepath.Join(t.TempDir(), "token")
		require.NoError(t, os.WriteFile(token, []byte("kubernetes-test-token"), 0o600))
		cfg.Kube = agones.Kube{URL: kube.URL, Token: token, CA: cfg.CA}
	}
	p := must.Get(agones.New(cfg))(t)
	t.Cleanup(p.Close)
	return f, p
}
