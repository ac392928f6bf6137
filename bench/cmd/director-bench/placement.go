package main

import (
	"context"
	"slices"
	"strings"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/internal/dev/devlogin"
)

// placementFamily is the scenarios of placed players and of their game servers.
type placementFamily struct{ overHTTP }

func (*placementFamily) scenarios() []string {
	return slices.DeleteFunc(bench.Scenarios(), ofLoop)
}

func (*placementFamily) lab() lab.Options { return lab.Options{} }

func (f *placementFamily) runningSubject() (subject, error) {
	r := &f.running
	i, err := r.issuer()
	if err != nil {
		return subject{}, err
	}
	f.AccessToken = minter(i, devlogin.Claims{Issuer: r.authIssuer, Audience: r.audience})
	f.FleetToken, f.OpsToken = r.fleetToken, r.opsToken
	return subject{scenario: f.Scenario, urls: f.URLs}, nil
}

func (f *placementFamily) subjects(ctx context.Context, l *lab.Lab) (all []subject, err error) {
	nothing := map[bool]string{true: "fleet-noop", false: "noop"}[f.ofFleet()]
	if f.Scenario != nothing {
		all = append(all, subject{scenario: f.Scenario, urls: lab.URLs(l.Replicas()), meter: l})
	}
	if len(all) > 0 && !f.baselines {
		return all, nil
	}
	baselines, err := l.Baselines(ctx)
	if err != nil {
		return nil, err
	}
	meter := l.Meter(baselines...)
	if f.places() {
		all = append(all, subject{name: naive, scenario: f.Scenario, urls: lab.URLs(baselines), meter: meter})
	}
	return append(all, subject{name: noOp, scenario: nothing, urls: lab.URLs(baselines), meter: meter}), nil
}

// ofFleet reports whether the scenario has no calls of players.
func (f *placementFamily) ofFleet() bool {
	return slices.Contains([]string{"heartbeat", "register", "fleet-noop"}, f.Scenario)
}

// places reports whether the scenario places players, so that the naive placement differs from the director's.
func (f *placementFamily) places() bool {
	return slices.Contains([]string{"matchmake", "session-life", "mixed"}, f.Scenario)
}

// ofLoop reports whether a scenario is one of the director loop.
func ofLoop(scenario string) bool { return strings.HasPrefix(scenario, "match-") }
