// Package background runs what a test needs beside itself (servers, engines, loops), and ends it with the test.
package background

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// Run runs a function until stop is called or the test ends, which both wait for it. It must return nil then. Its
// context has the values of the test's, and does not end before the cleanups that the test adds later.
func Run(t testing.TB, run func(context.Context) error) (stop func()) {
	t.Helper()
	return start(t, run, func(err error) { require.NoError(t, err) })
}

// RunUntilCanceled is Run for a function that must return that its context was canceled, as agents do.
func RunUntilCanceled(t testing.TB, run func(context.Context) error) (stop func()) {
	t.Helper()
	return start(t, run, func(err error) { require.ErrorIs(t, err, context.Canceled) })
}

// Loop is Run for functions that return nothing, such as loops. They run side by side.
func Loop(t testing.TB, loops ...func(context.Context)) (stop func()) {
	t.Helper()
	return Run(t, func(ctx context.Context) error {
		var running sync.WaitGroup
		for _, loop := range loops {
			running.Go(func() { loop(ctx) })
		}
		running.Wait()
		return nil
	})
}

func start(t testing.TB, run func(context.Context) error, check func(error)) (stop func()) {
	t.Helper()
	// The test's own context ends before its cleanups, some of which still need what runs here.
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		check(<-ended)
	})
	t.Cleanup(stop)
	return stop
}

// Server serves until Stop, beside its loops, which run until their context ends.
type Server interface {
	Serve() error
	Run(ctx context.Context)
	Stop(ctx context.Context) error
}

// Serve runs a server that listens, until stop is called or the test ends, which both wait for it for up to a minute.
// Stop returns the server's error.
func Serve(t testing.TB, s Server) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running errgroup.Group
	running.Go(s.Serve)
	running.Go(func() error { s.Run(ctx); return nil })
	stop = sync.OnceValue(func() error {
		limit, end := context.WithTimeout(ctx, time.Minute)
		defer end()
		err := s.Stop(limit)
		cancel()
		require.NoError(t, running.Wait())
		return err
	})
	t.Cleanup(func() { require.NoError(t, stop()) })
	return stop
}
