package frame

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/panics"
)

// retryableStates are the SQLSTATEs for which the server is the cause, not the statement (PostgreSQL manual, appendix
// A).
var retryableStates = map[string]bool{
	"40001": true, // serialization_failure
	"40P01": true, // deadlock_detected
	"55P03": true, // lock_not_available
	"57014": true, // query_canceled
	"25P03": true, // idle_in_transaction_session_timeout: this process was paused
	"25P04": true, // transaction_timeout
	"26000": true, // invalid_sql_statement_name: see PoolerHint
	"42P05": true, // duplicate_prepared_statement: see PoolerHint
	"25006": true, // read_only_sql_transaction: a standby after a failover
}

// unstorableText are the SQLSTATEs of text that Postgres cannot store. The servers of the protocols refuse such text,
// but do not look at each field of each message.
var unstorableText = map[string]bool{
	"22021": true, // character_not_in_repertoire
	"22P05": true, // untranslatable_character: U+0000 in JSON
}

// movingRegion is the SQLSTATE of a write of a region that is between two cells (refuse_moving_region in schema.sql).
// It counts as an error of the data: only the calls of a batch that are about that region are refused.
const movingRegion = "DR421"

// MovingRegion returns the region between two cells for which a write was refused; "": err is another error.
func MovingRegion(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == movingRegion {
		return pg.Detail
	}
	return ""
}

// IsLockTimeout reports that a transaction waited for a lock for longer than its lock_timeout.
func IsLockTimeout(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "55P03"
}

func retryableState(code string) bool {
	class := code[:min(2, len(code))]
	return retryableStates[code] || class == "08" || class == "53" || class == "57"
}

// IsConflict reports that a transaction lost against another one and that a retry is all it takes: a serialization
// failure, a deadlock, or a unique key that another transaction wrote between read and write, such as a seat of the
// same player.
func IsConflict(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01" || pg.Code == "23505")
}

// IsDataError reports that Postgres rejected the data of a statement.
func IsDataError(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && !retryableState(pg.Code)
}

// Classify turns an error of pgx into the error that callers get; every method of a store returns its errors through
// it. A lost connection or a server that refuses is Unavailable. A *fault.Error stays as it is. Any other error stays
// as it is, too, and is internal.
func Classify(err error) error {
	var e *fault.Error
	var pg *pgconn.PgError
	switch {
	case err == nil, errors.As(err, &e), panics.Is(err):
		return err
	case errors.As(err, &pg):
		switch {
		case retryableState(pg.Code):
			return fault.NewUnavailable("the database refused for now", addHint(err))
		case pg.Code == movingRegion:
			return fault.NewUnavailable("the region moves to another cell", err)
		case unstorableText[pg.Code]:
			return &fault.Error{Kind: fault.Invalid, Code: "invalid_request",
				Detail: "text must be UTF-8 without the character U+0000", Err: err}
		}
		return err
	case errors.Is(err, pgx.ErrTxCommitRollback):
		return fault.NewUnavailable("the transaction was rolled back", err)
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, pgx.ErrNoRows):
		return err
	default:
		// Neither an answer of Postgres nor an error of this package: dialing, TLS, the connection or a deadline
		// failed.
		return fault.NewUnavailable("the database cannot be reached", err)
	}
}

// ErrRolledBack stands for a transaction of unknown outcome that turned out to be rolled back: it is tried again.
var ErrRolledBack = &pgconn.PgError{Code: "40001", Message: "the transaction was rolled back"}
