package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/bench/orchestrator"
)

// orchestratorLoad holds the flags of the scenarios of Rivalis.
type orchestratorLoad struct{ agents, rooms int }

func (l *orchestratorLoad) addFlags(flags *pflag.FlagSet) {
	flags.IntVar(&l.agents, "agents", 0, fmt.Sprintf(
		"Simulated Rivalis game servers, 1 to %d. 0: as many as usual, 1,000, of room-create and room-life 200", orchestrator.MaxAgents))
	flags.IntVar(&l.rooms, "rooms", -1, fmt.Sprintf(
		"Rooms that each of them has made itself, 0 to %d. -1: as many as usual, 4, of room-create and room-life none", orchestrator.MaxRooms))
}

func (b *benchmark) ofOrchestrator() bool {
	return slices.Contains(orchestrator.Scenarios(), b.Scenario)
}

func (b *benchmark) orchestratorOptions(o bench.Options) orchestrator.Options {
	_, agents, rooms := orchestrator.Usual(b.Scenario)
	if b.orchestrator.agents != 0 {
		agents = b.orchestrator.agents
	}
	if b.orchestrator.rooms >= 0 {
		rooms = b.orchestrator.rooms
	}
	return orchestrator.Options{Options: o, AgentKey: b.orchestratorKeys.agent, AdminKey: b.orchestratorKeys.admin, Agents: agents, Rooms: rooms}
}

// orchestratorKeys are the keys of the director that is measured.
type orchestratorKeys struct{ agent, admin string }

// setOrchestratorKeys sets the keys: those of the environment for a running director, else new ones.
func (b *benchmark) setOrchestratorKeys() {
	if len(b.URLs) == 0 {
		b.orchestratorKeys = orchestratorKeys{rand.Text(), rand.Text()}
		return
	}
	b.orchestratorKeys = orchestratorKeys{first(b.variable("DIRECTOR_ORCHESTRATOR_AGENT_KEYS")), first(b.variable("DIRECTOR_ORCHESTRATOR_ADMIN_KEYS"))}
}

// orchestratorSubject is the director, called at the addresses of its orchestrators.
func (b *benchmark) orchestratorSubject(urls []string, meter bench.Meter) subject {
	return subject{scenario: b.Scenario, urls: urls, meter: meter, run: func(ctx context.Context, o bench.Options) (bench.Result, error) {
		return orchestrator.Run(ctx, b.orchestratorOptions(o))
	}}
}

func orchestratorURLs(processes []*lab.Process) (urls []string) {
	for _, p := range processes {
		urls = append(urls, "http://"+p.Orchestrator)
	}
	return urls
}
