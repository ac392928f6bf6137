package main

import (
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/provisioning/serverenv"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/worker"
)

// makeProviders returns the providers of a worker and the options of its loops, or nil without providers. keep is as in
// openProviders.
func (p *process) makeProviders(keep bool) (map[string]provider.Provider, *worker.ProvisionOptions, error) {
	c := p.conf
	if len(c.config.ProviderNames) == 0 {
		return nil, nil, nil
	}
	owner, err := c.config.deploymentOwner()
	if err != nil {
		return nil, nil, err
	}
	if p.providerSet, err = c.config.openProviders(p.log, keep); err != nil {
		return nil, nil, err
	}
	return p.providerSet.byName, &worker.ProvisionOptions{
		Owner: owner, Timeout: c.config.ProvisionTimeout, Environment: p.serverEnvironment,
	}, nil
}

// serverEnvironment returns the environment of a deployed server. The worker calls it for each start, when the replica
// of this process listens; a worker without a replica has no listeners, and uses the settings.
func (p *process) serverEnvironment(d provision.Deployment,
	v provision.AppVersion) (provider.Env, provider.Secret, error) {
	var addrs listenAddrs
	if listening := p.listenAddrs.Load(); listening != nil {
		addrs = *listening
	}
	settings := p.conf.config.serverSettings(addrs, p.sealer)
	server := serverenv.Server{Region: d.Region, ID: d.ID, SealedKey: d.SealedKey}
	// Without EndsAt, the end of the server is not known, and its environment does not have it.
	if d.EndsAt != nil {
		server.EndsAt = *d.EndsAt
	}
	return settings.Environment(server, v)
}
