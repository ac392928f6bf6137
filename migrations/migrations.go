// Package migrations owns the schema's history: the numbered SQL files beside this one, compiled into the binary, and
// the few ways to move a database along them. It applies them with goose under a session-level advisory lock, so any
// number of replicas may start migrating at once and each file still runs exactly once.
//
// What the tables mean is told in the files themselves; the queries over them live in queries/ and db/.
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

// Up applies every pending migration in order and returns the versions it applied, none when the schema was current
// or another process migrated it meanwhile. Each migration is a transaction of its own (unless its file says NO
// TRANSACTION): after an error the ones before it stay, and are returned beside the error.
//
// In a database that was restored from a dump, Up also numbers the transactions of its rows anew: feeds would hide the
// rows otherwise, since this server has not counted that far. Do it before replicas serve.
//
// The url must lead straight to Postgres: behind a transaction pooler the session lock protects nothing. A log of nil
// is silent. Up waits up to five minutes for another process that holds the lock, or as long as ctx lives. As long it
// tries a migration whose tables somebody's transaction holds: each attempt blocks calls for less than a second.
func Up(ctx context.Context, url string, log *slog.Logger) ([]int64, error) {
	applied, err := embedded.applyPending(ctx, url, log)
	if err != nil {
		return applied, err
	}
	return applied, renewRestored(ctx, url, cmp.Or(log, slog.New(slog.DiscardHandler)))
}

// Down takes back the newest steps applied migrations, fewer when fewer are applied, and returns their versions,
// newest first. It refuses a schema that holds a version this binary does not know. The url is as in [Up].
func Down(ctx context.Context, url string, steps int, log *slog.Logger) ([]int64, error) {
	return embedded.takeBack(ctx, url, steps, log)
}

// Redo takes back the newest applied migration and applies it again; [ErrNothingApplied] when there is none. It is
// meant for whoever is writing that migration. The url is as in [Up].
func Redo(ctx context.Context, url string, log *slog.Logger) ([]int64, error) {
	return embedded.redoNewest(ctx, url, log)
}

func (s set) applyPending(ctx context.Context, url string, log *slog.Logger) ([]int64, error) {
	return s.moveSchema(ctx, url, log, func(p *goose.Provider, log *slog.Logger) ([]*goose.MigrationResult, error) {
		return repeatLocked(ctx, log, func() ([]*goose.MigrationResult, error) { return p.Up(ctx) })
	})
}

func (s set) takeBack(ctx context.Context, url string, steps int, log *slog.Logger) ([]int64, error) {
	if steps < 1 {
		return nil, fmt.Errorf("migrations: cannot go down %d steps", steps)
	}
	return s.moveSchema(ctx, url, log, func(p *goose.Provider, log *slog.Logger) ([]*goose.MigrationResult, error) {
		// A target instead of a count: two operators who both ask for one step down take back one migration, not two.
		target, err := versionBelow(ctx, p, steps)
		if err != nil {
			return nil, err
		}
		return repeatLocked(ctx, log, func() ([]*goose.MigrationResult, error) { return p.DownTo(ctx, target) })
	})
}

func (s set) redoNewest(ctx context.Context, url string, log *slog.Logger) ([]int64, error) {
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

// moveSchema runs one change under the session lock and reports what it did.
func (s set) moveSchema(ctx context.Context, url string, log *slog.Logger,
	change func(*goose.Provider, *slog.Logger) ([]*goose.MigrationResult, error),
) ([]int64, error) {
	p, err := s.openProvider(ctx, url, locked)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }()
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	done, err := change(p, log)
	if partial := (*goose.PartialError)(nil); errors.As(err, &partial) {
		done = append(done, partial.Applied...)
	}
	return logApplied(ctx, log, done), explainError(err)
}

// logApplied logs one line for all migrations of a run, and one for each at debug level.
func logApplied(ctx context.Context, log *slog.Logger, done []*goose.MigrationResult) []int64 {
	var versions []int64
	var took time.Duration
	for _, m := range done {
		versions, took = append(versions, m.Source.Version), took+m.Duration
		log.LogAttrs(ctx, slog.LevelDebug, "migration", slog.String("direction", m.Direction),
			slog.String("file", path.Base(m.Source.Path)), slog.Duration("took", m.Duration))
	}
	if len(done) > 0 {
		last := done[len(done)-1]
		log.LogAttrs(ctx, slog.LevelInfo, "migrated", slog.Int("migrations", len(done)),
			slog.String("direction", last.Direction), slog.String("last", path.Base(last.Source.Path)),
			slog.Duration("took", took))
	}
	return versions
}
