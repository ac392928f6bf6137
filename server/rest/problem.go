package rest

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/internal/base/fault"
)

// Problem is an error document (RFC 9457). Code is stable and for programs; Detail is for people and may change. Any
// handler may return a Problem as its error; most return a *fault.Error or a failed [Check] instead.
type Problem struct {
	Type        string       `json:"type"` // a URI reference made of Code; Fail fills it in
	Title       string       `json:"title"`
	Status      int          `json:"status"`
	Detail      string       `json:"detail,omitempty"`
	Code        string       `json:"code"`
	RequestID   string       `json:"request_id,omitempty"` // Fail fills it in
	Errors      []FieldError `json:"errors,omitempty"`
	Incarnation string       `json:"incarnation,omitempty"` // for instance_taken: the registered incarnation
	// for ticket_exists and party_conflict: the caller's ticket; for ticket_ended and session_closed: the one since an
	// evacuation
	TicketID string `json:"ticket_id,omitempty"`
	// for session_closed: of the session in which the caller has a seat since an evacuation
	SessionHandle string `json:"session_handle,omitempty"`
	// for assigned, matched and too_late: the ticket as it is
	Ticket any `json:"ticket,omitempty"`
	// for no_capacity where a pool serves the mode: its servers that start now
	ServersStarting *int `json:"servers_starting,omitempty"`
	// for not_admitted: the caller's place in the login queue
	LoginQueue *LoginPlace `json:"login_queue,omitempty"`
	// for region_elsewhere: the region, and the base URL of the API of the cell that serves it
	Region     string        `json:"region,omitempty"`
	Address    string        `json:"address,omitempty"`
	RetryAfter time.Duration `json:"-"` // sent as the Retry-After header
}

// FieldError describes one invalid field of a request. Field is a path, as in joined[2].sub.
type FieldError struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

// Error implements error.
func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

const (
	// typePrefix makes a link of a code: the director serves the manual that describes it.
	typePrefix = "/docs#"

	// statusClientGone is the status, in logs and metrics only, of a request whose caller disconnected before the
	// answer.
	statusClientGone = 499

	// headerCell is the address of the cell that serves the region of the request, in answers with 421.
	headerCell = "Director-Cell"
)

// kinds is the one table from the store's error kinds to HTTP answers.
var kinds = map[fault.Kind]Problem{
	fault.NotFound:    {Status: http.StatusNotFound, Code: "not_found", Title: "Not found"},
	fault.Conflict:    {Status: http.StatusConflict, Code: "conflict", Title: "Conflict"},
	fault.NoCapacity:  {Status: http.StatusConflict, Code: "no_capacity", Title: "No capacity"},
	fault.Superseded:  {Status: http.StatusConflict, Code: "superseded", Title: "Superseded"},
	fault.Gone:        {Status: http.StatusGone, Code: "gone", Title: "Gone"},
	fault.Forbidden:   {Status: http.StatusForbidden, Code: "forbidden", Title: "Forbidden"},
	fault.Invalid:     {Status: http.StatusBadRequest, Code: "invalid_request", Title: "Invalid request"},
	fault.Mismatch:    {Status: http.StatusUnprocessableEntity, Code: "mismatch", Title: "Another request"},
	fault.TooMany:     {Status: http.StatusTooManyRequests, Code: "too_many", Title: "Too many"},
	fault.Unavailable: {Status: http.StatusServiceUnavailable, Code: "unavailable", Title: "Unavailable"},
	fault.Elsewhere:   {Status: http.StatusMisdirectedRequest, Code: fault.CodeElsewhere, Title: "Served elsewhere"},
}

// ErrorWriter writes errors in the format of a protocol that has one of its own, and returns the code for the log. err
// is what a handler returned or the [*Problem] of a middleware; [ProblemOf] gives it a status.
type ErrorWriter func(w http.ResponseWriter, err error) (code string)

