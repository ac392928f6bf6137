package worker

import (
	"context"
	"log/slog"
	"time"
)

// Each loop records its successes in the database (ops.worker_loops), for operators who cannot see the workers'
// metrics.
const (
	recordInterval = 10 * time.Second
	recordTimeout  = 2 * time.Second
)

// recordSuccess records that a run has just succeeded, at most once in recordInterval. When that fails, the run still
// counts as a success: its work is done.
func (l *loop) recordSuccess(ctx context.Context) {
	// From the last success of record, so that one that failed is tried again by the next run.
	if l.storeSuccess == nil || time.Since(l.recordedAt) < recordInterval {
		return
	}
	// The run's own context has ended. A database that hangs must not keep the loop for longer.
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	if err := l.storeSuccess(ctx, l.name, l.interval); err != nil {
		l.log.LogAttrs(ctx, slog.LevelDebug, "success could not be recorded", slog.Any("error", err))
		return
	}
	l.recordedAt = time.Now()
}
