package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/internal/devlogin"
)

// inLab measures a director of its own, and what it is compared with. Whatever the environment says of settings, it has
// the defaults, so that figures of two machines compare.
func (b *benchmark) inLab(ctx context.Context) (err error) {
	i, err := devlogin.New()
	if err != nil {
		return err
	}
	l, err := b.startLab(ctx, i, lab.Options{Replicas: b.replicas, Env: b.labSettings()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	b.AccessToken, b.FleetToken = minter(i, devlogin.Claims{}), l.FleetToken()
	ctx, end := l.Living(ctx)
	defer end()
	subjects, err := b.subjects(ctx, l)
	if err != nil {
		return err
	}
	return b.measure(ctx, l.Version(), subjects...)
}

// startLab starts a laboratory whose director believes the issuer. Env of the options is added to the environment.
func (p *program) startLab(ctx context.Context, i devlogin.Issuer, o lab.Options) (*lab.Lab, error) {
	o.Dir, _ = p.environ.lookup("TMPDIR")
	o.JWKS, o.Env = i.JWKS(), append(p.environ.withoutSettings(), o.Env...)
	return lab.Start(ctx, o)
}

// withoutSettings is what a process needs that is to have the defaults.
func (e environment) withoutSettings() (pairs []string) {
	settings := knownVariables()
	for _, name := range slices.Sorted(maps.Keys(e)) {
		ours := strings.HasPrefix(name, "DIRECTOR_") || strings.HasPrefix(name, "OTEL_")
		postgres := strings.HasPrefix(name, "PG") // libpq's
		if !ours && !postgres && !slices.Contains(settings, name) {
			pairs = append(pairs, name+"="+e[name])
		}
	}
	return pairs
}

// subjects are the director and, where wanted, its baselines: as many processes as the director has replicas.
func (b *benchmark) subjects(ctx context.Context, l *lab.Lab) (all []subject, err error) {
	if b.ofOpenMatch() {
		return b.openMatchSubjects(ctx, l)
	}
	nothing := map[bool]string{true: "fleet-noop", false: "noop"}[b.ofFleet()]
	if b.Scenario != nothing {
		all = append(all, subject{scenario: b.Scenario, urls: urlsOf(l.Replicas()), meter: l})
	}
	if len(all) > 0 && !b.baselines {
		return all, nil
	}
	baselines, err := b.startBaselines(ctx, l)
	if err != nil {
		return nil, err
	}
	meter := l.Meter(baselines...)
	if b.places() {
		all = append(all, subject{name: naive, scenario: b.Scenario, urls: urlsOf(baselines), meter: meter})
	}
	return append(all, subject{name: noOp, scenario: nothing, urls: urlsOf(baselines), meter: meter}), nil
}

func (b *benchmark) startBaselines(ctx context.Context, l *lab.Lab) (all []*lab.Process, err error) {
	for n := range b.replicas {
		p, err := l.Start(ctx, fmt.Sprintf("baseline-%d", n), []string{"bench-baseline"}, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// ofFleet tells that no player calls.
func (b *benchmark) ofFleet() bool {
	return slices.Contains([]string{"heartbeat", "register", "fleet-noop"}, b.Scenario)
}

// places tells that the naive placement is another one than the director's.
func (b *benchmark) places() bool {
	return slices.Contains([]string{"matchmake", "session-life", "mixed"}, b.Scenario)
}

func urlsOf(processes []*lab.Process) (urls []string) {
	for _, p := range processes {
		urls = append(urls, p.URL)
	}
	return urls
}
