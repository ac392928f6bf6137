package main

import "maps"

// The values with which Nexis runs for development, so that its scripts and examples work against `director dev` as
// they are.
const (
	nexisMasterSecret  = "nexis-dev-master-secret"
	nexisInternalToken = "nexis-dev-internal-token"
	nexisDemoProject   = "demo-project"
	nexisDemoSecret    = "demo-secret"
	nexisDemoKey       = "demo-key"
)

// useNexisSecrets fills in the secrets that sign the tokens of projects.
func (c *Config) useNexisSecrets() {
	if c.Realtime.MasterSecret == "" {
		c.Realtime.MasterSecret = nexisMasterSecret
	}
	// Copied over the secret of Nexis, so that a setting wins.
	own := c.Realtime.ProjectSecrets
	c.Realtime.ProjectSecrets = map[string]string{nexisDemoProject: nexisDemoSecret}
	maps.Copy(c.Realtime.ProjectSecrets, own)
}
