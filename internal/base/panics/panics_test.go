package panics_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/testkit/metrictest"
)

func TestAPanicIsAnErrorWithItsStackInTheLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	recovered := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "panics_total", Help: "Panics."}, []string{"goroutine"})
	registry := metrictest.Registry(recovered)
	g := panics.New(slog.New(slog.NewTextHandler(&log, nil)), recovered)
	require.Equal(t, panics.ErrInternal, g.Do("evaluator", func() error { panic("a secret of one caller") }))
	require.Contains(t, log.String(), "a secret of one caller")
	require.Contains(t, log.String(), "panics_test.go", "the stack of what panicked")
	require.InDelta(t, 1, metrictest.Sum(t, registry, "panics_total", "goroutine", "evaluator"), 0)
}

func TestWithoutAPanicTheErrorPasses(t *testing.T) {
	t.Parallel()
	g := panics.New(nil, nil)
	own := errors.New("own")
	require.Equal(t, own, g.Do("x", func() error { return own }))
	require.NoError(t, g.Do("x", func() error { return nil }))
	require.ErrorIs(t, g.Do("x", func() error { panic(own) }), panics.ErrInternal, "without a log and a counter")
}

// Pins a panic that is logged and counted twice: by the batch that caught it, and again by a guard around the batch's
// caller.
func TestAnErrorOfAPanicCaughtBelowPasses(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	caught := panics.Catch(func() error { panic("a bug") })
	require.EqualError(t, caught, "panic: a bug")
	require.True(t, panics.Is(fmt.Errorf("a batch: %w", caught)))
	require.Equal(t, caught, panics.New(slog.New(slog.NewTextHandler(&log, nil)), nil).Do("x", func() error { return caught }))
	require.Empty(t, log.String())
}
