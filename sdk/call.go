package sdk

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// call is one call of the API, which may take several attempts.
type call struct {
	method, path string
	header       http.Header
	body         any
	// region and ticket are what the call names, as far as the client knows: they say which cell to ask. At most one is
	// set.
	region, ticket string
	// isOnce makes one attempt on each replica at most. The caller does the retries.
	isOnce bool
	// maxWait is how long the director may take to answer, in addition to Options.AttemptTimeout.
	maxWait time.Duration
}

// withToken returns a copy with a bearer token: the caller's header stays as it is.
func (k call) withToken(bearer string) call {
	header := k.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Authorization", "Bearer "+bearer)
	k.header = header
	return k
}

func (k call) name() string { return k.method + " " + k.path }

func readBounded(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxAnswerBytes+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxAnswerBytes {
		return nil, fmt.Errorf("answer over %d bytes", maxAnswerBytes)
	}
	return body, nil
}

func decodeAnswer(resp *http.Response, k call, body []byte, out any) error {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return decodeError(resp, k, body)
	}
	if out == nil || resp.StatusCode == http.StatusNoContent {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("sdk: %s: unreadable answer with status %d: %w", k.name(), resp.StatusCode, err)
	}
	return nil
}

// decodeError returns an *Error for an answer that is not a success, with or without a problem document.
func decodeError(resp *http.Response, k call, body []byte) error {
	var problem struct {
		Title       string       `json:"title"`
		Detail      string       `json:"detail"`
		Code        string       `json:"code"`
		Errors      []FieldError `json:"errors"`
		Incarnation string       `json:"incarnation"`
		TicketID    string       `json:"ticket_id"`
		Session     string       `json:"session_handle"`
		Starting    *int         `json:"servers_starting"`
		Region      string       `json:"region"`
		Address     string       `json:"address"`
	}
	_ = json.Unmarshal(body, &problem) // The body may be a proxy's error page; the status then suffices.
	if problem.Detail == "" {
		problem.Detail = problem.Title
	}
	return &Error{
		Call: k.name(), Status: resp.StatusCode, Code: problem.Code, Detail: problem.Detail, Fields: problem.Errors,
		RequestID: resp.Header.Get("X-Request-ID"), RetryAfter: retryAfter(resp.Header.Get("Retry-After"), time.Now()),
		TicketID: problem.TicketID, SessionHandle: problem.Session, ServersStarting: problem.Starting,
		incarnation: problem.Incarnation, region: problem.Region, address: problem.Address,
	}
}
