package wire

import (
	"errors"
	"time"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
)

// The failures that say the same for every message. Texts are those that clients of Nexis know, where it has them.
var (
	FailUnknownType = &Failure{Code: CodeUnknownType, Text: "unknown message type"}
	FailRefused     = &Failure{Code: CodeRefused, Text: "not served here"}
	FailNameless    = &Failure{Code: CodeRefused, Text: "the token of the session names no player"}
	FailUnavailable = &Failure{Code: CodeUnavailable, Text: "temporarily unavailable", RetryAfter: time.Second}
	FailRateLimited = &Failure{Code: CodeRateLimited, Text: "rate limited", RetryAfter: time.Second}
)

// Failure is why a message of a client had no effect. It may be shown to the client.
type Failure struct {
	Code       string
	Text       string
	Field      string        // the field of p that is at fault; "": none
	RetryAfter time.Duration // 0: another try makes no sense
}

func (f *Failure) Error() string { return f.Text }

// InvalidField returns the failure of a field of p.
func InvalidField(field, why string) *Failure {
	return &Failure{Code: CodeInvalid, Text: field + " " + why, Field: field}
}

// FrameError is a frame that is no envelope. Its RID is empty if none can be read.
type FrameError struct{ Code, Text, RID string }

func (e *FrameError) Error() string { return e.Text }

// badFrame returns the error of a frame that cannot be decoded.
func badFrame(rid string, err error) error {
	return &FrameError{CodeBadFrame, "decode failed: " + err.Error(), rid}
}

// kindFailures are the failures for errors of the store, by kind. Errors of other kinds are internal: clients get
// FailUnavailable.
var kindFailures = map[fault.Kind]Failure{
	fault.NotFound:    {Code: lobby.ErrNotFound.Code, Text: lobby.ErrNotFound.Text},
	fault.Gone:        {Code: lobby.ErrNotFound.Code, Text: lobby.ErrNotFound.Text},
	fault.Forbidden:   {Code: CodeRefused, Text: "not allowed"},
	fault.Conflict:    {Code: CodeRefused, Text: "not possible now"},
	fault.NoCapacity:  {Code: CodeUnavailable, Text: "no capacity"},
	fault.Invalid:     {Code: CodeInvalid, Text: "invalid request"},
	fault.TooMany:     {Code: CodeRateLimited, Text: "rate limited"},
	fault.Unavailable: {Code: CodeUnavailable, Text: "temporarily unavailable"},
	fault.Elsewhere:   {Code: fault.CodeElsewhere, Text: "another cell serves the region"},
}

// ticketCodes are the codes of the store whose text says why a player's ticket is refused. Clients get both.
var ticketCodes = map[string]bool{
	"not_queued": true, "ticket_exists": true, "party_conflict": true, "matched": true, "too_many_tickets": true,
	"ticket_ended": true, "too_late": true,
	"not_admitted": true, "login_queue_full": true,
	"cannot_match": true, "profile_unknown": true, "too_many_blocks": true,
	fault.CodeElsewhere: true,
}

// FailureOf turns any error into the failure that the client gets. known is false for an error of the director itself,
// whose text goes to the log only. Callers handle fault.Superseded before.
func FailureOf(err error) (fail *Failure, known bool) {
	var ours *Failure
	var room *lobby.Error
	var frame *FrameError
	var store *fault.Error
	switch {
	case errors.As(err, &ours):
		return ours, true
	case errors.As(err, &room):
		return &Failure{Code: room.Code, Text: room.Text, Field: room.Field}, true
	case errors.As(err, &frame):
		return &Failure{Code: frame.Code, Text: frame.Text}, true
	case errors.As(err, &store):
		return storeFailure(store)
	}
	return FailUnavailable, false
}

func storeFailure(err *fault.Error) (*Failure, bool) {
	fail, listed := kindFailures[err.Kind]
	if !listed {
		return FailUnavailable, false
	}
	fail.RetryAfter = err.RetryAfter
	// The details of other errors are for operators: they may name what a player must not know.
	if ticketCodes[err.Code] {
		fail.Code, fail.Text = err.Code, err.Detail
	}
	if err.Field != "" {
		fail.Field, fail.Text = err.Field, err.Field+" "+err.Detail
	}
	return &fail, true
}
