package db

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// DetectPooler reports whether a pooler is between the director and Postgres: it reports a made-up process id for the
// connection. The statements of this file are not in queries/, because they test the protocol. Errors: those of the
// connection.
func (s *Store) DetectPooler(ctx context.Context) (found bool, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	var backend uint32
	if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()",
		pgx.QueryExecModeSimpleProtocol).Scan(&backend); err != nil {
		return false, err
	}
	return backend != conn.Conn().PgConn().PID(), nil
}

// TestPrepared tests whether a pooler loses prepared statements, and returns the error of one that was lost; nil: none
// was. Errors: also those of the connection.
func (s *Store) TestPrepared(ctx context.Context) (lost, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	return s.tryPrepared(ctx, conn.Conn()), nil
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
