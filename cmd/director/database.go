package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cli"
)

// operator has what a command on the database uses: settings, store and output.
type operator struct {
	conf  *loaded
	store *db.Store

	out cli.Output
}

// withDatabase runs fn on the database of the settings, or else on that of a running `director dev`.
func (p *program) withDatabase(cmd *cobra.Command, commands commandSet,
	fn func(ctx context.Context, op operator) error) error {
	out, err := cli.OutputOf(cmd)
	if err != nil {
		return err
	}
	return p.withStore(cmd, commands, func(ctx context.Context, op operator) error {
		op.out = out
		return fn(ctx, op)
	})
}

// withStore is withDatabase for a command without --output.
func (p *program) withStore(cmd *cobra.Command, commands commandSet,
	fn func(ctx context.Context, op operator) error) error {
	conf, err := loadSettings(cmd.Flags(), p.environ, commands)
	if err != nil {
		return err
	}
	// Warned of before the database is opened: the error of an unreachable one would hide the warning.
	conf.warnFormer(cmd.Context(), p.newLog(conf))
	store, err := p.openStore(cmd.Context(), conf)
	if err != nil {
		return err
	}
	defer store.Close()
	return explainDatabaseError(fn(cmd.Context(), operator{conf: conf, store: store}))
}

// openStore opens the database of the settings, or else that of a running `director dev`, with whose secrets it fills
// in what is missing. It does not connect yet: an unreachable database is the error of the first query.
func (p *program) openStore(ctx context.Context, conf *loaded) (*db.Store, error) {
	// A terminal beside `director dev` has none of its settings: they are in its data directory.
	if conf.config.Database.URL == "" {
		data, err := conf.config.findDataDir()
		if err != nil {
			return nil, err
		}
		if conf.config.Database.URL, err = data.runningDatabase(); err != nil {
			return nil, err
		}
		if err := conf.config.useKEKsOf(data); err != nil {
			return nil, err
		}
		// The replica of `dev` signs with these secrets where nothing else is set.
		conf.config.useNexisSecrets()
	}
	// Every command opens the store with the room types: an erasure changes rooms as well, and what that does depends
	// on their types.
	types, err := conf.config.roomTypes()
	if err != nil {
		return nil, err
	}
	cfg := conf.config.store()
	// A command needs no more than two connections, and Postgres may have few left when operators look for the reason.
	cfg.MaxConns, cfg.RoomTypes = 2, types
	return db.Open(ctx, cfg)
}

// onSettings completes a command that needs settings and no database: it adds their flags, and runs the function with
// what they say. A command with --output is for [program.onOutput].
func (p *program) onSettings(cmd *cobra.Command, settings commandSet,
	run func(ctx context.Context, conf *loaded, args []string) error) *cobra.Command {
	addFlags(cmd.Flags(), settings)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		conf, err := loadSettings(cmd.Flags(), p.environ, settings)
		if err != nil {
			return err
		}
		return run(cmd.Context(), conf, args)
	}
	return cmd
}

// onOutput is onSettings for a command that prints a result in the format of --output.
func (p *program) onOutput(cmd *cobra.Command, settings commandSet,
	run func(ctx context.Context, conf *loaded, out cli.Output, args []string) error) *cobra.Command {
	p.onSettings(cmd, settings, func(ctx context.Context, conf *loaded, args []string) error {
		out, err := cli.OutputOf(cmd)
		if err != nil {
			return err
		}
		return run(ctx, conf, out, args)
	})
	cli.AddOutput(cmd) // after the flags of the settings: --help shows it among the command's own
	return cmd
}

// databaseRun is what a command does on the database, with its arguments.
type databaseRun func(ctx context.Context, op operator, args []string) error

// onDatabase completes a command on the database, which has its texts, its number of arguments and its own flags: it
// adds --output and the flags of the settings that it uses, and runs the function with the store and the output.
// Without settings for a database, the command is on that of a running `director dev`. What does not need the database
// is checked by [checkFirst].
func (p *program) onDatabase(cmd *cobra.Command, settings commandSet, run databaseRun) *cobra.Command {
	addFlags(cmd.Flags(), settings)
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.withDatabase(cmd, settings, func(ctx context.Context, op operator) error { return run(ctx, op, args) })
	}
	return cmd
}
