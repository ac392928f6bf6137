package main

import (
	"log/slog"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/agones"
	"github.com/lattice-director/director/provider/docker"
	"github.com/lattice-director/director/provider/edgegap"
	"github.com/lattice-director/director/provider/manual"
	processes "github.com/lattice-director/director/provider/process"
)

// The names of the providers, as app versions and DIRECTOR_PROVIDERS have them.
const (
	providerAgones  = "agones"
	providerDocker  = "docker"
	providerEdgegap = "edgegap"
	providerManual  = "manual"
	providerProcess = "process"
)

// providerNames are sorted, for the help.
var providerNames = []string{providerAgones, providerDocker, providerEdgegap, providerManual, providerProcess}

// providerSet is the providers of a process, by name. Call closeProviders.
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

// openProviders makes the providers of the settings, and calls none of their APIs. keep says whether game servers that
// are processes of this machine survive this process.
func (c *Config) openProviders(log *slog.Logger, keep bool) (*providerSet, error) {
	s := &providerSet{byName: map[string]provider.Provider{}}
	for _, name := range c.ProviderNames {
		p, err := c.openProvider(name, log, keep)
		if err != nil {
			s.closeProviders()
			return nil, err
		}
		s.byName[name] = p
		// Not every provider has something to close: manual has nothing.
		if closer, ok := p.(interface{ Close() }); ok {
			s.closeFuncs = append(s.closeFuncs, closer.Close)
		}
	}
	return s, nil
}

// openProvider gives each provider of an API the time of a call; processes of this machine have none to wait for.
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
	default: // manual: providersValue accepts no other names
		return manual.Provider{}, nil
	}
}

// openProcesses keeps the state of servers in a directory: a worker that starts again finds there which still run.
func (c *Config) openProcesses(log *slog.Logger, keep bool) (provider.Provider, error) {
	cfg := c.Processes
	cfg.EndWithParent, cfg.Logger = !keep, log
	if cfg.Dir == "" {
		data, err := c.findDataDir()
		if err != nil {
			return nil, err
		}
		cfg.Dir = data.pathOf("servers")
	}
	return processes.New(cfg)
}
