package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/provisioning/serverenv"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/agones"
	"github.com/lattice-director/director/provider/docker"
	"github.com/lattice-director/director/provider/edgegap"
	"github.com/lattice-director/director/provider/manual"
	processes "github.com/lattice-director/director/provider/process"
	"github.com/lattice-director/director/token"
	"github.com/lattice-director/director/worker"
)

// The names of the providers, as app versions and DIRECTOR_PROVIDERS have them.
const (
	providerAgones  = "agones"
	providerDocker  = "docker"
	providerEdgegap = "edgegap"
	providerManual  = "manual"
	providerProcess = "process"
)

var providerNames = []string{providerAgones, providerDocker, providerEdgegap, providerManual, providerProcess}

// localOwner is the owner of servers that no other installation can list.
const localOwner = "local"

// checkProvision refuses settings with which the providers could not work.
func (c *Config) checkProvision() error {
	remote := slices.ContainsFunc(c.ProviderNames,
		func(name string) bool { return name != providerProcess && name != providerManual })
	var missing []error
	for _, need := range []struct {
		absent bool
		what   string
	}{
		{remote && c.ProvisionOwner == "", "its providers need DIRECTOR_PROVISION_OWNER, a name of this installation " +
			"that no other one has"},
		{c.needsPublicURL() && c.PublicURL == "", "its providers need DIRECTOR_PUBLIC_URL, where game servers reach " +
			"the replicas"},
		{c.usesProvider(providerAgones) &&
			slices.Contains([]string{c.Agones.URL, c.Agones.Cert, c.Agones.Key, c.Agones.CA},
				""),
			"agones needs DIRECTOR_AGONES_URL, _CERT, _KEY and _CA"},
		{c.usesProvider(providerAgones) && c.Agones.Kube != (agones.Kube{}) &&
			slices.Contains([]string{c.Agones.Kube.URL, c.Agones.Kube.Token, c.Agones.Kube.CA}, ""),
			"agones needs all of DIRECTOR_AGONES_KUBE_URL, _KUBE_TOKEN and _KUBE_CA, or none"},
		{c.usesProvider(providerDocker) && len(c.Docker.Images) == 0, "docker needs DIRECTOR_DOCKER_IMAGES"},
		{c.usesProvider(providerEdgegap) && c.Edgegap.Token == "", "edgegap needs DIRECTOR_EDGEGAP_TOKEN"},
		{c.usesProvider(providerProcess) && c.Processes.Commands == nil, "process needs DIRECTOR_PROCESS_COMMANDS"},
	} {
		if need.absent {
			missing = append(missing, fmt.Errorf("DIRECTOR_PROVIDERS: %s", need.what))
		}
	}
	return errors.Join(missing...)
}

func (c *Config) usesProvider(name string) bool { return slices.Contains(c.ProviderNames, name) }

// needsPublicURL reports whether game servers may run elsewhere. Those of dev that people start are taken to be on this
// machine.
func (c *Config) needsPublicURL() bool {
	return slices.ContainsFunc(c.ProviderNames, func(name string) bool {
		return name != providerProcess && (name != providerManual || !c.isDevelopment)
	})
}

// deploymentOwner returns the owner of the deployments of this installation.
func (c *Config) deploymentOwner() (provider.Owner, error) {
	return provider.OwnerOf(cmp.Or(c.ProvisionOwner, localOwner))
}

// replicasURL returns where game servers reach the replicas, without a slash at its end. Those of this machine use the
// address of the API; listening is where this process serves it, if it does.
func (c *Config) replicasURL(listening net.Addr) string {
	if c.PublicURL != "" {
		return strings.TrimRight(c.PublicURL, "/")
	}
	scheme := "http://"
	if c.Server.TLSCert != "" {
		scheme = "https://"
	}
	return scheme + localAddr(c.Server.Addr, listening)
}

