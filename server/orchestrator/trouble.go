package orchestrator

import (
	"context"
	"log/slog"
	"sync"
)

// trouble logs the first failure of a repeated call and the first success after it: an outage is two lines, not one a second.
// Safe for concurrent use.
type trouble struct {
	mu      sync.Mutex
	failing map[string]bool
}

func newTrouble() *trouble { return &trouble{failing: map[string]bool{}} }

func (t *trouble) report(ctx context.Context, log *slog.Logger, call string, err error) {
	if ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.failing[call]
	t.failing[call] = err != nil
	switch {
	case err != nil && !was:
		log.LogAttrs(ctx, slog.LevelWarn, "failing", slog.String("call", call), slog.Any("error", err))
	case err == nil && was:
		log.LogAttrs(ctx, slog.LevelInfo, "works again", slog.String("call", call))
	}
}
