// Package outage logs the failures of calls that are repeated: an outage is two lines, not one a second.
package outage

import (
	"context"
	"log/slog"
	"sync"
)

// Log logs the first failure of a repeated call and the first success after it. Make it with [New]; it is safe for concurrent use.
type Log struct {
	log *slog.Logger

	mu      sync.Mutex
	failing map[string]bool // by call
}

// New makes a Log that writes to log.
func New(log *slog.Logger) *Log { return &Log{log: log, failing: map[string]bool{}} }

// Report records the outcome of a call, err is nil for a success. The outcome of a call whose context has ended does not count.
func (t *Log) Report(ctx context.Context, call string, err error) {
	if ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.failing[call]
	t.failing[call] = err != nil
	switch {
	case err != nil && !was:
		t.log.LogAttrs(ctx, slog.LevelWarn, "failing", slog.String("call", call), slog.Any("error", err))
	case err == nil && was:
		t.log.LogAttrs(ctx, slog.LevelInfo, "works again", slog.String("call", call))
	}
}