// localAddr returns the address of a listener for programs of this machine. configured counts unless listening says
// where this process really listens.
func localAddr(configured string, listening net.Addr) string {
	if listening != nil {
		configured = listening.String()
	}
	host, port, _ := net.SplitHostPort(configured)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// makeProviders returns the providers of a worker and the options of its loops, or nil without providers. keep is as in
// openProviders.
func (p *process) makeProviders(keep bool) (map[string]provider.Provider, *worker.ProvisionOptions, error) {
	c := p.conf
	if len(c.ProviderNames) == 0 {
		return nil, nil, nil
	}
	owner, err := c.deploymentOwner()
	if err != nil {
		return nil, nil, err
	}
	if p.providerSet, err = c.openProviders(p.log, keep); err != nil {
		return nil, nil, err
	}
	return p.providerSet.byName, &worker.ProvisionOptions{
		Owner: owner, Timeout: c.ProvisionTimeout, Environment: p.serverEnvironment,
	}, nil
}

// serverEnvironment returns what a deployed server needs. It is called once the replica of this process listens.
func (p *process) serverEnvironment(d provision.Deployment,
	v provision.AppVersion) (provider.Env, provider.Secret, error) {
	var at listenAddrs
	if listening := p.listenAddrs.Load(); listening != nil {
		at = *listening
	}
	settings := p.conf.serverSettings(at, p.sealer)
	server := serverenv.Server{Region: d.Region, ID: d.ID, SealedKey: d.SealedKey}
	if d.EndsAt != nil {
		server.EndsAt = *d.EndsAt
	}
	return settings.Environment(server, v)
}

// listenAddrs are where this process listens; nil: it does not, or not yet.
type listenAddrs struct{ api, nats net.Addr }

// serverSettings returns what the environments of all deployed servers share.
func (c *Config) serverSettings(listening listenAddrs, sealer *token.Sealer) serverenv.Settings {
	return serverenv.Settings{PublicURL: c.replicasURL(listening.api), NATSURL: c.natsURL(listening.nats),
		Sealer: sealer}
}

// providerSet is the providers of a process, by name. Close it.
type providerSet struct {
	byName     map[string]provider.Provider
	closeFuncs []func()
}

// closeProviders ends what the providers run in this process. The game servers stay.
func (s *providerSet) closeProviders() {
	for _, end := range s.closeFuncs {
		end()
	}
}

// openProviders makes the providers of the settings. It makes no call of theirs. keep is whether servers that are
// processes of this machine survive this process.
func (c *Config) openProviders(log *slog.Logger, keep bool) (*providerSet, error) {
	s := &providerSet{byName: map[string]provider.Provider{}}
	for _, name := range c.ProviderNames {
		p, err := c.openProvider(name, log, keep)
		if err != nil {
			s.closeProviders()
			return nil, err
		}
		s.byName[name] = p
		if closer, ok := p.(interface{ Close() }); ok {
			s.closeFuncs = append(s.closeFuncs, closer.Close)
		}
	}
	return s, nil
}

func (c *Config) openProvider(name string, log *slog.Logger, keep bool) (provider.Provider, error) {
	switch name {
	case providerAgones:
		cfg := c.Agones
		cfg.Timeout = c.ProvisionTimeout
		return agones.New(cfg)
	case providerDocker:
		cfg := c.Docker
		cfg.Timeout = c.ProvisionTimeout
		return docker.New(cfg)
	case providerEdgegap:
		cfg := c.Edgegap
		cfg.Timeout = c.ProvisionTimeout
		return edgegap.New(cfg)
	case providerProcess:
		return c.openProcesses(log, keep)
	default:
		return manual.Provider{}, nil
	}
}

func (c *Config) openProcesses(log *slog.Logger, keep bool) (provider.Provider, error) {
	cfg := c.Processes
	cfg.EndWithParent, cfg.Logger = !keep, log
	if cfg.Dir == "" {
		data, err := c.dataDir()
		if err != nil {
			return nil, err
		}
		cfg.Dir = data.pathOf("servers")
	}
	return processes.New(cfg)
}

// arenaCommand returns the command of the example game, if it is installed beside this program or on PATH.
func arenaCommand() map[string][]string {
	found := map[string][]string{}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "arena")
		if path, err := exec.LookPath(beside); err == nil {
			found["arena"] = []string{path, "server"}
			return found
		}
	}
	if path, err := exec.LookPath("arena"); err == nil {
		if path, err = filepath.Abs(path); err == nil {
			found["arena"] = []string{path, "server"}
		}
	}
	return found
}
