package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/logtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Pins a Ctrl-C that hides what holds or continues without the command.
func TestAnInterruptedWaitSaysWhatContinues(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storetest.OnDatabase(t, url)
	s.AddServer("eu-1", 8)
	_, err := placeOn(t, s.Store, "anna")
	require.NoError(t, err)
	director.OK(t, environ, "webhooks", "create", "studio", "https://studio.example/hook", "--kinds", "session.closed")

	interrupted := func(awaitStart func(stderr *logtest.Buffer), args ...string) error {
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		stderr, over := &logtest.Buffer{}, make(chan error, 1)
		go func() { over <- Run(ctx, args, environ, strings.NewReader(""), &logtest.Buffer{}, stderr) }()
		awaitStart(stderr)
		interrupt()
		return <-over
	}
	progress := func(stderr *logtest.Buffer) { stderr.AwaitLine(t, "waiting: ") }
	for says, err := range map[string]error{
		"players left: 1, on 1 of 1 game servers (interrupted); the drains hold": interrupted(progress,
			"fleet", "drain", "eu-1", "--wait"),
		"(interrupted); workers continue it: 'director evacuations show ": interrupted(progress,
			"evacuate", "eu-1", "--wait"),
		" is still delivered: 'director webhooks show studio' says ": interrupted(func(*logtest.Buffer) {
			s.Eventually(1, "SELECT count(*) FROM ops.events WHERE kind = 'webhook.tested'")
		}, "webhooks", "test", "studio"),
		"interrupted: the move of region eu stays at its step, and the same command continues it": interruptedMove(t),
	} {
		require.ErrorIs(t, err, errInterrupted, says)
		require.ErrorContains(t, err, says)
	}
}

// interruptedMove is the error of a move whose command was interrupted.
func interruptedMove(t *testing.T) error {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	f := moveFlags{terms: db.MoveTerms{Region: "eu"}, yes: new(true)}
	return (&program{stderr: &logtest.Buffer{}}).confirmMove(ctx, operator{}, f, "", func(ctx context.Context) (db.MoveReport, error) {
		interrupt()
		return db.MoveReport{}, ctx.Err()
	})
}
