package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/internal/panics"
)

// Kind is the kind of an [Error]. Each protocol has one table from Kind to its own statuses.
type Kind int

// The kinds. Anything that is not an *Error is internal: its text goes to the log only.
const (
	NotFound    Kind = iota + 1 // it never existed, or ended too long ago to be remembered
	Conflict                    // the state of something else forbids it
	NoCapacity                  // no instance can host it now
	Superseded                  // a newer incarnation of the instance exists: stop, do not register again
	Gone                        // it existed and has ended
	Forbidden                   // the caller has no right to it
	Invalid                     // Field is outside its limits
	Mismatch                    // the idempotency key was used with another body
	TooMany                     // the caller holds, or asks for, too much
	Unavailable                 // not decided, or the outcome is unknown: retry after RetryAfter
)

// Error is an answer that the store gives on purpose. Code is stable and machine-readable; Detail is for people
// and may be shown to the caller; Err, the cause, may not.
type Error struct {
	Kind       Kind
	Code       string
	Detail     string
	Field      string        // for Invalid: the field that is outside its limits
	RetryAfter time.Duration // for Unavailable and TooMany, and NoCapacity with an Outlook: when another try makes sense
	Err        error

	Incarnation string   // for instance_taken: the one that is registered
	Outlook     *Outlook // for NoCapacity: of the pool of the mode; nil where no pool serves it, or the request waits for none
	TicketID    string   // for ticket_exists and party_conflict: the ticket that is in the way, where the caller is its member
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Detail, e.Err)
	}
	return e.Code + ": " + e.Detail
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// IsKind reports whether err is, or wraps, an [Error] of that kind.
func IsKind(err error, k Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == k
}

func newError(k Kind, code, format string, args ...any) *Error {
	return &Error{Kind: k, Code: code, Detail: fmt.Sprintf(format, args...)}
}

// retryAfter is the delay that callers get while Postgres is unavailable: long enough to prevent a storm of retries, short
// enough to resume soon after Postgres is back.
const retryAfter = time.Second

func unavailable(detail string, err error) *Error {
	return &Error{Kind: Unavailable, Code: "unavailable", Detail: detail, RetryAfter: retryAfter, Err: err}
}

// retryableStates are the SQLSTATEs for which the server is the cause, not the statement (PostgreSQL manual, appendix A).
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

// unstorableText are the SQLSTATEs of text that Postgres cannot store. Faces refuse it; some protocols have it in places where no face looks.
var unstorableText = map[string]bool{
	"22021": true, // character_not_in_repertoire
	"22P05": true, // untranslatable_character: U+0000 in JSON
}

// isLockTimeout reports that a transaction waited for a lock for longer than its lock_timeout.
func isLockTimeout(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "55P03"
}

func retryableState(code string) bool {
	class := code[:min(2, len(code))]
	return retryableStates[code] || class == "08" || class == "53" || class == "57"
}

// isConflict reports that a transaction lost against another one and that a retry is all it takes: a serialization failure, a
// deadlock, or a unique key that another transaction wrote between read and write, such as a seat of the same player.
func isConflict(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01" || pg.Code == "23505")
}

// isDataError reports that Postgres rejected the data of a statement.
func isDataError(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && !retryableState(pg.Code)
}

// classify turns an error of pgx into the error that callers get. A lost connection or a server that refuses is Unavailable;
// an *Error stays as it is; anything else stays as it is and is internal.
func classify(err error) error {
	var e *Error
	var pg *pgconn.PgError
	switch {
	case err == nil, errors.As(err, &e), panics.Is(err):
		return err
	case errors.As(err, &pg):
		switch {
		case retryableState(pg.Code):
			return unavailable("the database refused for now", hinted(err))
		case unstorableText[pg.Code]:
			return &Error{Kind: Invalid, Code: "invalid_request", Detail: "text must be UTF-8 without the character U+0000", Err: err}
		}
		return err
	case errors.Is(err, pgx.ErrTxCommitRollback):
		return unavailable("the transaction was rolled back", err)
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, pgx.ErrNoRows):
		return err
	default:
		// Neither an answer of Postgres nor an error of this package: dialing, TLS, the connection or a deadline failed.
		return unavailable("the database cannot be reached", err)
	}
}
