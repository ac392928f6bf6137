package migrations

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"path"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
)

// lockPatience is how long one run tries to get the locks of a migration, as long as it waits for another run.
const lockPatience = 5 * time.Minute

// boundLock begins each migration that is a transaction. While ALTER TABLE waits for somebody's transaction, all calls
// wait behind it. The time is below Postgres's deadlock_timeout (1 s), so that of a migration and a call that wait for
// each other it is the migration that gives way.
const boundLock = "\nSET LOCAL lock_timeout = '800ms';\n"

// boundedFiles are migrations that wait for locks no longer than boundLock says. Files with NO TRANSACTION stay as they
// are: CREATE INDEX CONCURRENTLY must wait for transactions, and blocks nobody meanwhile.
type boundedFiles struct{ files fs.FS }

// Open implements [fs.FS].
func (b boundedFiles) Open(name string) (fs.File, error) {
	f, err := b.files.Open(name)
	if err != nil || path.Ext(name) != ".sql" {
		return f, err
	}
	content, err := io.ReadAll(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	text := string(content)
	if !strings.Contains(text, "-- +goose NO TRANSACTION") {
		text = strings.NewReplacer("-- +goose Up\n", "-- +goose Up"+boundLock, "-- +goose Down\n", "-- +goose Down"+boundLock).Replace(text)
	}
	return boundedFile{f, strings.NewReader(text)}, nil
}

type boundedFile struct {
	fs.File

	text *strings.Reader
}

// Read implements [fs.File].
func (f boundedFile) Read(p []byte) (int, error) { return f.text.Read(p) }

// repeatLocked moves the schema, again and again while calls hold what a migration must lock. A migration that gave way
// has done nothing, and the next attempt begins with it.
func repeatLocked(ctx context.Context, log *slog.Logger, move func() ([]*goose.MigrationResult, error)) ([]*goose.MigrationResult, error) {
	var done []*goose.MigrationResult
	began, pause := time.Now(), 200*time.Millisecond
	for {
		moved, err := move()
		done = append(done, moved...)
		partial := (*goose.PartialError)(nil)
		if !errors.As(err, &partial) || !isLockRefused(err) || time.Since(began) > lockPatience {
			return done, err
		}
		done = append(done, partial.Applied...)
		log.LogAttrs(ctx, slog.LevelInfo, "a migration gives way to a transaction that holds its tables, and is tried again",
			slog.String("file", path.Base(partial.Failed.Source.Path)), slog.Duration("pause", pause), slog.Any("error", partial.Err))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return done, ctx.Err()
		}
		pause = min(2*pause, 5*time.Second)
	}
}

// isLockRefused says whether Postgres ended the wait for a lock: lock_not_available, deadlock_detected.
func isLockRefused(err error) bool {
	refused := (*pgconn.PgError)(nil)
	return errors.As(err, &refused) && (refused.Code == "55P03" || refused.Code == "40P01")
}
