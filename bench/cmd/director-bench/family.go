package main

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/bench/openmatch"
	"github.com/lattice-director/director/bench/orchestrator"
	"github.com/lattice-director/director/bench/realtime"
)

// family is the scenarios that share a listener and its settings.
type family struct {
	title     string // of the scenarios in the help
	scenarios []bench.Scenario
	face      lab.Face    // at which a process is called
	lab       lab.Options // faces, processes and settings of the laboratory's director
	// readCredentials sets the credentials of callers of a director that runs elsewhere; nil: setOrchestratorKeys does.
	readCredentials func(b *benchmark) error
}

// families are all scenarios.
var families = []family{
	{
		title: "Scenarios of players and game servers:", scenarios: bench.Scenarios, face: lab.Web,
		readCredentials: (*benchmark).setCredentials,
	},
	{
		title:     "Scenarios of the director loop, which matches the tickets of profiles. They apply profiles of their own:",
		scenarios: bench.LoopScenarios, face: lab.Web, readCredentials: (*benchmark).setCredentials,
		lab: lab.Options{Worker: true, Env: []string{lab.KeepTickets}},
	},
	{
		title:     "Scenarios of the Open Match API, over gRPC, with a match function and an Open Match director:",
		scenarios: openmatch.Scenarios, face: lab.GRPC,
		readCredentials: func(b *benchmark) error { b.options.Token = b.program.openMatchToken(); return nil },
	},
	{
		title:     "Scenarios of Rivalis, with simulated game servers attached (--agents):",
		scenarios: orchestrator.Scenarios, face: lab.Orchestrator,
		lab: lab.Options{Faces: []lab.Face{lab.Orchestrator}},
	},
	{
		title:     "Scenarios of the realtime lobby, over WebSocket:",
		scenarios: realtime.Scenarios, face: lab.Realtime,
		lab: lab.Options{Worker: true, Faces: []lab.Face{lab.Realtime}, Env: lab.OpenLobby()},
		readCredentials: func(b *benchmark) error {
			b.options.Token = b.program.variable("DIRECTOR_BENCH_PROJECT_TOKEN")
			return nil
		},
	},
}

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

// scenarioNames are sorted, for errors and completion.
func scenarioNames() (names []string) {
	for _, f := range families {
		names = append(names, bench.Names(f.scenarios)...)
	}
	return slices.Sorted(slices.Values(names))
}

// checkURL refuses the URL of another protocol, whose calls would fail one by one.
func (f family) checkURL(url, scenario string) error {
	if f.face == lab.GRPC {
		// SplitHostPort takes http://host for a host named http
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
