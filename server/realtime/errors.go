package realtime

import (
	"errors"
	"maps"
	"time"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
)

// The codes of failures, beside those of lobby.
const (
	codeBadFrame     = "bad_frame"
	codeVersion      = "unsupported_version"
	codeTypeRequired = "type_required"
	codeTooLarge     = "too_large"
	codeUnknownType  = "unknown_type"
	codeRoomRequired = "room_required"
	codeRateLimited  = "rate_limited"
	codeRefused      = "refused"
	codeUnavailable  = "unavailable"
	codeInvalid      = "invalid"
)

// The failures that are the same everywhere. Texts are those that clients of Nexis know, where it has them.
var (
	failUnknownType = &failure{Code: codeUnknownType, Text: "unknown message type"}
	failRefused     = &failure{Code: codeRefused, Text: "not served here"}
	failUnavailable = &failure{Code: codeUnavailable, Text: "temporarily unavailable", RetryAfter: time.Second}
	failRateLimited = &failure{Code: codeRateLimited, Text: "rate limited", RetryAfter: time.Second}
)

// failure is why a message of a client had no effect. It may be shown to the client.
type failure struct {
	Code       string
	Text       string
	Field      string        // of p, for codeInvalid
	RetryAfter time.Duration // 0: another try makes no sense
}

func (f *failure) Error() string { return f.Text }

// invalid returns the failure of a field of p.
func invalid(field, why string) *failure {
	return &failure{Code: codeInvalid, Text: field + " " + why, Field: field}
}

// frameError is a frame that is no envelope. Its RID is empty if none can be read.
type frameError struct{ Code, Text, RID string }

func (e *frameError) Error() string { return e.Text }

func badFrame(rid string, err error) error {
	return &frameError{codeBadFrame, "decode failed: " + err.Error(), rid}
}

// kindFailures is by kind of an error of the store. Kinds that are not listed are internal, and so unavailable to clients.
var kindFailures = map[fault.Kind]failure{
	fault.NotFound:    {Code: lobby.ErrNotFound.Code, Text: lobby.ErrNotFound.Text},
	fault.Gone:        {Code: lobby.ErrNotFound.Code, Text: lobby.ErrNotFound.Text},
	fault.Forbidden:   {Code: codeRefused, Text: "not allowed"},
	fault.Conflict:    {Code: codeRefused, Text: "not possible now"},
	fault.NoCapacity:  {Code: codeUnavailable, Text: "no capacity"},
	fault.Invalid:     {Code: codeInvalid, Text: "invalid request"},
	fault.TooMany:     {Code: codeRateLimited, Text: "rate limited"},
	fault.Unavailable: {Code: codeUnavailable, Text: "temporarily unavailable"},
}

// ticketCodes are the codes of the store whose text tells a player why a ticket is refused. Clients get both.
var ticketCodes = map[string]bool{
	"not_queued": true, "ticket_exists": true, "party_conflict": true, "matched": true, "too_many_tickets": true, "ticket_ended": true, "too_late": true,
	"cannot_match": true, "profile_unknown": true,
}

// failureOf turns any error into the failure that the client gets. known is false for an error of the director itself, whose text goes to the
// log only. Callers handle fault.Superseded before.
func failureOf(err error) (fail *failure, known bool) {
	var ours *failure
	var room *lobby.Error
	var frame *frameError
	var store *fault.Error
	switch {
	case errors.As(err, &ours):
		return ours, true
	case errors.As(err, &room):
		return &failure{Code: room.Code, Text: room.Text, Field: room.Field}, true
	case errors.As(err, &frame):
		return &failure{Code: frame.Code, Text: frame.Text}, true
	case errors.As(err, &store):
		return storeFailure(store)
	}
	return failUnavailable, false
}

func storeFailure(err *fault.Error) (*failure, bool) {
	fail, listed := kindFailures[err.Kind]
	if !listed {
		return failUnavailable, false
	}
	fail.RetryAfter = err.RetryAfter
	if ticketCodes[err.Code] {
		fail.Code, fail.Text = err.Code, err.Detail
	}
	if err.Field != "" {
		fail.Field, fail.Text = err.Field, err.Field+" "+err.Detail
	}
	return &fail, true
}

// answered is the rpc.response of a success. room is the room of the answer; more are fields of p beside ok.
func answered(rid, room string, more map[string]any) outgoing {
	p := map[string]any{"ok": true}
	maps.Copy(p, more)
	return outgoing{Type: "rpc.response", RID: rid, Room: room, P: p}
}

// failed is the rpc.response of a failure. room is the room as asked for.
func failed(rid, room string, f *failure) outgoing {
	p := map[string]any{"ok": false, "error": f.Text, "code": f.Code}
	f.describe(p)
	return outgoing{Type: "rpc.response", RID: rid, Room: room, P: p}
}

// failedEvent is the event for the failure of a message without a rid.
func failedEvent(room string, f *failure) outgoing {
	p := map[string]any{"reason": f.Text, "code": f.Code}
	f.describe(p)
	if room != "" {
		p["room"] = room
	}
	return outgoing{Type: "error", P: p}
}

func (f *failure) describe(p map[string]any) {
	addText(p, "hint", hints[f.Code])
	if f.Field != "" {
		p["field"] = f.Field
	}
	if f.RetryAfter > 0 {
		p["retry_after_ms"] = f.RetryAfter.Milliseconds()
	}
}
