package main

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/bench/orchestrator"
)

// rivalisFamily is the scenarios of Rivalis.
type rivalisFamily struct {
	overHTTP

	agents, rooms      int
	agentKey, adminKey string // of a laboratory's director; made when they are needed
}

func (*rivalisFamily) scenarios() []string { return orchestrator.Scenarios() }

func (f *rivalisFamily) addFlags(flags *pflag.FlagSet) {
	flags.IntVar(&f.agents, "agents", 0, fmt.Sprintf(
		"Simulated Rivalis game servers, 1 to %d. 0: as many as usual, 1,000, of room-create and room-life 200, of room-create-large 5,000", orchestrator.MaxAgents))
	flags.IntVar(&f.rooms, "rooms", -1, fmt.Sprintf(
		"Rooms that each of them has made itself, 0 to %d. -1: as many as usual, 4, where rooms are created none", orchestrator.MaxRooms))
}

func (f *rivalisFamily) usual() (load bench.Load) {
	load.Callers, _, _ = orchestrator.Usual(f.Scenario)
	return load
}

func (f *rivalisFamily) checkLoad(o bench.Options) error {
	load := f.options(o)
	return load.Check()
}

func (f *rivalisFamily) options(o bench.Options) orchestrator.Options {
	_, agents, rooms := orchestrator.Usual(f.Scenario)
	if f.agents != 0 {
		agents = f.agents
	}
	if f.rooms >= 0 {
		rooms = f.rooms
	}
	agentKey, adminKey := f.keys()
	return orchestrator.Options{Options: o, AgentKey: agentKey, AdminKey: adminKey, Agents: agents, Rooms: rooms}
}

// keys returns the keys of the director that is measured: those of the environment for a running one.
func (f *rivalisFamily) keys() (agent, admin string) {
	if len(f.URLs) > 0 {
		return first(f.variable("DIRECTOR_ORCHESTRATOR_AGENT_KEYS")), first(f.variable("DIRECTOR_ORCHESTRATOR_ADMIN_KEYS"))
	}
	if f.agentKey == "" {
		f.agentKey, f.adminKey = rand.Text(), rand.Text()
	}
	return f.agentKey, f.adminKey
}

func (f *rivalisFamily) lab() lab.Options {
	agent, admin := f.keys()
	return lab.Options{Orchestrator: true, Env: []string{"DIRECTOR_ORCHESTRATOR_AGENT_KEYS=" + agent, "DIRECTOR_ORCHESTRATOR_ADMIN_KEYS=" + admin}}
}

func (f *rivalisFamily) runningSubject() (subject, error) { return f.subject(f.URLs, nil), nil }

func (f *rivalisFamily) subjects(_ context.Context, l *lab.Lab) ([]subject, error) {
	return []subject{f.subject(orchestratorURLs(l.Replicas()), l)}, nil
}

// subject is the director, called at the addresses of its orchestrators.
func (f *rivalisFamily) subject(urls []string, meter bench.Meter) subject {
	return subject{scenario: f.Scenario, urls: urls, meter: meter, run: func(ctx context.Context, o bench.Options) (bench.Result, error) {
		return orchestrator.Run(ctx, f.options(o))
	}}
}

func orchestratorURLs(processes []*lab.Process) (urls []string) {
	for _, p := range processes {
		urls = append(urls, "http://"+p.Orchestrator)
	}
	return urls
}
