package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/bench/openmatch"
	"github.com/lattice-director/director/bench/orchestrator"
	"github.com/lattice-director/director/bench/realtime"
)

// family is the scenarios that share a protocol and its settings.
type family struct {
	scenarios []string
	protocol  *bench.Protocol                // nil: package bench's own
	overGRPC  bool                           // else over HTTP
	lab       func(b *benchmark) lab.Options // what the laboratory's director serves
	address   lab.Face                       // at which a process is called
	connect   func(b *benchmark) error       // sets the credentials of callers of a director that runs elsewhere
	baselines func(b *benchmark, ctx context.Context, l *lab.Lab, director subject) ([]subject, error)
}

func families() []family {
	placed := slices.DeleteFunc(bench.Scenarios(), ofLoop)
	looped := slices.DeleteFunc(bench.Scenarios(), func(s string) bool { return !ofLoop(s) })
	return []family{
		{scenarios: placed, lab: plainLab, address: lab.Web, connect: (*benchmark).becomePlayers,
			baselines: (*benchmark).besideNaive},
		{scenarios: looped, lab: loopLab, address: lab.Web, connect: (*benchmark).becomePlayers,
			baselines: (*benchmark).besideCommits},
		{
			scenarios: openmatch.Protocol.Scenarios(), protocol: openmatch.Protocol, overGRPC: true,
			lab:     (*benchmark).openMatchLab,
			address: lab.GRPC, connect: (*benchmark).becomeFrontend,
			baselines: (*benchmark).besideEcho,
		},
		{
			scenarios: orchestrator.Protocol.Scenarios(), protocol: orchestrator.Protocol,
			lab:     (*benchmark).orchestratorLab,
			address: lab.Orchestrator, connect: keysAreKnown,
		},
		{
			scenarios: realtime.Protocol.Scenarios(), protocol: realtime.Protocol, lab: lobbyLab,
			address: lab.Realtime, connect: (*benchmark).joinProject,
			baselines: (*benchmark).besideLobbyEcho,
		},
	}
}

// ofLoop reports whether a scenario is one of the director loop.
func ofLoop(scenario string) bool { return strings.HasPrefix(scenario, "match-") }

func plainLab(*benchmark) lab.Options { return lab.Options{} }

func loopLab(*benchmark) lab.Options {
	return lab.Options{Worker: true, Env: []string{lab.KeepTickets}}
}

func lobbyLab(*benchmark) lab.Options {
	return lab.Options{Worker: true, Realtime: true, Env: lab.OpenLobby()}
}

func (b *benchmark) openMatchLab() lab.Options {
	return lab.Options{Env: []string{"DIRECTOR_OM_REGISTRATION=" + b.window.String()}}
}

func (b *benchmark) orchestratorLab() lab.Options {
	return lab.Options{
		Orchestrator: true, Env: []string{"DIRECTOR_ORCHESTRATOR_AGENT_KEYS=" + b.AgentKey,
			"DIRECTOR_ORCHESTRATOR_ADMIN_KEYS=" + b.AdminKey},
	}
}

// keysAreKnown is for the orchestrator, whose keys the check of the options needs before.
func keysAreKnown(*benchmark) error { return nil }

// usual returns the usual load of the scenario; the zero value if it has none of its own.
func (f family) usual(scenario string) bench.Load {
	if f.protocol == nil {
		return bench.Usual(scenario)
	}
	return f.protocol.Usual(scenario)
}

func (f family) checkURL(url, scenario string) error {
	if f.overGRPC {
		if _, _, err := net.SplitHostPort(url); err != nil || strings.Contains(url, "//") {
			return fmt.Errorf("--url %s: %s is called over gRPC, at the host:port of a replica's --grpc-addr, without TLS", url, scenario)
		}
		return nil
	}
	if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return fmt.Errorf("--url %s: %s is called over HTTP, at http://host:port or https://host:port", url, scenario)
	}
	return nil
}

// familyOf returns the family of a scenario, nil if there is no such scenario.
func familyOf(scenario string) *family {
	for _, f := range families() {
		if slices.Contains(f.scenarios, scenario) {
			return &f
		}
	}
	return nil
}

func allScenarios() []string {
	names := map[string]bool{}
	for _, f := range families() {
		for _, name := range f.scenarios {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
