package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/migrations"
)

func (p *program) migrateCommand() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "migrate",
		Short: "Migrate the schema of the database",
		Long: "Migrates the schema of the database. The migrations are in the binary. Several may run at once: one works, the others wait.\n" +
			"Behind a pooler set DATABASE_URL_DIRECT: the lock that serializes them needs a session.",
		Example: "  director migrate up\n  director migrate status\n  director migrate down --steps 1 --yes",
	}, p.migrateUp(), p.migrateDown(), p.migrateStatus(), p.migrateRedo())
}

// migrationLine is a migration and whether the database has it.
type migrationLine struct {
	Version   int64      `json:"version"`
	Name      string     `json:"name"`
	Applied   bool       `json:"applied"`
	AppliedAt *time.Time `json:"applied_at"`
}

// migrationCommand adds flags, settings and the database's URL to a sub-command of migrate.
func (p *program) migrationCommand(cmd *cobra.Command,
	run func(ctx context.Context, conf *loaded, url string, out cli.Output) error) *cobra.Command {
	cmd.Args = cli.Exactly(0)
	return p.onOutput(cmd, byMigrate, func(ctx context.Context, conf *loaded, out cli.Output, _ []string) error {
		url, err := conf.config.migrationURL()
		if err != nil {
			return err
		}
		err = run(ctx, conf, url, out)
		// Without DIRECTOR_POOLER, only the failure of the migration shows that the URL is that of a pooler.
		if db.PoolerHint(err) != "" {
			return fmt.Errorf("%w: %w", errPooled, err)
		}
		return err
	})
}

// errPooled is returned because the lock that serializes migrations belongs to a session.
var errPooled = errors.New("migrations use a session lock, which does not work through a pooler: set DATABASE_URL_DIRECT to Postgres itself")

// migrationURL returns the database of the sub-commands of migrate: that of the settings, or else that of a running
// `director dev`.
func (c *Config) migrationURL() (string, error) {
	// Checked before anything connects: through a pooler, the lock could stay with a connection of somebody else.
	if c.Database.Pooler == "pgbouncer" && c.Database.URL != "" && c.Database.DirectURL == "" {
		return "", cli.Usage(errPooled)
	}
	if url := c.directURL(); url != "" {
		return url, nil
	}
	data, err := c.findDataDir()
	if err != nil {
		return "", err
	}
	url, err := data.runningDatabase()
	if cli.IsUsage(err) {
		err = cli.Usage(fmt.Errorf("%w; set DATABASE_URL, or DATABASE_URL_DIRECT behind a pooler", err))
	}
	return url, err
}

// directURL returns the URL that bypasses a pooler.
func (c *Config) directURL() string {
	if c.Database.DirectURL != "" {
		return c.Database.DirectURL
	}
	return c.Database.URL
}

func (p *program) migrateUp() *cobra.Command {
	return p.migrationCommand(&cobra.Command{
		Use:     "up",
		Short:   "Apply the pending migrations",
		Long:    "Applies every pending migration. Replicas of the previous release continue to run.",
		Example: "  DATABASE_URL=postgres://director@db.internal/director director migrate up",
	}, func(ctx context.Context, conf *loaded, url string, out cli.Output) error {
		// Up waits for another process that migrates: of several replicas that start at once, each may run it.
		done, err := migrations.Up(ctx, url, p.newLog(conf))
		if err != nil {
			return err
		}
		return reportMigration(ctx, url, out, "applied", done)
	})
}

// migrateDown refuses a schema that has a version which this build does not know: the build cannot revert that version.
func (p *program) migrateDown() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Revert the newest migrations, and delete their data",
		Long: "Reverts the newest migrations. This drops their tables with all data, after a confirmation. It is for development: to\n" +
			"return to the previous release, run the old binary on the new schema.",
		Example: "  director migrate down\n  director migrate down --steps 2 --yes",
	}
	steps := cmd.Flags().Int("steps", 1, "How many to revert")
	requireAtLeast(cmd, "steps", steps, 1)
	yes := addYes(cmd)
	return p.migrationCommand(cmd, func(ctx context.Context, conf *loaded, url string, out cli.Output) error {
		if err := p.confirmDown(ctx, url, *steps, *yes); err != nil {
			return err
		}
		// Nothing is locked since the question: if another process has migrated meanwhile, what is newest now is
		// reverted.
		done, err := migrations.Down(ctx, url, *steps, p.newLog(conf))
		if err != nil {
			return err
		}
		return reportMigration(ctx, url, out, "reverted", done)
	})
}

