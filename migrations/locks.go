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

// lockRetryTime is how long one run tries to get the locks of its migrations: as long as it waits for another run, see
// newProvider.
const lockRetryTime = 5 * time.Minute

// setLockTimeout begins each migration that is a transaction. While ALTER TABLE waits for somebody's transaction, all
// calls wait behind it. The time is below Postgres's deadlock_timeout (1 s), so that of a migration and a call that
// wait for each other the migration fails, and is tried again.
const setLockTimeout = "\nSET LOCAL lock_timeout = '800ms';\n"

// boundedFiles are migrations that begin with setLockTimeout. Files with NO TRANSACTION stay as they are: CREATE INDEX
// CONCURRENTLY must wait for transactions, and blocks nobody meanwhile.
type boundedFiles struct{ files fs.FS }

// Open implements [fs.FS].
func (b boundedFiles) Open(name string) (fs.File, error) {
	f, err := b.files.Open(name)
	if err != nil {
		return nil, err
	}
	// The directory, for one.
	if path.Ext(name) != ".sql" {
		return f, nil
	}
	content, err := io.ReadAll(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	text := string(content)
	if !strings.Contains(text, "-- +goose NO TRANSACTION") {
		text = strings.NewReplacer("-- +goose Up\n", "-- +goose Up"+setLockTimeout,
			"-- +goose Down\n", "-- +goose Down"+setLockTimeout).Replace(text)
	}
	return boundedFile{f, strings.NewReader(text)}, nil
}

// boundedFile is an open file with another text.
type boundedFile struct {
	fs.File

	text *strings.Reader
}

// Read implements [fs.File].
func (f boundedFile) Read(p []byte) (int, error) { return f.text.Read(p) }

// retryLocks moves the schema, again and again while transactions of calls hold what a migration must lock. A migration
// that did not get a lock has done nothing, and the next attempt begins with it. Of the results, those of the last
// attempt's applied migrations are in its error, if that is a goose.PartialError.
func retryLocks(ctx context.Context, log *slog.Logger, move func() ([]*goose.MigrationResult, error),
) ([]*goose.MigrationResult, error) {
	var results []*goose.MigrationResult
	// In a pause, calls that waited behind the migration run. Each pause is longer, up to 5 s, for long transactions.
	began, pause := time.Now(), 200*time.Millisecond
	for {
		moved, err := move()
		results = append(results, moved...)
		partial, isPartial := errors.AsType[*goose.PartialError](err)
		if !isPartial || !isLockRefused(err) || time.Since(began) > lockRetryTime {
			return results, err
		}
		results = append(results, partial.Applied...)
		log.LogAttrs(ctx, slog.LevelInfo, "a migration gives way to a transaction that holds its tables, and is tried again",
			slog.String("file", path.Base(partial.Failed.Source.Path)), slog.Duration("pause", pause),
			slog.Any("error", partial.Err))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return results, ctx.Err()
		}
		pause = min(2*pause, 5*time.Second)
	}
}

// isLockRefused reports whether Postgres ended the wait for a lock: lock_not_available, deadlock_detected.
func isLockRefused(err error) bool {
	refused, isPostgres := errors.AsType[*pgconn.PgError](err)
	return isPostgres && (refused.Code == "55P03" || refused.Code == "40P01")
}
