package main

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/dev/devlogin"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/programtest"
)

// asProgram makes this test binary the program itself: a laboratory runs it for its baselines.
const asProgram = "RUN_AS_DIRECTOR_BENCH"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	code := m.Run()
	clitest.RemoveDirector()
	os.Exit(code)
}

const (
	deadline = time.Minute
	tick     = 20 * time.Millisecond
)

func env(pairs ...string) []string { return append([]string{"HOME=/nonexistent"}, pairs...) }

// inLab is the environment of a benchmark with a director of its own.
func inLab(t *testing.T) []string {
	t.Helper()
	// A laboratory must ignore these settings.
	return env(asProgram+"=1", "DIRECTOR_PROGRAM="+clitest.BuildDirector(t), "TMPDIR="+programtest.EmptiedDir(t),
		"DATABASE_URL=postgres://127.0.0.1:1/x",
		"DIRECTOR_CALL_TIMEOUT=50ms", "PGHOST=127.0.0.1")
}

// outside is a running director, and the login service that it trusts.
func outside(t *testing.T, settings ...string) (*lab.Lab, devlogin.Issuer) {
	t.Helper()
	i := must.Get(devlogin.New())(t)
	l := must.Get(lab.Start(t.Context(), lab.Options{
		JWKS: i.JWKS(), Dir: programtest.EmptiedDir(t), Program: clitest.BuildDirector(t),
		Env: append(env(asProgram+"=1"), settings...),
	}))(t)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l, i
}

type object map[string]any

// directorBench is the program under test. It asks nothing.
var directorBench clitest.Program = func(ctx context.Context, args, environ []string, _ io.Reader,
	stdout, stderr io.Writer) error {
	return Run(ctx, args, environ, stdout, stderr)
}
