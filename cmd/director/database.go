package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cli"
)

// look is what a command has that looks at the state and steers it.
type look struct {
	*loaded
	*db.Store

	out cli.Output
}

// withLook runs fn on the database of the settings, else on that of a running `director dev`.
func (p *program) withLook(cmd *cobra.Command, who readers, fn func(ctx context.Context, l look) error) error {
	out, err := cli.OutputOf(cmd)
	if err != nil {
		return err
	}
	conf, err := load(cmd.Flags(), p.environ, who)
	if err != nil {
		return err
	}
	store, err := p.openLook(cmd.Context(), conf)
	if err != nil {
		return err
	}
	defer store.Close()
	return explain(fn(cmd.Context(), look{conf, store, out}))
}

func (p *program) openLook(ctx context.Context, conf *loaded) (*db.Store, error) {
	if conf.DatabaseURL == "" {
		data, err := conf.dataDir()
		if err != nil {
			return nil, err
		}
		if conf.DatabaseURL, err = data.runningDatabase(); err != nil {
			return nil, err
		}
		if conf.KEKs == nil {
			conf.KEKs, _ = data.keks() // who needs one says that there is none
		}
	}
	cfg := conf.store()
	cfg.MaxConns = 2
	return db.Open(ctx, cfg)
}

// explain turns what Postgres says into what to do about it.
func explain(err error) error {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &pg) && (pg.Code == "42P01" || pg.Code == "3F000" || pg.Code == "42883"): // undefined table, schema, function
		return fmt.Errorf("this database has not the schema that this command needs: run 'director migrate up' (%s)", pg.Message)
	case errors.As(err, &pg) && pg.Code == "42501": // insufficient_privilege
		return fmt.Errorf("this login may not do that: %s; ops/grants.sql makes roles that may", pg.Message)
	case isRefusal(err):
		errors.As(err, &pg)
		if pg.Hint != "" {
			return fmt.Errorf("%s (%s)", pg.Message, pg.Hint)
		}
		return errors.New(pg.Message)
	case db.PoolerHint(err) != "":
		return fmt.Errorf("%s (%w)", db.PoolerHint(err), err)
	case db.IsKind(err, db.Unavailable), unreachable(err):
		return fmt.Errorf("the database cannot be reached, look at DATABASE_URL and whether it runs: %w", err)
	}
	return err
}

// isRefusal reports whether a function of schema ops refused what it was asked for.
func isRefusal(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "P0002" || pg.Code == "22023" || pg.Code == "55000")
}

// unreachable reports whether no answer came from the database, whatever it would have been.
func unreachable(err error) bool {
	var connect *pgconn.ConnectError
	var network *net.OpError
	var pg *pgconn.PgError
	shutdown := errors.As(err, &pg) && strings.HasPrefix(pg.Code, "57P") // admin_shutdown, crash_shutdown, cannot_connect_now
	return shutdown || errors.As(err, &connect) || errors.As(err, &network) || pgconn.Timeout(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// rows collects what a view of schema ops answers.
func rows[T any](ctx context.Context, store *db.Store, sql string, args ...any) ([]T, error) {
	found, err := store.Pool().Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowToStructByName[T])
}

// changed asks a function of schema ops that answers whether it changed anything.
func changed(ctx context.Context, store *db.Store, sql string, arg string) (did bool, err error) {
	err = store.Pool().QueryRow(ctx, sql, arg).Scan(&did)
	return did, err
}

// tabPatience is for how long somebody who pressed Tab may be kept waiting.
const tabPatience = 2 * time.Second

// completesFlag offers what a query over schema ops finds for a flag: $1 is what was typed of it.
func (p *program) completesFlag(cmd *cobra.Command, flag, sql string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, p.completes("SELECT word FROM ("+sql+
		") AS found (word) WHERE starts_with(word, $1) AND $2::text[] IS NOT NULL ORDER BY word LIMIT 100"))
}

// The words of flags that many commands have.
const (
	regionWords   = "SELECT region FROM ops.fleet UNION SELECT region FROM ops.sessions"
	modeWords     = "SELECT mode FROM ops.capacity"
	instanceWords = "SELECT instance FROM ops.fleet WHERE status <> 'gone'"
)

// completes gives the words that a view offers for an argument: $1 is what was typed of it, $2 the arguments before it. It stays silent where there is no database at hand:
// whoever presses Tab has not asked for an error.
func (p *program) completes(sql string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), tabPatience)
		defer cancel()
		conf, err := load(cmd.Flags(), p.environ, byLook)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		store, err := p.openLook(ctx, conf)
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
