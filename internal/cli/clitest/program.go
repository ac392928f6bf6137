// Package clitest runs the programs of this repository, inside their tests or built for them, and calls the servers
// that they start.
package clitest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Program is the function that main calls: it runs a command line to its end.
type Program func(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) error

// Result is the outcome of a command.
type Result struct {
	Stdout, Stderr string
	Err            error
}

// Run runs a command, with answers to the questions it asks.
func (p Program) Run(t testing.TB, environ []string, answers string, args ...string) Result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	err := p(t.Context(), args, environ, strings.NewReader(answers), &stdout, &stderr)
	return Result{stdout.String(), stderr.String(), err}
}

// OK runs a command, requires that it succeeds, and returns its output.
func (p Program) OK(t testing.TB, environ []string, args ...string) string {
	t.Helper()
	r := p.Run(t, environ, "", args...)
	require.NoError(t, r.Err, r.Stderr)
	return r.Stdout
}

// Read runs a command, requires that it succeeds, and parses the JSON that it writes.
func Read[T any](t testing.TB, p Program, environ []string, args ...string) (v T) {
	t.Helper()
	text := p.OK(t, environ, append(args, "--output", "json")...)
	require.NoError(t, json.Unmarshal([]byte(text), &v), text)
	return v
}
