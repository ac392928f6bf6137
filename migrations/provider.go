package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// lockMode says whether a provider takes the session lock before it moves the schema.
type lockMode bool

const (
	withLock    lockMode = true
	withoutLock lockMode = false // for reading: an operator who looks must not wait for the migration that runs
)

// openProvider connects to a database, and returns what applies the files to it. Closing the provider closes the
// connection.
func (s fileSet) openProvider(ctx context.Context, url string, mode lockMode) (*goose.Provider, error) {
	db, err := openDatabase(ctx, url)
	if err != nil {
		return nil, err
	}
	p, err := s.newProvider(db, mode)
	if err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("migrations: %w", err)
	}
	return p, nil
}

func openDatabase(ctx context.Context, url string) (*sql.DB, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("migrations: the database URL: %w", err)
	}
	cfg.RuntimeParams["application_name"] = "director migrate"
	// goose stores the time of a migration as a timestamp without zone, in the session's zone.
	cfg.RuntimeParams["timezone"] = "UTC"
	db := stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(setTimeouts))
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("migrations: cannot reach the database: %w", err)
	}
	return db, nil
}

// setTimeouts has Postgres end a migration whose process stands still (SIGSTOP, a paused virtual machine, a cut
// network) and would keep its locks on tables. Statements may take as long as they need. Behind a pooler, which reports
// another process id than Postgres has, nothing is set: the settings would stay on a connection that the pooler's other
// clients use. db/internal/frame/timeouts.go has the settings of other connections.
func setTimeouts(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, fmt.Sprintf(`
		SELECT set_config('idle_in_transaction_session_timeout', '2s', false), set_config('tcp_user_timeout', '10s', false),
		       set_config('client_connection_check_interval', '500ms', false), set_config('tcp_keepalives_idle', '10', false)
		WHERE pg_backend_pid() = %d`, conn.PgConn().PID()), pgx.QueryExecModeSimpleProtocol)
	return err
}

func (s fileSet) newProvider(db *sql.DB, mode lockMode) (*goose.Provider, error) {
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if mode == withoutLock {
		return goose.NewProvider(goose.DialectPostgres, db, boundedFiles(s), options...)
	}
	// The lock is polled, each second for five minutes, not waited for inside Postgres: a waiting statement holds a
	// snapshot, and CREATE INDEX CONCURRENTLY in the migration it waits for would wait for that snapshot in turn.
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return nil, err
	}
	options = append(options, goose.WithSessionLocker(locker))
	return goose.NewProvider(goose.DialectPostgres, db, boundedFiles(s), options...)
}

// explainError says what an error of goose means for an operator. It returns nil and ErrNothingApplied as they are.
func explainError(err error) error {
	if err == nil || errors.Is(err, ErrNothingApplied) {
		return err
	}
	if errors.Is(err, goose.ErrVersionNotFound) {
		return fmt.Errorf("migrations: the schema is newer than this binary, go down with the one that made it: %w",
			err)
	}
	if partial, isPartial := errors.AsType[*goose.PartialError](err); isPartial {
		return fmt.Errorf("migrations: %s %s: %w", partial.Failed.Direction, path.Base(partial.Failed.Source.Path),
			partial.Err)
	}
	return fmt.Errorf("migrations: %w", err)
}

// ErrNothingApplied says that there is no migration to redo.
var ErrNothingApplied = errors.New("migrations: nothing is applied yet")
