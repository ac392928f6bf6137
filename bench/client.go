package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"
)

// callTimeout is far beyond what a director takes to say no.
const callTimeout = 10 * time.Second

// longest answer that is read; a director's are a few hundred bytes.
const longest = 1 << 20

// client posts JSON until its ctx ends: then every call under way fails at once, and so does every new one. Connections
// are kept, one for each who calls at a time: what is measured is answers, not handshakes. It is fasthttp's since the load
// shares a machine with what it measures: a call costs it less than half of what it costs with net/http.
type client struct {
	ctx        context.Context
	http       *fasthttp.Client
	fleetToken string
}

func newClient(ctx context.Context, fleetToken string, connections int) *client {
	return &client{ctx, &fasthttp.Client{
		Dial:                      func(addr string) (net.Conn, error) { return dial(ctx, addr) },
		MaxConnsPerHost:           connections,
		MaxIdleConnDuration:       time.Minute,
		MaxIdemponentCallAttempts: 1, // what fails is a figure, not to be tried again
		MaxResponseBodySize:       longest,
		NoDefaultUserAgentHeader:  true,
	}, fleetToken}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// dial opens a connection that is closed when ctx ends, whoever reads from it then.
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

// failure is an answer that is not the one hoped for. Its code is the problem's (RFC 9457), or a word of ours.
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

// Kind is what failures are counted by.
func (f *failure) Kind() string {
	if f.status == 0 {
		return f.code
	}
	return fmt.Sprintf("%d %s", f.status, f.code)
}

// taker reads an answer, which is not there any more after it returns.
type taker func(answer) error

// nothing is for answers that say all by their status.
func nothing(answer) error { return nil }

// asFleet calls as a game server.
func (c *client) asFleet(url string, body []byte, take taker) error {
	if c.fleetToken == "" {
		return c.post(url, "", "", body, take)
	}
	return c.post(url, "X-Fleet-Token", c.fleetToken, body, take)
}

// asPlayer calls with a player's access token.
func (c *client) asPlayer(url, token string, body []byte, take taker) error {
	return c.post(url, fasthttp.HeaderAuthorization, "Bearer "+token, body, take)
}

func (c *client) post(url, header, value string, body []byte, take taker) error {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI(url)
	req.Header.SetMethod(http.MethodPost)
	req.Header.SetContentType("application/json")
	if header != "" {
		req.Header.Set(header, value)
	}
	req.SetBodyRaw(body)
	if err := c.http.DoTimeout(req, resp, callTimeout); err != nil {
		return unanswered(err)
	}
	if resp.StatusCode() >= http.StatusMultipleChoices {
		return refusal(resp)
	}
	return take(answer(resp.Body()))
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
	_ = json.Unmarshal(resp.Body(), &said) // a proxy's answer is none
	status := resp.StatusCode()
	if said.Code == "" {
		said.Code = http.StatusText(status)
	}
	again := status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests
	if again && len(resp.Header.Peek(fasthttp.HeaderRetryAfter)) == 0 {
		said.Code += " without Retry-After" // callers then come back at once
	}
	return &failure{status, said.Code, said.Detail}
}

// encode writes what always can be.
func encode(v any) []byte {
	text, _ := json.Marshal(v) // structs of strings, numbers and lists of them
	return text
}
