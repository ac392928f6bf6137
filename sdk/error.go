package sdk

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Kinds of refusals by the director. Test for them with errors.Is; errors.As with *[Error] returns the details.
var (
	// ErrInvalid: 400, 413, 415 or 422; the request is invalid and a retry is useless. Error.Fields names the fields.
	ErrInvalid = errors.New("invalid request")
	// ErrUnauthorized: 401; the fleet token, the credential or the access token is missing, wrong or expired.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrForbidden: 403; on Resolve, the caller holds no seat in that session.
	ErrForbidden = errors.New("forbidden")
	// ErrNotFound: 404; no such session, handle, ticket or profile. On fleet calls it is also [ErrUnknownInstance].
	ErrNotFound = errors.New("not found")
	// ErrUnknownInstance: 404 on a fleet call; the instance is unknown or its lease has expired. Older directors send
	// no code with it.
	ErrUnknownInstance = errors.New("unknown instance")
	// ErrNoCapacity: 409 on Matchmake; no instance can host the party now. A later retry may succeed.
	ErrNoCapacity = errors.New("no capacity")
	// ErrNotOffered: 409 on Matchmake; no game server has offered that mode or that region within the last day. The
	// name is probably misspelt; Error.Detail has the most similar known name.
	ErrNotOffered = errors.New("mode or region not offered")
	// ErrPartyConflict: 409 on Matchmake and Queue; another member of the party has taken a seat of their own there, or
	// waits with a ticket of their own; on Queue also: the caller has joined the ticket of its party.
	ErrPartyConflict = errors.New("party conflict")
	// ErrSuperseded: 409 on a fleet call; another process has registered with this instance id. Final.
	ErrSuperseded = errors.New("superseded")
	// ErrDeploymentOver: 410 on a fleet call; the director has ended this server's deployment. Final.
	ErrDeploymentOver = errors.New("deployment is over")
	// ErrTicketExists: 409 on Queue; the caller waits with another ticket for one of the profiles. Error.TicketID names
	// it.
	ErrTicketExists = errors.New("another ticket exists")
	// ErrAssigned: 409 on Cancel; the ticket is assigned already.
	ErrAssigned = errors.New("ticket is assigned")
	// ErrMatched: 409 on Cancel; an Open Match director has the ticket and assigns it soon.
	ErrMatched = errors.New("ticket is in a match")
	// ErrTooLate: 409 on Accept, Decline and Cancel; the match waits for no answer of the caller.
	ErrTooLate = errors.New("no answer is awaited")
	// ErrGone: 410; the session is closed, or the ticket left the queue some minutes ago.
	ErrGone = errors.New("session closed")
	// ErrElsewhere: 421; another cell serves the region, and the client could not follow: the address that the answer
	// names is not https while the replica's is, or the cell there sends on to yet another one.
	ErrElsewhere = errors.New("region is served by another cell")
	// ErrUnavailable: no replica answered, or the answer was 408, 429, 502, 503 or 504. Calls retry these until their
	// context ends.
	ErrUnavailable = errors.New("director unavailable")
)

// Error is a refusal by the director, decoded from its problem document (RFC 9457).
type Error struct {
	// Call is the method and path, such as "POST /matchmake".
	Call string
	// Status is the HTTP status. Code is the director's stable, machine-readable reason. Code is empty when something
	// in between, such as a proxy, answered.
	Status int
	Code   string
	// Detail is for people. With status 400, Fields has an entry for each invalid field.
	Detail string
	Fields []FieldError
	// RequestID identifies the request in the director's logs.
	RequestID string
	// RetryAfter is the pause that the director asks for; 0 if it asks for none.
	RetryAfter time.Duration
	// TicketID is the ticket with which the caller waits, with ErrTicketExists and ErrPartyConflict, and with ErrGone
	// since the game server was evacuated; empty where there is none.
	TicketID string
	// SessionHandle is, with ErrGone of Resolve, that of the session in which the caller has a seat since the game
	// server was evacuated; empty where there is none. A secret.
	SessionHandle string
	// ServersStarting is, with ErrNoCapacity, how many game servers start now that could host the party; nil where the
	// director starts none.
	ServersStarting *int

	region, address string // with region_elsewhere: the region, and the address of its cell
	incarnation     string // the registered incarnation, where a registration named another one in replaces
}

// FieldError describes one invalid field of a request.
type FieldError struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sdk: %s: %d", e.Call, e.Status)
	for _, part := range []string{e.Code, e.Detail} {
		if part != "" {
			b.WriteString(" " + part)
		}
	}
	for _, f := range e.Fields {
		fmt.Fprintf(&b, " [%s: %s]", f.Field, f.Detail)
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", e.RequestID)
	}
	return b.String()
}

// Is returns whether the refusal is of the kind target, one of the Err… values of this package.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrDeploymentOver:
		return e.Status == http.StatusGone && e.Code == "deployment_over"
	case ErrUnknownInstance:
		return e.Status == http.StatusNotFound && e.isFleetCall() && (e.Code == "instance_unknown" || e.Code == "")
	case ErrNotOffered:
		return e.Status == http.StatusConflict && (e.Code == "mode_unknown" || e.Code == "region_unknown")
	}
	if code := conflictCodes[target]; code != "" {
		return e.Status == http.StatusConflict && e.Code == code
	}
	return target != nil && target == kindOf(e.Status)
}

// conflictCodes are the codes of the kinds that are told apart by one code of 409.
var conflictCodes = map[error]string{
	ErrSuperseded: "superseded", ErrNoCapacity: "no_capacity", ErrPartyConflict: "party_conflict",
	ErrTicketExists: "ticket_exists", ErrAssigned: "assigned", ErrMatched: "matched", ErrTooLate: "too_late",
}

func (e *Error) isFleetCall() bool { return strings.Contains(e.Call, " /fleet/") }

func kindOf(status int) error {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
		http.StatusUnprocessableEntity:
		return ErrInvalid
	case http.StatusUnauthorized:
		return ErrUnauthorized
	case http.StatusForbidden:
		return ErrForbidden
	case http.StatusNotFound:
		return ErrNotFound
	case http.StatusGone:
		return ErrGone
	case http.StatusMisdirectedRequest:
		return ErrElsewhere
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return ErrUnavailable
	}
	return nil
}

// retryAfter parses seconds or an HTTP date (RFC 9110, 10.2.3). It returns 0 for any other value and for a past date.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// unreachableError means that a replica gave no answer. The director may or may not have applied the request.
type unreachableError struct{ err error }

func (e *unreachableError) Error() string { return "sdk: director not reachable: " + e.err.Error() }

func (e *unreachableError) Unwrap() error { return e.err }

// Is makes "no replica answered" and "a replica answered 503" one case for callers: [ErrUnavailable].
func (e *unreachableError) Is(target error) bool { return target == ErrUnavailable }