// Fail answers with err as a problem document, or as [Options.ErrorWriter] says, and aborts the chain of handlers. It
// is the only way in which errors reach callers; [Handle] calls it with the error of its function. If the caller has
// disconnected, it writes nothing.
func Fail(c *gin.Context, err error) {
	c.Abort()
	s := scopeOf(c)
	s.cause = err
	// A handler has begun its answer, such as a stream: nothing can be put in its place.
	if c.Writer.Written() {
		return
	}
	// net/http also cancels the context at the read deadline of a slow body, whose caller is still connected.
	if errors.Is(c.Request.Context().Err(), context.Canceled) && !errors.Is(err, errBodyTooSlow) {
		c.AbortWithStatus(statusClientGone)
		return
	}
	SetCell(c.Writer.Header(), err, s.listenerOrAPI())
	if s.errorWriter != nil {
		s.problemCode = s.errorWriter(c.Writer, err)
		return
	}
	answerProblem(c, s, ProblemOf(err))
}

// SetCell sets the header Director-Cell to the address of a listener of the cell that err names, if it names one and
// the address is known.
func SetCell(h http.Header, err error, listener string) {
	if cell := fault.CellOf(err); cell != nil && cell.Addresses[listener] != "" {
		h.Set(headerCell, cell.Addresses[listener])
	}
}

// completeFor fills in the fields that depend on the request.
func (p *Problem) completeFor(requestID string) {
	p.Type = typePrefix + p.Code
	p.RequestID = requestID
}

// answerProblem sends the problem. p is a copy: the shared problems stay unchanged.
func answerProblem(c *gin.Context, s *scope, p Problem) {
	p.completeFor(s.requestID)
	s.problemCode = p.Code
	if p.RetryAfter > 0 || p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests {
		c.Header("Retry-After", retrySeconds(p.RetryAfter))
	}
	_ = writeJSON(c.Writer, p.Status, typeProblem, &p) // strings and ints always encode
}

// writeProblem writes the answer that [Fail] would write, without gin.
func writeProblem(w http.ResponseWriter, r *http.Request, p Problem) {
	p.completeFor(requestIDOf(r))
	w.Header().Set(headerRequestID, p.RequestID)
	_ = writeJSON(w, p.Status, typeProblem, &p) // strings and ints always encode
}

// ProblemOf returns the answer for err. An error of no known type is internal, and its text is not sent.
func ProblemOf(err error) Problem {
	var ours *Problem
	var stored *fault.Error
	switch {
	case errors.As(err, &ours):
		return *ours
	case errors.As(err, &stored):
		return storeProblem(stored)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		// Fail has handled callers that disconnected. Here the operation that the call waited for was shut down.
		return unavailableProblem("The call was not decided in time.")
	default:
		return internalProblem()
	}
}

func storeProblem(e *fault.Error) Problem {
	p, ok := kinds[e.Kind]
	if !ok {
		return internalProblem()
	}
	if e.Code != "" {
		p.Code = e.Code
	}
	p.Detail = e.Detail
	p.Incarnation, p.TicketID, p.SessionHandle = e.Incarnation, e.TicketID, e.SessionHandle
	if e.Cell != nil {
		p.Region, p.Address = e.Cell.Region, e.Cell.Addresses[fault.ListenerAPI]
	}
	p.RetryAfter = e.RetryAfter
	if e.Outlook != nil {
		p.ServersStarting = &e.Outlook.Starting
	}
	if e.Place != nil {
		p.LoginQueue = LoginPlaceOf(e.Place)
	}
	if e.Field != "" {
		p.Errors = []FieldError{{Field: e.Field, Detail: e.Detail}}
	}
	return p
}

// retrySeconds formats a Retry-After in whole seconds (RFC 9110 section 10.2.3). It is at least 1, so that clients do
// not retry in a busy loop.
func retrySeconds(d time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(d.Seconds()))))
}