// confirmDown prints what will be reverted, and asks for a confirmation.
func (p *program) confirmDown(ctx context.Context, url string, steps int, yes bool) error {
	if yes {
		return nil
	}
	all, err := migrations.Status(ctx, url)
	if err != nil {
		return err
	}
	// The newest first, in the order in which they are reverted.
	applied := slices.DeleteFunc(all, func(m migrations.Migration) bool { return !m.IsApplied() })
	slices.Reverse(applied)
	consequence := []string{fmt.Sprintf("This reverts, and deletes all data of, on %s:", withoutPassword(url))}
	for _, m := range applied[:min(steps, len(applied))] {
		consequence = append(consequence, m.Name)
	}
	// The question names the migrations, since each drops tables with all their data.
	return p.askConfirmation(false, strings.Join(consequence, "\n  "))
}

func (p *program) migrateStatus() *cobra.Command {
	return p.migrationCommand(&cobra.Command{
		Use:     "status",
		Short:   "List the migrations and whether they are applied",
		Long:    "Lists the migrations in this binary, and when each was applied to the database. It does not wait for a running migration.",
		Example: "  director migrate status\n  director migrate status -o json | jq '.[] | select(.applied | not)'",
	}, func(ctx context.Context, _ *loaded, url string, out cli.Output) error {
		all, err := migrations.Status(ctx, url)
		if err != nil {
			return err
		}
		version, err := migrations.Version(ctx, url)
		if err != nil {
			return err
		}
		return writeMigrations(out, all, version)
	})
}

// writeMigrations prints the migrations of this build, and whether the database is ahead of it.
func writeMigrations(out cli.Output, all []migrations.Migration, version int64) error {
	lines := make([]migrationLine, 0, len(all)+1)
	for _, m := range all {
		line := migrationLine{Version: m.Version, Name: m.Name, Applied: m.IsApplied()}
		if m.IsApplied() {
			line.AppliedAt = &m.AppliedAt
		}
		lines = append(lines, line)
	}
	// One line for all newer migrations: this build does not know their names.
	if version > migrations.Latest() {
		lines = append(lines, migrationLine{Version: version, Name: "of a newer release", Applied: true})
	}
	return cli.Write(out, lines, []string{"version", "name", "applied", "at"}, func(m migrationLine) []any {
		return []any{m.Version, m.Name, m.Applied, m.AppliedAt}
	})
}

func (p *program) migrateRedo() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "redo",
		Short:   "Revert the newest migration and apply it again",
		Long:    "Reverts the newest migration and applies it again, for the development of that migration. The data in its tables is lost; it asks for a confirmation.",
		Example: "  director migrate redo --yes",
	}
	yes := addYes(cmd)
	return p.migrationCommand(cmd, func(ctx context.Context, conf *loaded, url string, out cli.Output) error {
		if err := p.confirmDown(ctx, url, 1, *yes); err != nil {
			return err
		}
		done, err := migrations.Redo(ctx, url, p.newLog(conf))
		if err != nil {
			return err
		}
		return reportMigration(ctx, url, out, "done", done)
	})
}

// migrationResult is the JSON output of a migration.
type migrationResult struct {
	Versions []int64 `json:"versions"`
	Schema   int64   `json:"schema"`
}

// reportMigration prints the applied or reverted migrations. The log of a failed run has them too.
func reportMigration(ctx context.Context, url string, out cli.Output, word string, done []int64) error {
	version, err := migrations.Version(ctx, url)
	if err != nil {
		return err
	}
	if out.JSON {
		return cli.WriteJSON(out.Writer, migrationResult{append([]int64{}, done...), version})
	}
	if len(done) == 0 {
		fmt.Fprintf(out.Writer, "Nothing to do: the schema is at version %d.\n", version)
		return nil
	}
	fmt.Fprintf(out.Writer, "%d %s: the schema is at version %d.\n", len(done), word, version)
	return nil
}
