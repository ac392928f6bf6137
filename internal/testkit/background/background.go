// Package background runs what a test needs beside itself (servers, engines, loops), and ends it with the test.
package background

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
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
