package dbtest

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/migrations"
)

const (
	keepTemplates = 24 * time.Hour // since a test process last used one: each day has templates of its own
	keepDatabases = 24 * time.Hour // since a test made one: longer than any test takes
)

// schemaName returns a name of what these migrations make today, in UTC: they make partitions of history for the days
// that follow.
func schemaName() string { return migrations.Hash()[:12] + time.Now().UTC().Format("20060102") }

// makeTemplate makes the template database, unless another process has, and returns its name.
func (s *server) makeTemplate() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.url.String())
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	// Of many test processes on one server, one does the work. The lock ends with the connection.
	if _, err := conn.Exec(ctx, "select pg_advisory_lock(hashtextextended($1, 0))", templatePrefix); err != nil {
		return "", err
	}
	name := templatePrefix + schemaName()
	var exists bool
	err = conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", name).Scan(&exists)
	if err != nil {
		return "", err
	}
	if !exists {
		if err := s.migrateTemplate(ctx, conn, name); err != nil {
			return "", err
		}
	}
	// A private server ends with this process, and leaves nothing behind.
	if !s.isShared {
		return name, nil
	}
	return name, sweepLeftovers(ctx, conn, name)
}

// migrateTemplate makes a template of a new database that has the migrations. The database gets its name last: what a
// killed process leaves half-migrated never has that name.
func (s *server) migrateTemplate(ctx context.Context, conn *pgx.Conn, name string) error {
	draft := newDatabaseName()
	if err := runStatements(ctx, conn, s.createStatement(draft, "template0")); err != nil {
		return err
	}
	if err := migrateCompact(ctx, s.urlOf(draft)); err != nil {
		return err
	}
	return runStatements(ctx, conn,
		"alter database "+draft+" with is_template true allow_connections false",
		"alter database "+draft+" rename to "+name)
}

// migrateCompact applies the migrations and makes the catalogs small: each test's database is a copy of them.
func migrateCompact(ctx context.Context, url string) error {
	if _, err := migrations.Up(ctx, url, nil); err != nil {
		return err
	}
	// The migrations leave them half empty.
	const rewriteCatalogs = "vacuum (full, freeze) pg_attribute, pg_class, pg_constraint, pg_depend, pg_description, " +
		"pg_index, pg_proc, pg_rewrite, pg_statistic, pg_type"
	if err := runConnected(ctx, url, rewriteCatalogs); err != nil {
		return err
	}
	// A connection that finds the catalogs as they stay writes what Postgres knows of them to pg_internal.init, which
	// the first connection to a copy then reads.
	return runConnected(ctx, url, "select 1")
}

// runConnected runs a statement on a connection of its own.
func runConnected(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return runStatements(ctx, conn, sql)
}

// sweepLeftovers writes the time of this use into the comment of the template in use, and drops templates and databases
// that nobody has used for long.
func sweepLeftovers(ctx context.Context, conn *pgx.Conn, inUse string) error {
	now := time.Now().UTC()
	markUsed := fmt.Sprintf("comment on database %s is '%s'", inUse, now.Format(time.RFC3339))
	if err := runStatements(ctx, conn, markUsed); err != nil {
		return err
	}
	rows, _ := conn.Query(ctx, `
		select datname from pg_database
		where datname ^@ $1 and coalesce(shobj_description(oid, 'pg_database'), '') < $2
		   or datname ^@ $3 and split_part(datname, '_', 3) < $4`,
		templatePrefix, now.Add(-keepTemplates).Format(time.RFC3339),
		testPrefix, fmt.Sprint(now.Add(-keepDatabases).Unix()))
	unused, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range unused {
		// This fails for a database of another role, or one that a debugger is connected to. It stays, and no test
		// fails.
		_ = runStatements(ctx, conn, "alter database "+name+" with is_template false", "drop database "+name)
	}
	return nil
}
