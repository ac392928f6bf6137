package panics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
)

// ErrInternal is the error of a function that panicked under a [Guard]. The panic and its stack are only in the log.
var ErrInternal = errors.New("internal error")

// Guard recovers panics, logs them with their stacks and counts them. Create it with [New]. A nil Guard only recovers.
// It is safe for concurrent use.
type Guard struct {
	log              *slog.Logger
	recoveredCounter *prometheus.CounterVec
}

// New returns a guard that logs panics to log and counts them in recovered, whose only label is the goroutine. Both may
// be nil.
func New(log *slog.Logger, recovered *prometheus.CounterVec) *Guard {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Guard{log: log, recoveredCounter: recovered}
}

// Do calls fn and returns its error, or ErrInternal if fn panicked. goroutine is the name in the log and the counter's
// label.
func (g *Guard) Do(goroutine string, fn func() error) (err error) {
	// The error of fn may itself be a panic that was caught, logged and counted below it, so it stays apart from
	// Catch's.
	caught := Catch(func() error { err = fn(); return nil })
	if p, ok := errors.AsType[*Error](caught); ok {
		g.reportPanic(goroutine, p)
		return ErrInternal
	}
	return err
}

func (g *Guard) reportPanic(goroutine string, p *Error) {
	if g == nil {
		return
	}
	if g.recoveredCounter != nil {
		g.recoveredCounter.WithLabelValues(goroutine).Inc()
	}
	g.log.LogAttrs(context.Background(), slog.LevelError, "panic",
		slog.String("goroutine", goroutine), slog.String("panic", fmt.Sprint(p.panicValue)),
		slog.String("stack", string(p.stackText)))
}
