package rest

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/db"
)

// Problem is an error document (RFC 9457). Code is stable and for machines, Detail is for people and may change.
// As an error it can be returned from any handler; most return a *db.Error or a failed [Check] instead.
type Problem struct {
	Type        string        `json:"type"` // a URI reference made of Code; Fail fills it in
	Title       string        `json:"title"`
	Status      int           `json:"status"`
	Detail      string        `json:"detail,omitempty"`
	Code        string        `json:"code"`
	RequestID   string        `json:"request_id,omitempty"` // Fail fills it in
	Errors      []FieldError  `json:"errors,omitempty"`
	Incarnation string        `json:"incarnation,omitempty"` // for instance_taken: the one that is registered
	Retry       time.Duration `json:"-"`                     // when another try makes sense: the Retry-After header
}

// FieldError says what is wrong with one field of a request, named as in joined[2].sub.
type FieldError struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

// Error implements error.
func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

const (
	// typePrefix leads to the code in the manual that the director itself serves.
	typePrefix = "/docs#"

	// statusClientGone is what logs and metrics call a request whose caller left before its answer; nothing is sent.
	statusClientGone = 499
)

// kinds is the one table from what the store says to what HTTP callers are told.
var kinds = map[db.Kind]Problem{
	db.NotFound:    {Status: http.StatusNotFound, Code: "not_found", Title: "Not found"},
	db.Conflict:    {Status: http.StatusConflict, Code: "conflict", Title: "Conflict"},
	db.NoCapacity:  {Status: http.StatusConflict, Code: "no_capacity", Title: "No capacity"},
	db.Superseded:  {Status: http.StatusConflict, Code: "superseded", Title: "Superseded"},
	db.Gone:        {Status: http.StatusGone, Code: "gone", Title: "Gone"},
	db.Forbidden:   {Status: http.StatusForbidden, Code: "forbidden", Title: "Forbidden"},
	db.Invalid:     {Status: http.StatusBadRequest, Code: "invalid_request", Title: "Invalid request"},
	db.Mismatch:    {Status: http.StatusUnprocessableEntity, Code: "mismatch", Title: "Another request"},
	db.TooMany:     {Status: http.StatusTooManyRequests, Code: "too_many", Title: "Too many"},
	db.Unavailable: {Status: http.StatusServiceUnavailable, Code: "unavailable", Title: "Unavailable"},
}

// Fail answers with the problem that err is, and ends the chain of handlers. It is the only way errors reach callers;
// handlers made by [Handle] get there by returning them. Where the caller has gone, nothing is written.
func Fail(c *gin.Context, err error) {
	c.Abort()
	s := scopeOf(c)
	s.cause = err
	if c.Writer.Written() {
		return
	}
	// net/http also cancels the context when it gives up on a slow body; that caller is still there.
	if errors.Is(c.Request.Context().Err(), context.Canceled) && !errors.Is(err, errBodyTooSlow) {
		c.AbortWithStatus(statusClientGone)
		return
	}
	answer(c, s, problemOf(err))
}

// answer sends the problem. p is a copy, the tables stay as they are.
func answer(c *gin.Context, s *scope, p Problem) {
	p.Type = typePrefix + p.Code
	p.RequestID = s.id[0]
	s.code = p.Code
	if p.Retry > 0 || p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests {
		c.Header("Retry-After", retrySeconds(p.Retry))
	}
	// Strings and ints always encode.
	_ = writeJSON(c, p.Status, typeProblem, &p)
}

// problemOf is what a caller is told about err: what is no answer on purpose is internal, its text is not theirs.
func problemOf(err error) Problem {
	var ours *Problem
	var stored *db.Error
	switch {
	case errors.As(err, &ours):
		return *ours
	case errors.As(err, &stored):
		return storeProblem(stored)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		// Canceled, though the caller is there: what the call waited for was shut down.
		return unavailable("The call was not decided in time.")
	default:
		return internal()
	}
}

func storeProblem(e *db.Error) Problem {
	p, ok := kinds[e.Kind]
	if !ok {
		return internal()
	}
	if e.Code != "" {
		p.Code = e.Code
	}
	p.Detail = e.Detail
	p.Incarnation = e.Incarnation
	p.Retry = e.RetryAfter
	if e.Field != "" {
		p.Errors = []FieldError{{Field: e.Field, Detail: e.Detail}}
	}
	return p
}

// retrySeconds is a Retry-After in whole seconds (RFC 9110 section 10.2.3), at least one: nobody shall ask again at once.
func retrySeconds(d time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(d.Seconds()))))
}
