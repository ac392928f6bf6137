package main

import (
	"context"
	"maps"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// The values with which Nexis runs for development, so that its scripts and examples work against `director dev` as they are.
const (
	nexisMasterSecret  = "nexis-dev-master-secret"
	nexisInternalToken = "nexis-dev-internal-token"
	nexisDemoProject   = "demo-project"
	nexisDemoSecret    = "demo-secret"
	nexisDemoKey       = "demo-key"
)

// prepareRealtime fills in the addresses of the realtime lobby and the values of Nexis.
func (d *devRun) prepareRealtime(ctx context.Context) {
	if d.conf.RealtimeAddr == "" {
		d.conf.RealtimeAddr = freeOr(ctx, "127.0.0.1:4000")
	}
	if d.conf.RealtimeControlAddr == "" {
		d.conf.RealtimeControlAddr = freeOr(ctx, "127.0.0.1:3000")
	}
	if len(d.conf.RealtimeInternalTokens) == 0 {
		d.conf.RealtimeInternalTokens = []string{nexisInternalToken}
	}
	if d.conf.from("realtime-conformance") == fromDefault {
		d.conf.RealtimeConformance = true
	}
	d.conf.useNexisSecrets()
}

// useNexisSecrets fills in the secrets that sign the tokens of projects.
func (c *Config) useNexisSecrets() {
	if c.RealtimeMasterSecret == "" {
		c.RealtimeMasterSecret = nexisMasterSecret
	}
	own := c.RealtimeProjectSecrets
	c.RealtimeProjectSecrets = map[string]string{nexisDemoProject: nexisDemoSecret}
	maps.Copy(c.RealtimeProjectSecrets, own)
}

// makeDemoProject makes the project and the key of Nexis' examples, unless they exist.
func (p *process) makeDemoProject(ctx context.Context) error {
	_, err := p.store.CreateProject(ctx, db.NewProject{ID: nexisDemoProject, Name: "demo", Region: p.conf.RealtimeRegion, Actor: "director dev"})
	if err != nil && !fault.Is(err, fault.Conflict) {
		return err
	}
	_, _, err = p.store.CreateProjectKey(ctx, db.NewProjectKey{
		Project: nexisDemoProject, ID: nexisDemoKey, Name: "demo-default", Scopes: []string{db.ScopeMint}, Actor: "director dev", Seal: p.sealer.NewProjectSecret,
	})
	if err != nil && !fault.Is(err, fault.Conflict) {
		return err
	}
	return nil
}
