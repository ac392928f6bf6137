// Package panics turns a panic in a goroutine into an error of what the goroutine did, so that a defect that one caller
// meets does not end the process and with it everybody's calls.
package panics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// ErrInternal is what a function that panicked returns. The panic and its stack are in the log only.
var ErrInternal = errors.New("internal error")

// Guard recovers panics, logs them with their stacks and counts them. Make one with [New]; one that is nil recovers them
// only. It is safe for concurrent use.
type Guard struct {
	log       *slog.Logger
	recovered *prometheus.CounterVec
}

// New makes a guard. log is where panics go; nil: nowhere. recovered counts them and has one label, the goroutine; nil:
// they are not counted.
func New(log *slog.Logger, recovered *prometheus.CounterVec) *Guard {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Guard{log: log, recovered: recovered}
}

// Do calls fn in this goroutine, whose name goes to the log and the counter. It returns what fn returned, or ErrInternal
// where fn panicked.
func (g *Guard) Do(goroutine string, fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			g.report(goroutine, p)
			err = ErrInternal
		}
	}()
	return fn()
}

func (g *Guard) report(goroutine string, p any) {
	if g == nil {
		return
	}
	if g.recovered != nil {
		g.recovered.WithLabelValues(goroutine).Inc()
	}
	g.log.LogAttrs(context.Background(), slog.LevelError, "panic",
		slog.String("goroutine", goroutine), slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
}
