// Package fault holds the errors that this system returns on purpose: a kind, which each protocol maps to its own
// statuses, a stable code, and a detail for people. It imports nothing of ours, so that faces, engines and the sidecar
// need no store for an error.
package fault

import (
	"errors"
	"fmt"
	"time"
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
	Elsewhere                   // another cell serves the region: ask Cell
)

// Error is an answer that is given on purpose. Code is stable and machine-readable; Detail is for people
// and may be shown to the caller; Err, the cause, may not.
type Error struct {
	Kind   Kind
	Code   string
	Detail string
	Field  string // for Invalid: the field that is outside its limits
	// for Unavailable and TooMany, and NoCapacity with an Outlook: when another try makes sense
	RetryAfter time.Duration
	Err        error

	Incarnation string // for instance_taken: the one that is registered
	// for NoCapacity: of the pool of the mode; nil where no pool serves it, or the request waits for none
	Outlook *Outlook
	// for ticket_exists and party_conflict: the ticket that is in the way, where the caller is its member; for
	// ticket_ended and session_closed: the one with which the caller waits since an evacuation
	TicketID string
	// for Elsewhere: the cell to ask
	Cell *Cell
	// for not_admitted: the place of the caller; nil: the caller is admitted, and another player of its party is not
	Place *LoginPlace
	// for session_closed: of the session in which the caller has a seat since an evacuation, a secret
	SessionHandle string
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

// Is reports whether err is, or wraps, an [Error] of that kind.
func Is(err error, k Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == k
}

// AsDecision returns the [Error] of err if it is a decision: of any kind but Unavailable, with which nothing may have
// been decided yet.
func AsDecision(err error) (*Error, bool) {
	e, is := errors.AsType[*Error](err)
	return e, is && e.Kind != Unavailable
}

// AddOutlook adds an outlook to a refusal, and when to ask again.
func (e *Error) AddOutlook(o Outlook) {
	e.Outlook, e.RetryAfter = &o, o.retryAfter()
}

// New returns an error whose detail is formatted as by [fmt.Sprintf]; the detail may be shown to the caller.
func New(k Kind, code, format string, args ...any) *Error {
	return &Error{Kind: k, Code: code, Detail: fmt.Sprintf(format, args...)}
}

// NewElsewhere returns an error of kind Elsewhere.
func NewElsewhere(c *Cell) *Error {
	e := New(Elsewhere, CodeElsewhere, "region %q is served by cell %q, at %s", c.Region, c.Name,
		c.Addresses[ListenerAPI])
	e.Cell = c
	return e
}

// CellOf returns the cell to ask in place of this one, nil if err is of another kind.
func CellOf(err error) *Cell {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Cell
	}
	return nil
}

// RetryAfter is the delay that callers get while Postgres is unavailable: long enough to prevent a storm of retries,
// short enough to resume soon after Postgres is back.
const RetryAfter = time.Second

// NewUnavailable returns an error of kind Unavailable: nothing was decided, or the outcome is unknown because of err.
func NewUnavailable(detail string, err error) *Error {
	return &Error{Kind: Unavailable, Code: "unavailable", Detail: detail, RetryAfter: RetryAfter, Err: err}
}
