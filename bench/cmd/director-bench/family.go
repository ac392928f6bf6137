package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/baseline"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/bench/openmatch"
	"github.com/lattice-director/director/bench/orchestrator"
	"github.com/lattice-director/director/bench/realtime"
)

// family is the scenarios that share a listener and its settings.
type family struct {
	title     string // of the scenarios in the help
	scenarios []bench.Scenario
	face      lab.Face                       // at which a process is called
	isGRPC    bool                           // else it is called over HTTP
	lab       func(b *benchmark) lab.Options // what the laboratory's director serves
	connect   func(b *benchmark) error       // sets the credentials of callers of a director that runs elsewhere
	baselines []baselineKind
}

// families are all scenarios.
var families = []family{
	{
		title:     "Scenarios of players and game servers:",
		scenarios: slices.DeleteFunc(slices.Clone(bench.Scenarios), isOfLoop), face: lab.Web,
		lab: func(*benchmark) lab.Options { return lab.Options{} }, connect: (*benchmark).becomePlayers,
		baselines: []baselineKind{naive, noOp},
	},
	{
		title: "Scenarios of the director loop, which matches the tickets of profiles. They apply profiles of their own:",
		scenarios: slices.DeleteFunc(slices.Clone(bench.Scenarios),
			func(s bench.Scenario) bool { return !isOfLoop(s) }),
		face: lab.Web, connect: (*benchmark).becomePlayers,
		lab: func(*benchmark) lab.Options {
			return lab.Options{Worker: true, Env: []string{lab.KeepTickets}}
		},
		baselines: []baselineKind{noOp, notice, commit},
	},
	{
		title:     "Scenarios of the Open Match API, over gRPC, with a match function and an Open Match director:",
		scenarios: openmatch.Scenarios, face: lab.GRPC, isGRPC: true,
		lab: func(b *benchmark) lab.Options {
			return lab.Options{Env: []string{"DIRECTOR_OM_REGISTRATION=" + b.window.String()}}
		},
		connect:   func(b *benchmark) error { b.options.Token = b.running.lobbyToken; return nil },
		baselines: []baselineKind{echo, commit},
	},
	{
		title:     "Scenarios of Rivalis, with simulated game servers attached (--agents):",
		scenarios: orchestrator.Scenarios, face: lab.Orchestrator, connect: func(*benchmark) error { return nil },
		lab: func(b *benchmark) lab.Options {
			return lab.Options{Orchestrator: true,
				Env: []string{"DIRECTOR_ORCHESTRATOR_AGENT_KEYS=" + b.options.AgentKey,
					"DIRECTOR_ORCHESTRATOR_ADMIN_KEYS=" + b.options.AdminKey}}
		},
	},
	{
		title:     "Scenarios of the realtime lobby, over WebSocket:",
		scenarios: realtime.Scenarios, face: lab.Realtime,
		lab: func(*benchmark) lab.Options {
			return lab.Options{Worker: true, Realtime: true, Env: lab.OpenLobby()}
		},
		connect: func(b *benchmark) error {
			b.options.Token = b.variable("DIRECTOR_BENCH_PROJECT_TOKEN")
			return nil
		},
		baselines: []baselineKind{echo, notice, commit},
	},
}

// isOfLoop reports whether a scenario is one of the director loop.
func isOfLoop(s bench.Scenario) bool { return strings.HasPrefix(s.Name, "match-") }

// scenariosText lists all scenarios for the help.
func scenariosText() string {
	var text strings.Builder
	for _, f := range families {
		fmt.Fprintf(&text, "%s\n\n", f.title)
		for _, s := range f.scenarios {
			fmt.Fprintf(&text, "  %-13s %s\n", s.Name, strings.ReplaceAll(s.About, "\n", "\n"+strings.Repeat(" ", 16)))
		}
		text.WriteString("\n")
	}
	return text.String()
}

// findScenario returns a scenario and its family, nil if there is none of that name.
func findScenario(name string) (*family, bench.Scenario) {
	for _, f := range families {
		if s := bench.Find(f.scenarios, name); s.Begin != nil {
			return &f, s
		}
	}
	return nil, bench.Scenario{}
}

func scenarioNames() (names []string) {
	for _, f := range families {
		names = append(names, bench.Names(f.scenarios)...)
	}
	return slices.Sorted(slices.Values(names))
}

func (f family) checkURL(url, scenario string) error {
	if f.isGRPC {
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

// baselineKind is a baseline, by the name of its runs.
type baselineKind string

const (
	naive  baselineKind = "naive" // of scenarios that place players
	noOp   baselineKind = "no-op"
	notice baselineKind = "notice" // of a notification between two connections
	echo   baselineKind = "echo"
	commit baselineKind = "commit"
)

// fewestCommitters make as many commits share a flush as under load.
const fewestCommitters = 32

// subjects returns the director of a laboratory and, if requested, its baselines.
func (b *benchmark) subjects(ctx context.Context, l *lab.Lab) ([]subject, error) {
	scenario, kinds := b.options.Scenario, b.family.baselines
	director := subject{scenario: scenario, urls: lab.Addresses(l.Replicas, b.family.face), meter: l}
	isNoOp := strings.HasSuffix(scenario.Name, "noop") // the baselines serve it, and no director
	if isNoOp {
		kinds = []baselineKind{noOp}
	} else if !b.baselines {
		return []subject{director}, nil
	}
	processes, err := l.Baselines(ctx)
	all := []subject{director}
	for _, kind := range kinds {
		s := subject{name: kind, urls: lab.Addresses(processes, b.family.face), meter: l.Meter(processes...)}
		switch kind {
		case naive:
			if s.scenario = scenario; scenario.Name != "matchmake" && scenario.Name != "session-life" {
				continue
			}
		case noOp:
			s.scenario = bench.Find(bench.Scenarios, noOpOf(scenario.Name))
		case echo:
			s.scenario, s.adapt = echoOf(b.family, scenario)
		case notice, commit:
			s.scenario, s.urls, s.meter = bench.Find(baseline.Scenarios, string(kind)), []string{l.URL()}, nil
			s.adapt = commitLoad
		}
		all = append(all, s)
	}
	if isNoOp {
		all = all[1:]
	}
	return all, err
}

// noOpOf is the call that does nothing else than those of a scenario do beside their work.
func noOpOf(scenario string) string {
	if slices.Contains([]string{"heartbeat", "register", "fleet-noop"}, scenario) {
		return "fleet-noop"
	}
	return "noop"
}

// echoOf is the scenario that an echo answers, with its load: for turns of many calls that of single ones.
func echoOf(f *family, scenario bench.Scenario) (echoed bench.Scenario, adapt func(*bench.Options)) {
	switch {
	case !f.isGRPC:
		return bench.Find(realtime.Scenarios, realtime.Echoed), func(o *bench.Options) { o.Callers, o.Rate = 1, 0 }
	case scenario.Name == "query":
		return scenario, nil
	}
	echoed = bench.Find(openmatch.Scenarios, "tickets")
	return echoed, func(o *bench.Options) {
		if scenario.Name == "fetch" || scenario.Name == "ticket-life" {
			o.Callers, o.Rate = echoed.Usual.Callers, echoed.Usual.Rate
		}
	}
}

// commitLoad is a closed loop of as many callers as the load has, but at least fewestCommitters; of notifications one.
func commitLoad(o *bench.Options) {
	o.Callers, o.Rate = max(o.Callers, fewestCommitters), 0
	if o.Scenario.Usual.Callers == 1 {
		o.Callers = 1
	}
}
