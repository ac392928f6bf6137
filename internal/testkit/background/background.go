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

// Run runs a function until stop is called or the test ends, both of which wait until it has returned nil. Its context
// has the values of the test's context, and does not end before the cleanups that the test adds later.
func Run(t testing.TB, run func(context.Context) error) (stop func()) {
	t.Helper()
	return start(t, run, func(err error) { require.NoError(t, err) })
}

// RunUntilCanceled is Run for a function that has to return context.Canceled, as agents do.
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

// start runs a function until stop is called or the test ends, and has check judge the error that it returns then.
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

// Server is a server that listens.
type Server interface {
	Serve() error                   // returns nil after Stop
	Run(ctx context.Context)        // runs the server's loops
	Stop(ctx context.Context) error // ends Serve, after the requests in progress
}

// Serve runs a server and its loops until stop is called or the test ends, both of which wait up to a minute for the
// requests in progress. stop returns the error of the server's Stop.
func Serve(t testing.TB, s Server) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running errgroup.Group
	running.Go(s.Serve)
	running.Go(func() error { s.Run(ctx); return nil })
	stop = sync.OnceValue(func() error {
		stopCtx, cancelStop := context.WithTimeout(ctx, time.Minute)
		defer cancelStop()
		err := s.Stop(stopCtx)
		cancel()
		require.NoError(t, running.Wait())
		return err
	})
	t.Cleanup(func() { require.NoError(t, stop()) })
	return stop
}
