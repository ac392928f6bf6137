package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/dbcause"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/cli"
)

// operator has what a command on the database uses: settings, store and output.
type operator struct {
	*loaded
	*db.Store

	out cli.Output
}

// withDatabase runs fn on the database of the settings, or else on that of a running `director dev`.
func (p *program) withDatabase(cmd *cobra.Command, commands commandSet, fn func(ctx context.Context, l operator) error) error {
	out, err := cli.OutputOf(cmd)
	if err != nil {
		return err
	}
	conf, err := load(cmd.Flags(), p.environ, commands)
	if err != nil {
		return err
	}
	conf.warnRemoved(cmd.Context(), p.newLog(conf))
	store, err := p.openStore(cmd.Context(), conf)
	if err != nil {
		return err
	}
	defer store.Close()
	return explainDatabaseError(fn(cmd.Context(), operator{conf, store, out}))
}

func (p *program) openStore(ctx context.Context, conf *loaded) (*db.Store, error) {
	if conf.Database.URL == "" {
		data, err := conf.dataDir()
		if err != nil {
			return nil, err
		}
		if conf.Database.URL, err = data.runningDatabase(); err != nil {
			return nil, err
		}
		if conf.KEKs == nil {
			conf.KEKs, _ = data.keks() // a command that needs one reports if it is missing
		}
		conf.useNexisSecrets()
	}
	cfg := conf.store()
	cfg.MaxConns = 2
	return db.Open(ctx, cfg)
}

// explainDatabaseError replaces errors of Postgres by errors that say what to do.
func explainDatabaseError(err error) error {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case isRefusal(err):
		errors.As(err, &pg)
		if pg.Hint != "" {
			return fmt.Errorf("%s (%s)", pg.Message, pg.Hint)
		}
		return errors.New(pg.Message)
	case db.PoolerHint(err) != "":
		return fmt.Errorf("%s (%w)", db.PoolerHint(err), err)
	}
	cause, known := dbcause.FromError(err)
	switch {
	case dbcause.IsPostgres(err) && known:
		return fmt.Errorf("the database refuses: %s: %s", cause.Words, cause.Do)
	case fault.Is(err, fault.Unavailable), unreachable(err):
		return fmt.Errorf("the database cannot be reached: %s: %w", cause.Do, err)
	}
	return err
}

// isRefusal reports whether a function of schema ops refused its arguments.
func isRefusal(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "P0002" || pg.Code == "22023" || pg.Code == "55000")
}

// unreachable reports whether the database gave no answer.
func unreachable(err error) bool {
	var connect *pgconn.ConnectError
	var network *net.OpError
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.Timeout(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// rows returns the rows of a query.
func rows[T any](ctx context.Context, store *db.Store, sql string, args ...any) ([]T, error) {
	found, err := store.Pool().Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowToStructByName[T])
}

// changed calls a function of schema ops that returns whether it changed anything.
func changed(ctx context.Context, store *db.Store, sql string, args ...any) (did bool, err error) {
	err = store.Pool().QueryRow(ctx, sql, args...).Scan(&did)
	return did, err
}

// completionTimeout bounds how long a shell waits after Tab.
const completionTimeout = 2 * time.Second

// completeFlag registers a query over schema ops as the completion of a flag. Its only column has the values.
func (p *program) completeFlag(cmd *cobra.Command, flag, sql string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, p.completeArgs("SELECT word FROM ("+sql+
		") AS found (word) WHERE starts_with(word, $1) AND $2::text[] IS NOT NULL ORDER BY word LIMIT 100"))
}

// The completions of flags that several commands have.
const (
	regionWords   = "SELECT region FROM ops.fleet UNION SELECT region FROM ops.sessions"
	modeWords     = "SELECT mode FROM ops.capacity"
	instanceWords = "SELECT instance FROM ops.fleet WHERE status <> 'gone'"
)

// completeArgs returns a completion of arguments with a query: $1 is the beginning that was typed, $2 the arguments before it. It
// returns nothing and no error if the database is unreachable, because a shell would print the error into the command line.
func (p *program) completeArgs(sql string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		conf, err := load(cmd.Flags(), p.environ, byOperator)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		store, err := p.openStore(ctx, conf)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer store.Close()
		found, err := store.Pool().Query(ctx, sql, begun, given)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		words, _ := pgx.CollectRows(found, pgx.RowTo[string])
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}
