package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"
)

// callTimeout is far longer than a director takes to answer or refuse a call.
const callTimeout = 10 * time.Second

// maxAnswerBytes bounds the answers that are read. The longest is the list of all Rivalis game servers; others have a
// few hundred bytes.
const maxAnswerBytes = 256 << 20

// Client makes calls until its ctx ends, which fails all calls in progress and all later ones. Connections are kept
// open, one for each concurrent caller, so that handshakes are not measured. The client is fasthttp's because the load
// generator shares a machine with the director: a call costs it less than half of the CPU that it costs net/http.
type Client struct {
	ctx        context.Context
	http       *fasthttp.Client
	fleetToken string
}

// NewClient returns a client with this number of open connections. The caller closes it.
func NewClient(ctx context.Context, fleetToken string, connections int) *Client {
	return &Client{ctx, &fasthttp.Client{
		Dial:                      func(addr string) (net.Conn, error) { return dial(ctx, addr) },
		MaxConnsPerHost:           connections,
		MaxIdleConnDuration:       time.Minute,
		MaxIdemponentCallAttempts: 1, // failures are counted, not retried
		MaxResponseBodySize:       maxAnswerBytes,
		NoDefaultUserAgentHeader:  true,
	}, fleetToken}
}

// Close closes the connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// dial opens a connection that is closed when ctx ends.
func dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: callTimeout}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return boundConn{conn, context.AfterFunc(ctx, func() { _ = conn.Close() })}, nil
}

type boundConn struct {
	net.Conn

	unbind func() bool
}

// Close implements net.Conn.
func (c boundConn) Close() error {
	c.unbind()
	return c.Conn.Close()
}

// failure is a call without a successful answer. Its code is that of the problem (RFC 9457), or one of this package.
type failure struct {
	status int // 0 when there was no answer
	code   string
	detail string // for people
}

// Error implements error.
func (f *failure) Error() string {
	if f.detail == "" {
		return f.Kind()
	}
	return f.Kind() + ": " + f.detail
}

// Kind is what failures are counted under.
func (f *failure) Kind() string {
	if f.status == 0 {
		return f.code
	}
	return fmt.Sprintf("%d %s", f.status, f.code)
}

// reader reads an answer, whose memory is reused after the reader returns.
type reader func(answer) error

func (r reader) bytes(body []byte) error { return r(body) }

// ignoreAnswer is the reader of calls whose status is all that matters.
func ignoreAnswer(answer) error { return nil }

// asOperator calls with the token of an operator.
func (c *Client) asOperator(method, url, token string, body []byte) error {
	return c.Do(Request{Method: method, URL: url, Header: fasthttp.HeaderAuthorization, Value: "Bearer " + token,
		Body: body})
}

// asFleet calls with the fleet token.
func (c *Client) asFleet(url string, body []byte, take reader) error {
	if c.fleetToken == "" {
		return c.post(url, "", "", body, take)
	}
	return c.post(url, "X-Fleet-Token", c.fleetToken, body, take)
}

// asPlayer calls with a player's access token.
func (c *Client) asPlayer(url, token string, body []byte, take reader) error {
	return c.post(url, fasthttp.HeaderAuthorization, "Bearer "+token, body, take)
}

func (c *Client) post(url, header, value string, body []byte, take reader) error {
	return c.Do(Request{Method: http.MethodPost, URL: url, Header: header, Value: value, Body: body, Take: take.bytes})
}

// poll makes a player's long poll. Its timeout is callTimeout plus the time that the director may wait.
func (c *Client) poll(url, token string, wait time.Duration, take reader) error {
	return c.Do(Request{Method: http.MethodGet, URL: url, Header: fasthttp.HeaderAuthorization,
		Value: "Bearer " + token, Wait: wait, Take: take.bytes})
}

// Request is a call. Its zero header and body send none.
type Request struct {
	Method, URL   string
	Header, Value string
	IfNoneMatch   string // an ETag
	Body          []byte
	Wait          time.Duration // how long the director may wait before it answers
	Status        int           // of a good answer; 0: any below 300
	// reads the body, whose memory is reused when it returns; nil: the body is ignored
	Take func(answer []byte) error
	ETag *string // gets that of the answer
}

// Do makes a call. Errors have a method Kind: the status with the problem's code or cause, "timeout" or "no answer".
func (c *Client) Do(r Request) error {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	r.write(req)
	if err := c.http.DoTimeout(req, resp, r.Wait+callTimeout); err != nil {
		return unanswered(err)
	}
	if status := resp.StatusCode(); r.Status != 0 && status != r.Status ||
		r.Status == 0 && status >= http.StatusMultipleChoices {
		return refusal(resp)
	}
	if r.ETag != nil {
		*r.ETag = string(resp.Header.Peek(fasthttp.HeaderETag))
	}
	if r.Take == nil {
		return nil
	}
	return r.Take(resp.Body())
}

func (r *Request) write(req *fasthttp.Request) {
	req.SetRequestURI(r.URL)
	req.Header.SetMethod(r.Method)
	req.Header.SetNoDefaultContentType(true) // a director refuses a type that is not JSON, even without a body
	if r.Header != "" {
		req.Header.Set(r.Header, r.Value)
	}
	if r.IfNoneMatch != "" {
		req.Header.Set(fasthttp.HeaderIfNoneMatch, r.IfNoneMatch)
	}
	if r.Body != nil {
		req.Header.SetContentType("application/json")
		req.SetBodyRaw(r.Body)
	}
}

func unanswered(err error) error {
	code := "no answer"
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() || errors.Is(err, fasthttp.ErrTimeout) {
		code = "timeout"
	}
	return &failure{code: code, detail: err.Error()}
}

func refusal(resp *fasthttp.Response) error {
	var said problem
	_ = json.Unmarshal(resp.Body(), &said) // the answer of a proxy is not a problem document
	status := resp.StatusCode()
	said.Code = cmp.Or(said.Code, said.Cause)
	if said.Code == "" {
		said.Code = http.StatusText(status)
	}
	retryable := status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests
	if retryable && len(resp.Header.Peek(fasthttp.HeaderRetryAfter)) == 0 {
		said.Code += " without Retry-After" // clients would retry at once
	}
	return &failure{status, said.Code, said.Detail}
}

// encode encodes a value whose encoding cannot fail.
func encode(v any) []byte {
	text, _ := json.Marshal(v) // structs of strings, numbers and lists of them
	return text
}
