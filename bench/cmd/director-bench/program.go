package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/bench/proof"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/dev/devlogin"
)

// directorFlag names the director's binary.
const directorFlag = "director"

// addMeasurement makes a command one that measures: with the flags that all of them share, then check, whose errors are
// about the use of the command, and run.
func (p *program) addMeasurement(cmd *cobra.Command, check func(args []string) error,
	run func(ctx context.Context) error) {
	flags := cmd.Flags()
	flags.BoolVar(&p.isAwake, "awake", false,
		"Keep this machine's CPUs from sleeping during the measurement, as root on Linux: a busy host wakes up a sleeping "+
			"virtual CPU late")
	flags.StringVar(&p.directorPath, directorFlag, p.variable("DIRECTOR_PROGRAM"),
		"The director's program, of a director of its own. "+
			"Not set: the one beside this program, else that of PATH [DIRECTOR_PROGRAM]")
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if p.out, err = cli.OutputOf(cmd); err != nil {
			return err
		}
		if err := check(args); err != nil {
			return cli.Usage(err)
		}
		return whileAwake(p.isAwake, latencyDevice, func() error { return run(cmd.Context()) })
	}
}

// labStarter returns what starts laboratories with the director's binary, and this machine, whose version of Postgres
// each start sets: read it only after one. Laboratories share their players, whose tokens are made once. Env of a
// laboratory's options is added to the environment.
func (p *program) labStarter() (proof.StartFunc, *machine, error) {
	issuer, err := devlogin.New()
	if err != nil {
		return nil, nil, err
	}
	path, err := findDirector(p.directorPath)
	if err != nil {
		return nil, nil, err
	}
	mint, here := minter(issuer, devlogin.Claims{}), machineHere(p.isAwake)
	return func(ctx context.Context, o lab.Options) (*lab.Lab, bench.MintFunc, error) {
		o.Program, o.Dir = path, p.variable("TMPDIR")
		o.JWKS, o.Env = issuer.JWKS(), append(p.withoutSettings(), o.Env...)
		l, err := lab.Start(ctx, o)
		if err == nil {
			here.Postgres = l.Version()
		}
		return l, mint, err
	}, &here, nil
}

// settingPrefixes are the prefixes of variables that a director or its Postgres reads.
var settingPrefixes = []string{"DIRECTOR_", "OTEL_", "PG", "DATABASE_URL", "Auth__", "Auth:", "Fleet__", "Fleet:"}

// withoutSettings is the environment without settings, so that a process has the defaults.
func (p *program) withoutSettings() []string {
	return slices.DeleteFunc(slices.Clone(p.environ), func(pair string) bool {
		return slices.ContainsFunc(settingPrefixes, func(prefix string) bool { return strings.HasPrefix(pair, prefix) })
	})
}

// tokenTTL is longer than the longest run.
const tokenTTL = 24 * time.Hour

// minter makes access tokens, once for each player: runs have the same players.
func minter(i devlogin.Issuer, claims devlogin.Claims) bench.MintFunc {
	var made sync.Map
	return func(sub string) (string, error) {
		if token, ok := made.Load(sub); ok {
			return token.(string), nil
		}
		claims := claims
		claims.Subject = sub
		token, _, err := i.Mint(claims, tokenTTL)
		made.Store(sub, token)
		return token, err
	}
}

// findDirector returns the binary that the flag names, else the one beside this program, which is of the same build, else
// that of PATH.
func findDirector(named string) (path string, err error) {
	candidates := []string{named}
	if named == "" {
		self, _ := os.Executable() // without it, as if there were none beside
		candidates = []string{filepath.Join(filepath.Dir(self), "director"), "director"}
	}
	for _, name := range candidates {
		if path, err = exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	if named != "" {
		return "", cli.Usage(fmt.Errorf("--%s: %w", directorFlag, err))
	}
	return "", fmt.Errorf("no director to measure: build it beside this program ('make build' does), or name it with --%s: %w",
		directorFlag, err)
}

// program is what all commands share. The flags are those of the one that runs.
type program struct {
	environ []string
	stderr  io.Writer

	out          cli.Output
	isAwake      bool
	directorPath string // "": it is searched for
}

// variable returns the value of an environment variable; "" when it is not set.
func (p *program) variable(name string) string {
	for _, pair := range p.environ {
		if key, text, _ := strings.Cut(pair, "="); key == name {
			return text
		}
	}
	return ""
}
