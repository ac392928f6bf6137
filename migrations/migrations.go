// Package migrations owns the schema's history: the numbered SQL files beside this one, compiled into the binary, and
// the few ways to move a database along them. It applies them with goose under a session-level advisory lock, so any
// number of replicas may start migrating at once and each file still runs exactly once.
//
// The files say what the tables mean; the queries over them are in queries/ and db/.
package migrations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"time"

	"github.com/pressly/goose/v3"
)

// Up applies every pending migration in order and returns the versions that it applied: none when the schema was
// current or another process has migrated it meanwhile. Each migration is a transaction of its own (unless its file
// says NO TRANSACTION): after an error the ones before it stay, and are returned beside the error.
//
// In a database that was restored from a dump, Up also numbers the transactions of its rows anew: otherwise feeds would
// hide the rows, since this server has not counted that far. Call it before replicas serve.
//
// The url must lead straight to Postgres: behind a transaction pooler the session lock protects nothing. A log of nil
// is silent. Up waits for another process that holds the session lock for up to five minutes. For as long it tries a
// migration whose tables somebody's transaction holds: each attempt blocks calls for less than a second. The end of ctx
// ends both.
func Up(ctx context.Context, url string, log *slog.Logger) ([]int64, error) {
	applied, err := embedded.applyPending(ctx, url, log)
	if err != nil {
		return applied, err
	}
	return applied, renewRestored(ctx, url, cmp.Or(log, slog.New(slog.DiscardHandler)))
}

// Down takes back as many of the newest migrations as steps says, or all if there are fewer, and returns their
// versions, the newest first. It refuses a schema that has a version which this binary does not know. The url is as in
// [Up].
func Down(ctx context.Context, url string, steps int, log *slog.Logger) ([]int64, error) {
	return embedded.takeBack(ctx, url, steps, log)
}

// Redo takes back the newest applied migration and applies it again. It returns [ErrNothingApplied] when there is none.
// It is for the author of that migration. The url is as in [Up].
func Redo(ctx context.Context, url string, log *slog.Logger) ([]int64, error) {
	return embedded.redoNewest(ctx, url, log)
}

func (s fileSet) applyPending(ctx context.Context, url string, log *slog.Logger) ([]int64, error) {
	return s.moveSchema(ctx, url, log, func(p *goose.Provider, log *slog.Logger) ([]*goose.MigrationResult, error) {
		return retryLocks(ctx, log, func() ([]*goose.MigrationResult, error) { return p.Up(ctx) })
	})
}

func (s fileSet) takeBack(ctx context.Context, url string, steps int, log *slog.Logger) ([]int64, error) {
	if steps < 1 {
		return nil, fmt.Errorf("migrations: cannot go down %d steps", steps)
	}
	return s.moveSchema(ctx, url, log, func(p *goose.Provider, log *slog.Logger) ([]*goose.MigrationResult, error) {
		// A target instead of a count: two operators who both ask for one step down take back one migration, not two.
		target, err := versionBelow(ctx, p, steps)
		if err != nil {
			return nil, err
		}
		return retryLocks(ctx, log, func() ([]*goose.MigrationResult, error) { return p.DownTo(ctx, target) })
	})
}

func (s fileSet) redoNewest(ctx context.Context, url string, log *slog.Logger) ([]int64, error) {
	return s.moveSchema(ctx, url, log, func(p *goose.Provider, _ *slog.Logger) ([]*goose.MigrationResult, error) {
		down, err := p.Down(ctx)
		if errors.Is(err, goose.ErrNoNextVersion) {
			return nil, ErrNothingApplied
		}
		if err != nil {
			return nil, err
		}
		up, err := p.ApplyVersion(ctx, down.Source.Version, true)
		if err != nil {
			return []*goose.MigrationResult{down}, err
		}
		return []*goose.MigrationResult{down, up}, nil
	})
}

// moveSchema runs one change under the session lock, and returns the versions that it moved over.
func (s fileSet) moveSchema(ctx context.Context, url string, log *slog.Logger,
	change func(*goose.Provider, *slog.Logger) ([]*goose.MigrationResult, error),
) ([]int64, error) {
	p, err := s.openProvider(ctx, url, withLock)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }()
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	results, err := change(p, log)
	if partial, isPartial := errors.AsType[*goose.PartialError](err); isPartial {
		results = append(results, partial.Applied...)
	}
	logResults(ctx, log, results)
	var versions []int64
	for _, m := range results {
		versions = append(versions, m.Source.Version)
	}
	return versions, explainError(err)
}

// logResults logs one line for all migrations of a run, and one for each at debug level.
func logResults(ctx context.Context, log *slog.Logger, results []*goose.MigrationResult) {
	if len(results) == 0 {
		return
	}
	var took time.Duration
	for _, m := range results {
		took += m.Duration
		log.LogAttrs(ctx, slog.LevelDebug, "migration", slog.String("direction", m.Direction),
			slog.String("file", path.Base(m.Source.Path)), slog.Duration("took", m.Duration))
	}
	last := results[len(results)-1]
	log.LogAttrs(ctx, slog.LevelInfo, "migrated", slog.Int("migrations", len(results)),
		slog.String("direction", last.Direction), slog.String("last", path.Base(last.Source.Path)),
		slog.Duration("took", took))
}
