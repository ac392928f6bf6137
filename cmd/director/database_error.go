package main

import (
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/dbcause"
	"github.com/lattice-director/director/internal/base/fault"
)

// explainDatabaseError replaces errors of Postgres by errors that say what to do.
func explainDatabaseError(err error) error {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case isRefusal(err):
		// The functions of schema ops write messages for people. What pgx adds, such as the SQLSTATE, is left out.
		errors.As(err, &pg)
		if pg.Hint != "" {
			return fmt.Errorf("%s (%s)", pg.Message, pg.Hint)
		}
		return errors.New(pg.Message)
	case db.PoolerHint(err) != "":
		return fmt.Errorf("%s (%w)", db.PoolerHint(err), err)
	}
	// The words of /readyz and doctor, so that an operator finds one fault under one name.
	cause, known := dbcause.FromError(err)
	switch {
	// Postgres has answered: it is reachable, but refuses.
	case dbcause.IsPostgres(err) && known:
		return fmt.Errorf("the database refuses: %s: %s", cause.Words, cause.Do)
	case isUnavailable(err):
		return fmt.Errorf("the database cannot be reached: %s: %w", cause.Do, err)
	}
	return err
}

// isRefusal reports whether a function of schema ops refused its arguments.
func isRefusal(err error) bool {
	var pg *pgconn.PgError
	// no_data_found, invalid_parameter_value and object_not_in_prerequisite_state, which those functions raise.
	return errors.As(err, &pg) && (pg.Code == "P0002" || pg.Code == "22023" || pg.Code == "55000")
}

// concernsOne reports whether an error is about one of the things that a command changes, so that it goes on with the
// others.
func concernsOne(err error) bool {
	return isRefusal(err) || fault.Is(err, fault.NotFound) || fault.Is(err, fault.Conflict) ||
		fault.Is(err, fault.Invalid)
}

// isUnavailable reports whether the database did not answer, as opposed to an answer with an error.
func isUnavailable(err error) bool {
	return err != nil && (fault.Is(err, fault.Unavailable) || isUnreachable(err))
}

// isUnreachable reports whether the database gave no answer: it could not be dialled, or the connection broke.
func isUnreachable(err error) bool {
	var connect *pgconn.ConnectError
	var network *net.OpError
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.Timeout(err) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF)
}
