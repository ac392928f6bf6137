package batch

import (
	"context"
	"errors"
	"log/slog"

	"github.com/lattice-director/director/internal/base/panics"
)

// maxConflictRetries bounds how often a batch that loses against other transactions is retried.
const maxConflictRetries = 5

// decideWithRetries decides the calls, handles errors, and returns the calls that stay for the next batch. After an
// error of the data it retries the unanswered calls in halves, so that one bad call fails alone, unless IsOfKey says
// that each call of the key would fail. After a conflict it retries all unanswered calls; conflictRetries is how often
// it has done so. Any other error, such as a commit of unknown outcome, is the answer to all unanswered calls.
func (g *Group[Req, Res]) decideWithRetries(ctx context.Context, key string, calls []*Call[Req, Res],
	conflictRetries int) []*Call[Req, Res] {
	err := panics.Catch(func() error { return g.decideBatch(ctx, key, calls) })
	left := Unanswered(calls)
	switch {
	case err == nil || len(left) == 0:
		return left
	case g.cfg.Errors.IsConflict(err) && conflictRetries < maxConflictRetries:
		return g.decideWithRetries(ctx, key, left, conflictRetries+1)
	case g.cfg.Errors.IsData(err) && len(left) > 1 && !g.isOfKey(key, err):
		half := len(left) / 2
		undecided := g.decideWithRetries(ctx, key, left[:half:half], conflictRetries)
		return append(undecided, g.decideWithRetries(ctx, key, left[half:], conflictRetries)...)
	}
	g.reportIfPanic(ctx, err)
	var none Res
	for _, c := range left {
		c.Answer(none, g.cfg.Errors.Classify(err))
	}
	return nil
}

func (g *Group[Req, Res]) isOfKey(key string, err error) bool {
	return g.cfg.Errors.IsOfKey != nil && g.cfg.Errors.IsOfKey(key, err)
}

// reportIfPanic logs and counts the panic of a batch; it ignores other errors.
func (g *Group[Req, Res]) reportIfPanic(ctx context.Context, err error) {
	p, ok := errors.AsType[*panics.Error](err)
	if !ok {
		return
	}
	g.cfg.Log.LogAttrs(ctx, slog.LevelError, "a batch panicked: its calls are answered with an internal error",
		append(p.Attrs(), slog.String("group", g.name))...)
	if g.cfg.Observer != nil {
		g.cfg.Observer.Panic(g.name)
	}
}
