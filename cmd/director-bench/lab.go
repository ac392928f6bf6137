package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/internal/devlogin"
)

// inLab measures a director of its own, and its baselines, with default settings whatever the environment contains, so that
// the figures of two machines compare.
func (b *benchmark) inLab(ctx context.Context) (err error) {
	i, err := devlogin.New()
	if err != nil {
		return err
	}
	d, err := findDirector(ctx, b.director)
	if err != nil {
		return err
	}
	l, err := b.startLab(ctx, i, d, lab.Options{
		Replicas: b.replicas, Worker: b.ofMatch(), Orchestrator: b.ofOrchestrator(), Env: b.labSettings(),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	b.AccessToken, b.FleetToken, b.OpsToken = minter(i, devlogin.Claims{}), l.FleetToken(), l.OpsToken()
	ctx, end := l.Living(ctx)
	defer end()
	subjects, err := b.subjects(ctx, l)
	if err != nil {
		return err
	}
	return b.measure(ctx, d.version, l.Version(), subjects...)
}

// startLab starts a laboratory whose director trusts the issuer. Env of the options is added to the environment.
func (p *program) startLab(ctx context.Context, i devlogin.Issuer, d director, o lab.Options) (*lab.Lab, error) {
	o.Program, o.Dir = d.path, p.variable("TMPDIR")
	o.JWKS, o.Env = i.JWKS(), append(p.withoutSettings(), o.Env...)
	return lab.Start(ctx, o)
}

// settingPrefixes are the prefixes of variables that a director or its Postgres reads.
var settingPrefixes = []string{"DIRECTOR_", "OTEL_", "PG", "DATABASE_URL", "Auth__", "Auth:", "Fleet__", "Fleet:"}

// withoutSettings is the environment without settings, so that a process has the defaults.
func (p *program) withoutSettings() (pairs []string) {
	for _, pair := range p.environ {
		if !slices.ContainsFunc(settingPrefixes, func(prefix string) bool { return strings.HasPrefix(pair, prefix) }) {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// subjects are the director and, if requested, its baselines: as many processes as the director has replicas.
func (b *benchmark) subjects(ctx context.Context, l *lab.Lab) (all []subject, err error) {
	if b.ofOpenMatch() {
		return b.openMatchSubjects(ctx, l)
	}
	if b.ofMatch() {
		return b.matchSubjects(ctx, l)
	}
	if b.ofOrchestrator() {
		return []subject{b.orchestratorSubject(orchestratorURLs(l.Replicas()), l)}, nil
	}
	nothing := map[bool]string{true: "fleet-noop", false: "noop"}[b.ofFleet()]
	if b.Scenario != nothing {
		all = append(all, subject{scenario: b.Scenario, urls: lab.URLs(l.Replicas()), meter: l})
	}
	if len(all) > 0 && !b.baselines {
		return all, nil
	}
	baselines, err := l.Baselines(ctx)
	if err != nil {
		return nil, err
	}
	meter := l.Meter(baselines...)
	if b.places() {
		all = append(all, subject{name: naive, scenario: b.Scenario, urls: lab.URLs(baselines), meter: meter})
	}
	return append(all, subject{name: noOp, scenario: nothing, urls: lab.URLs(baselines), meter: meter}), nil
}

// ofFleet reports whether the scenario has no calls of players.
func (b *benchmark) ofFleet() bool {
	return slices.Contains([]string{"heartbeat", "register", "fleet-noop"}, b.Scenario)
}

// places reports whether the scenario places players, so that the naive placement differs from the director's.
func (b *benchmark) places() bool {
	return slices.Contains([]string{"matchmake", "session-life", "mixed"}, b.Scenario)
}
