package main

import (
	"crypto/rand"

	"github.com/lattice-director/director/internal/dev/devlogin"
)

// becomePlayers makes callers players, game servers and operators of a director that runs elsewhere.
func (b *benchmark) becomePlayers() error {
	i, err := b.running.issuer()
	b.AccessToken = minter(i, devlogin.Claims{Issuer: b.running.authIssuer, Audience: b.running.audience})
	b.FleetToken, b.OpsToken = b.running.fleetToken, b.running.opsToken
	return err
}

// becomeFrontend makes callers frontends and directors of Open Match.
func (b *benchmark) becomeFrontend() error {
	b.Token = b.running.lobbyToken
	return nil
}

// joinProject makes callers players of a project of the realtime lobby.
func (b *benchmark) joinProject() error {
	b.Token = b.variable("DIRECTOR_BENCH_PROJECT_TOKEN")
	return nil
}

// takeOrchestratorKeys takes the keys of the environment, or makes some for a director of its own.
func (b *benchmark) takeOrchestratorKeys(running bool) {
	if running {
		b.AgentKey, b.AdminKey = first(b.variable("DIRECTOR_ORCHESTRATOR_AGENT_KEYS")), first(b.variable("DIRECTOR_ORCHESTRATOR_ADMIN_KEYS"))
		return
	}
	b.AgentKey, b.AdminKey = rand.Text(), rand.Text()
}
