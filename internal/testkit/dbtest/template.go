package dbtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/migrations"
)

const (
	keepTemplates = 24 * time.Hour // since a test process last used it
	keepDatabases = 24 * time.Hour // longer than any test
)

// schemaName names what migrations have made today, in UTC: history has partitions for the days that follow.
func schemaName() string { return migrations.Hash()[:12] + time.Now().UTC().Format("20060102") }

// templateOnce makes the template database, or finds that another process has, on its first call.
func (s *server) templateOnce() func() (string, error) {
	name := templatePrefix + schemaName()
	return sync.OnceValues(func() (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		return name, s.makeTemplate(ctx, name)
	})
}

// makeTemplate holds a lock, so that of many test processes on one server one does the work.
func (s *server) makeTemplate(ctx context.Context, name string) error {
	conn, err := pgx.Connect(ctx, s.url.String())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	// The lock ends with the connection.
	if _, err := conn.Exec(ctx, "select pg_advisory_lock(hashtextextended($1, 0))", templatePrefix); err != nil {
		return err
	}
	var exists bool
	err = conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", name).Scan(&exists)
	if err == nil && !exists {
		err = s.migrateTemplate(ctx, conn, name)
	}
	// A server that ends with the tests leaves nothing.
	if err == nil && s.isShared {
		err = sweepLeftovers(ctx, conn, name)
	}
	return err
}

// migrateTemplate gives the database its name last: what a killed process leaves half-migrated never has that name.
func (s *server) migrateTemplate(ctx context.Context, conn *pgx.Conn, name string) error {
	draft := newName()
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

// migrateCompact applies the migrations and rewrites the catalogs, which the migrations leave half empty: each test's
// database is a copy of them, and reads them. The last connection finds all catalogs as they stay, and writes what
// Postgres knows of them to pg_internal.init, with which the first connection to a copy begins.
func migrateCompact(ctx context.Context, url string) error {
	if _, err := migrations.Up(ctx, url, nil); err != nil {
		return err
	}
	for _, sql := range []string{"vacuum (full, freeze) pg_attribute, pg_class, pg_constraint, pg_depend, pg_description, " +
		"pg_index, pg_proc, pg_rewrite, pg_statistic, pg_type", "select 1"} {
		if err := runConnected(ctx, url, sql); err != nil {
			return err
		}
	}
	return nil
}

func runConnected(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return runStatements(ctx, conn, sql)
}

// sweepLeftovers notes on the template in use that it is, and drops what nobody has used for long.
func sweepLeftovers(ctx context.Context, conn *pgx.Conn, inUse string) error {
	now := time.Now().UTC()
	used := fmt.Sprintf("comment on database %s is '%s'", inUse, now.Format(time.RFC3339))
	if err := runStatements(ctx, conn, used); err != nil {
		return err
	}
	rows, _ := conn.Query(ctx, `
		select datname from pg_database
		where datname ^@ $1 and coalesce(shobj_description(oid, 'pg_database'), '') < $2
		   or datname ^@ $3 and split_part(datname, '_', 3) < $4`,
		templatePrefix, now.Add(-keepTemplates).Format(time.RFC3339),
		testPrefix, fmt.Sprint(now.Add(-keepDatabases).Unix()))
	old, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, name := range old {
		// Another role's, or one that a debugger still looks at: it stays, and that is no reason to fail a test.
		_ = runStatements(ctx, conn, "alter database "+name+" with is_template false", "drop database "+name)
	}
	return err
}
