package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"time"

	"github.com/tidwall/gjson"
	"github.com/valyala/fasthttp"
)

// callTimeout is far longer than a director takes to answer or refuse a call.
const callTimeout = 10 * time.Second

// maxAnswerBytes bounds the answers that are read. The longest is the list of all Rivalis game servers; others have a
// few hundred bytes.
const maxAnswerBytes = 256 << 20

// Client makes calls until its ctx ends, which closes its connections and fails all calls. Connections are kept
// open, one for each concurrent caller, so that handshakes are not measured. The client is fasthttp's because the load
// generator shares a machine with the director: a call costs it less than half of the CPU that it costs net/http.
type Client struct{ http *fasthttp.Client }

// NewClient returns a client without connections.
func NewClient(ctx context.Context) *Client {
	return &Client{&fasthttp.Client{
		Dial: func(addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{Timeout: callTimeout}).DialContext(ctx, "tcp", addr)
			if err == nil { // fasthttp takes no context: a closed connection is what ends its call
				context.AfterFunc(ctx, func() { _ = conn.Close() })
			}
			return conn, err
		},
		MaxConnsPerHost:           math.MaxInt, // there are as many as callers
		MaxIdleConnDuration:       time.Minute,
		MaxIdemponentCallAttempts: 1, // failures are counted, not retried
		MaxResponseBodySize:       maxAnswerBytes,
		NoDefaultUserAgentHeader:  true,
	}}
}

// Credential is a header that authenticates a call. Without a value it is not sent.
type Credential struct{ header, value string }

// Bearer is the token of a player, an operator or an administrator.
func Bearer(token string) Credential {
	return Credential{fasthttp.HeaderAuthorization, "Bearer " + token}
}

// FleetToken is that of game servers; "" sends none.
func FleetToken(token string) Credential { return Credential{"X-Fleet-Token", token} }

// Request is a call.
type Request struct {
	Method, URL string
	As          Credential
	IfNoneMatch string // an ETag
	Body        []byte
	Wait        time.Duration // how long the director may wait before it answers
	Status      int           // of a good answer; 0: any below 300
	// Take reads the body, whose memory is reused when it returns; nil: the body is ignored.
	Take func(answer []byte) error
	ETag *string // gets that of the answer
}

// Post makes a call with a body.
func (c *Client) Post(url string, as Credential, body []byte, take func(answer []byte) error) error {
	return c.Do(Request{Method: http.MethodPost, URL: url, As: as, Body: body, Take: take})
}

// Do makes a call. Errors are of type [*Failure]: the status with the problem's code or cause, "timeout" or "no answer".
func (c *Client) Do(r Request) error {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	r.write(req)
	if err := c.http.DoTimeout(req, resp, r.Wait+callTimeout); err != nil {
		return unanswered(err)
	}
	status := resp.StatusCode()
	if r.Status != 0 && status != r.Status || r.Status == 0 && status >= http.StatusMultipleChoices {
		return refusal(resp)
	}
	if r.ETag != nil { // a copy, since the response is reused
		*r.ETag = string(resp.Header.Peek(fasthttp.HeaderETag))
	}
	if r.Take == nil {
		return nil
	}
	return r.Take(resp.Body())
}

// write fills the request of the library.
func (r *Request) write(req *fasthttp.Request) {
	req.SetRequestURI(r.URL)
	req.Header.SetMethod(r.Method)
	req.Header.SetNoDefaultContentType(true) // a director refuses a type that is not JSON, even without a body
	if r.As.value != "" {
		req.Header.Set(r.As.header, r.As.value)
	}
	if r.IfNoneMatch != "" {
		req.Header.Set(fasthttp.HeaderIfNoneMatch, r.IfNoneMatch)
	}
	if r.Body != nil {
		req.Header.SetContentType("application/json")
		req.SetBodyRaw(r.Body)
	}
}

// unanswered is the failure of a call without an answer.
func unanswered(err error) error {
	kind := "no answer"
	// The timeout of DoTimeout is no net.Error: it lacks the method Temporary.
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() || errors.Is(err, fasthttp.ErrTimeout) {
		kind = "timeout"
	}
	return &Failure{kind, err}
}

// refusal is the failure of an answer with a problem (RFC 9457), or without one.
func refusal(resp *fasthttp.Response) error {
	var problem struct {
		Code   string `json:"code"`
		Cause  string `json:"cause"` // of the orchestrator of Rivalis, instead of a code
		Detail string `json:"detail"`
	}
	_ = json.Unmarshal(resp.Body(), &problem) // the answer of a proxy is not a problem document
	status := resp.StatusCode()
	kind := fmt.Sprintf("%d %s", status, cmp.Or(problem.Code, problem.Cause, http.StatusText(status)))
	isRetryable := status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests
	if isRetryable && len(resp.Header.Peek(fasthttp.HeaderRetryAfter)) == 0 {
		kind += " without Retry-After" // clients would retry at once
	}
	if problem.Detail == "" {
		return &Failure{kind, nil}
	}
	return &Failure{kind, errors.New(problem.Detail)}
}

// member is a required string of an answer, at a path of gjson.
type member struct {
	path string
	into *string
}

// readStrings extracts strings of an answer, without parsing the rest of it: that would cost the load generator nearly as
// much as the call. An answer without one of them is a failure.
func readStrings(answer []byte, members ...member) error {
	for _, m := range members {
		found := gjson.GetBytes(answer, m.path)
		if found.Type != gjson.String {
			return &Failure{"200 unreadable", fmt.Errorf("the answer has no %s", m.path)}
		}
		*m.into = found.String()
	}
	return nil
}

// encode encodes a value whose encoding cannot fail.
func encode(v any) []byte {
	body, _ := json.Marshal(v) // structs of strings, numbers and lists of them
	return body
}
