package sidecar

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/server/rest"
)

// Refusal is the error document. Code is for programs, Detail for people.
type Refusal struct {
	Code   string            `json:"code"`
	Detail string            `json:"detail"`
	Errors []rest.FieldError `json:"errors,omitempty"` // the fields that are wrong
}

var (
	errUnknownPlayer = &rest.Problem{Status: http.StatusNotFound, Code: "unknown_player",
		Detail: "No such player is admitted: it has left, or was kicked."}
	errTooManyListeners = &rest.Problem{Status: http.StatusTooManyRequests, Code: "too_many",
		Detail: "More than 16 listeners to events are connected."}
)

// errNotReady refuses a call that needs a registration.
func errNotReady(s State) error {
	return &rest.Problem{Status: http.StatusConflict, Code: "not_ready",
		Detail: "The game server is " + string(s) + ": call ready first."}
}

// errOver refuses an announcement to a sidecar that has ended or is about to: another process needs another sidecar.
func errOver(s State) error {
	return &rest.Problem{Status: http.StatusConflict, Code: string(s),
		Detail: "The game server is " + string(s) + ": start it again with another sidecar."}
}

// reasons are the errors of package sdk, with the codes and the statuses under which the game server learns them.
var reasons = []struct {
	err    error
	code   string
	status int
}{
	{sdk.ErrBadToken, "bad_token", http.StatusForbidden},
	{sdk.ErrWrongServer, "wrong_server", http.StatusForbidden},
	{sdk.ErrReplay, "replay", http.StatusForbidden},
	{sdk.ErrSeatGone, "seat_gone", http.StatusForbidden},
	{sdk.ErrNoSeat, "no_seat", http.StatusForbidden},
	{sdk.ErrSessionLost, "session_lost", http.StatusForbidden},
	{sdk.ErrReplaced, "replaced", http.StatusForbidden},
	{sdk.ErrSuperseded, "superseded", http.StatusConflict},
	{sdk.ErrDeploymentOver, "deployment_over", http.StatusConflict},
	{sdk.ErrClosed, "closed", http.StatusConflict},
	{sdk.ErrInvalid, "invalid", http.StatusBadRequest},
	// The token is the sidecar's: 401 would ask the game server for credentials that it does not have.
	{sdk.ErrUnauthorized, "fleet_token_refused", http.StatusBadGateway},
	{sdk.ErrBusy, "busy", http.StatusServiceUnavailable},
	{sdk.ErrUnavailable, "unavailable", http.StatusServiceUnavailable},
	{context.DeadlineExceeded, "unavailable", http.StatusServiceUnavailable},
}

// codeOf returns the code of an error of package sdk.
func codeOf(err error) string {
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return r.code
		}
	}
	return "internal"
}

// refusalOf returns the error document of an error, and its status.
func refusalOf(err error) (Refusal, int) {
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return Refusal{r.code, err.Error(), fieldsOf(err)}, r.status
		}
	}
	p := rest.ProblemOf(err)
	return Refusal{p.Code, p.Detail, p.Errors}, p.Status
}

// fieldsOf returns the fields that the director found wrong.
func fieldsOf(err error) (fields []rest.FieldError) {
	refused, is := errors.AsType[*sdk.Error](err)
	if !is {
		return nil
	}
	for _, f := range refused.Fields {
		fields = append(fields, rest.FieldError{Field: f.Field, Detail: f.Detail})
	}
	return fields
}

// writeError is the rest.ErrorWriter of the HTTP face.
func writeError(w http.ResponseWriter, err error) string {
	refusal, status := refusalOf(err)
	body, _ := json.Marshal(refusal)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if status == http.StatusServiceUnavailable { // the sidecar has tried until callTimeout already
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a failed write means that the game server has disconnected
	return refusal.Code
}
