package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/internal/dev/devlogin"
)

// inLab measures a director of its own, and its baselines, with default settings whatever the environment contains, so
// that the figures of two machines compare.
func (b *benchmark) inLab(ctx context.Context) (err error) {
	i, err := devlogin.New()
	if err != nil {
		return err
	}
	d, err := findDirector(ctx, b.director)
	if err != nil {
		return err
	}
	o := b.family.lab(b)
	o.Replicas = b.replicas
	l, err := b.startLab(ctx, i, d, o)
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
