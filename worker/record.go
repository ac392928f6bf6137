package worker

import (
	"context"
	"log/slog"
	"time"
)

// A loop that works says so in the database, for operators who see nothing else of a worker (ops.worker_loops).
const (
	recordEvery   = 10 * time.Second
	recordTimeout = 2 * time.Second
)

// remember records that a run has just succeeded, at most every recordEvery. What goes wrong with it is not the loop's
// failure: the work was done.
func (l *loop) remember(ctx context.Context) {
	if l.record == nil || time.Since(l.recorded) < recordEvery {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	if err := l.record(ctx, l.name, l.every); err != nil {
		l.log.LogAttrs(ctx, slog.LevelDebug, "a run could not be recorded", slog.Any("error", err))
		return
	}
	l.recorded = time.Now()
}
