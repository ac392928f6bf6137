package db

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// PoolerProbe says what is between the director and Postgres.
type PoolerProbe struct {
	HasPooler      bool
	StatementError error // the error of a prepared statement that the pooler lost; nil: it lost none, or was not tested
}

// ProbePooler detects a pooler, which reports a made-up process id for the connection, and with prepared tests whether
// the pooler loses prepared statements. The statements are not in queries/, because they test the protocol. Errors:
// those of the connection.
func (s *Store) ProbePooler(ctx context.Context, prepared bool) (p PoolerProbe, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return p, err
	}
	defer conn.Release()
	var backend uint32
	if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()",
		pgx.QueryExecModeSimpleProtocol).Scan(&backend); err != nil {
		return p, err
	}
	p.HasPooler = backend != conn.Conn().PgConn().PID()
	if p.HasPooler && prepared {
		p.StatementError = s.tryPrepared(ctx, conn.Conn())
	}
	return p, nil
}

// tryPrepared prepares a statement and runs it while another transaction holds the server connection it was prepared
// on.
func (s *Store) tryPrepared(ctx context.Context, conn *pgx.Conn) error {
	const name = "director_doctor"
	if _, err := conn.Prepare(ctx, name, "SELECT 1"); err != nil {
		return lostStatement(err)
	}
	other, err := s.pool.Begin(ctx)
	if err != nil {
		return lostStatement(err)
	}
	defer func() { _ = other.Rollback(ctx) }()
	if _, err := other.Exec(ctx, "SELECT 1", pgx.QueryExecModeSimpleProtocol); err != nil {
		return lostStatement(err)
	}
	_, err = conn.Exec(ctx, name)
	return lostStatement(err)
}

// lostStatement returns err only if a pooler causes it: the statement does not exist, or exists already.
func lostStatement(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == "26000" || pg.Code == "42P05") {
		return err
	}
	return nil
}
