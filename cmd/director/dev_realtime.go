package main

import (
	"context"
	"maps"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// The values with which Nexis runs for development, so that its scripts and examples work against `director dev` as
// they are.
const (
	nexisMasterSecret  = "nexis-dev-master-secret"
	nexisInternalToken = "nexis-dev-internal-token"
	nexisDemoProject   = "demo-project"
	nexisDemoSecret    = "demo-secret"
	nexisDemoKey       = "demo-key"
)

// prepareRealtime fills in the addresses of the realtime lobby and the values of Nexis.
func (d *devRun) prepareRealtime(ctx context.Context) {
	if d.conf.Realtime.Addr == "" {
		d.conf.Realtime.Addr = freeOr(ctx, "127.0.0.1:4000")
	}
	if d.conf.Projects.Addr == "" {
		d.conf.Projects.Addr = freeOr(ctx, "127.0.0.1:3000")
	}
	if len(d.conf.Projects.Tokens) == 0 {
		d.conf.Projects.Tokens = []string{nexisInternalToken}
	}
	if d.conf.from("realtime-conformance") == fromDefault {
		d.conf.Realtime.Conformance = true
	}
	d.conf.useNexisSecrets()
}

// useNexisSecrets fills in the secrets that sign the tokens of projects.
func (c *Config) useNexisSecrets() {
	if c.Realtime.Master == "" {
		c.Realtime.Master = nexisMasterSecret
	}
	own := c.Realtime.ProjectSecrets
	c.Realtime.ProjectSecrets = map[string]string{nexisDemoProject: nexisDemoSecret}
	maps.Copy(c.Realtime.ProjectSecrets, own)
}

// makeDemoProject makes the project and the key of Nexis' examples, unless they exist.
func (p *process) makeDemoProject(ctx context.Context) error {
	_, err := p.store.CreateProject(ctx, db.NewProject{ID: nexisDemoProject, Name: "demo", Region: p.conf.Realtime.Region, Actor: "director dev"})
	if err != nil && !fault.Is(err, fault.Conflict) {
		return err
	}
	_, _, err = p.store.CreateProjectKey(ctx, db.NewProjectKey{
		Project: nexisDemoProject, ID: nexisDemoKey, Name: "demo-default", Scopes: []string{db.ScopeMint},
		Actor: "director dev", Seal: p.sealer.NewProjectSecret,
	})
	if err != nil && !fault.Is(err, fault.Conflict) {
		return err
	}
	return nil
}
