package bevygap

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/lattice-director/director/internal/base/fault"
)

// failure is why a request ends without a server. bevygap's client shows the code and the text to the player.
type failure struct {
	code uint16 // the HTTP status that fits best
	text string
}

func newFailure(code int, format string, args ...any) *failure {
	return &failure{uint16(code), fmt.Sprintf(format, args...)}
}

// kinds is the one table from the store's error kinds to codes. Other errors are internal, and their text is not sent.
// No capacity is 408, as bevygap's server answers if no game server has come in time.
var kinds = map[fault.Kind]int{
	fault.NotFound:    http.StatusNotFound,
	fault.Conflict:    http.StatusConflict,
	fault.NoCapacity:  http.StatusRequestTimeout,
	fault.Superseded:  http.StatusConflict,
	fault.Gone:        http.StatusGone,
	fault.Forbidden:   http.StatusForbidden,
	fault.Invalid:     http.StatusBadRequest,
	fault.Mismatch:    http.StatusConflict,
	fault.TooMany:     http.StatusTooManyRequests,
	fault.Unavailable: http.StatusServiceUnavailable,
	fault.Elsewhere:   http.StatusMisdirectedRequest,
}

func failureOf(err error) *failure {
	if stored, is := errors.AsType[*fault.Error](err); is {
		if code, ok := kinds[stored.Kind]; ok {
			return newFailure(code, "%s", stored.Detail)
		}
	}
	return newFailure(http.StatusInternalServerError, "internal error")
}

// The causes of the end of a conversation's context.
var (
	errLeft     = errors.New("the client left")
	errOverdue  = errors.New("the request waited for as long as it may")
	errStopping = errors.New("the replica stops")
)

// interruptionOf returns why a conversation ends whose context has ended; nil: the client has left. overdue is called if
// the request has waited for as long as it may.
func interruptionOf(ctx context.Context, overdue func() *failure) *failure {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errOverdue):
		return overdue()
	case errors.Is(cause, errStopping):
		return newFailure(http.StatusServiceUnavailable, "this replica stops: ask again")
	default:
		return nil
	}
}

// durationText formats a duration for people.
func durationText(d time.Duration) string { return d.Round(time.Second).String() }

// unavailableFailure is the failure while the database does not answer.
func unavailableFailure() *failure {
	return newFailure(http.StatusServiceUnavailable, "the director cannot decide now: ask again")
}
