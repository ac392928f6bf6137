package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	callTimeout    = 15 * time.Second // longer than an orchestrator waits for an agent
	maxAnswerBytes = 256 << 20        // the list of the largest fleet
)

// client calls the REST API of orchestrators. It is fasthttp's for the reason that package bench's is.
type client struct {
	http *fasthttp.Client
	urls []string
	key  string
}

func newClient(urls []string, key string, callers int) *client {
	return &client{&fasthttp.Client{
		MaxConnsPerHost: callers + 1, MaxIdleConnDuration: time.Minute, MaxIdemponentCallAttempts: 1, MaxResponseBodySize: maxAnswerBytes, NoDefaultUserAgentHeader: true,
	}, urls, "Bearer " + key}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// failure is a call without the expected answer.
type failure struct {
	status int // 0: there was no answer
	cause  string
}

// Error implements error.
func (f *failure) Error() string { return f.Kind() }

// Kind is what failures are counted under.
func (f *failure) Kind() string {
	if f.status == 0 {
		return f.cause
	}
	return fmt.Sprintf("%d %s", f.status, f.cause)
}

// request is a call of the REST API.
type request struct {
	replica      int // index of its URL
	method, path string
	body         string
	etag         string // If-None-Match
	want         int    // status
}

// answer is what of an answer outlives the call.
type answer struct {
	etag string
	body []byte // nil unless asked for
}

// do makes a call. keep says whether the body is returned.
func (c *client) do(ctx context.Context, r request, keep bool) (a answer, err error) {
	req, res := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(res)
	req.SetRequestURI(c.urls[r.replica%len(c.urls)] + r.path)
	req.Header.SetMethod(r.method)
	req.Header.Set("Authorization", c.key)
	if r.etag != "" {
		req.Header.Set("If-None-Match", r.etag)
	}
	if r.body != "" {
		req.Header.SetContentType("application/json")
		req.SetBodyString(r.body)
	}
	deadline := time.Now().Add(callTimeout)
	if until, ok := ctx.Deadline(); ok && until.Before(deadline) {
		deadline = until
	}
	if err := c.http.DoDeadline(req, res, deadline); err != nil {
		if ctx.Err() != nil {
			return a, ctx.Err()
		}
		return a, &failure{cause: "no answer"}
	}
	if res.StatusCode() != r.want {
		return a, refused(res)
	}
	a.etag = string(res.Header.Peek("ETag"))
	if keep {
		a.body = append([]byte(nil), res.Body()...)
	}
	return a, nil
}

func refused(res *fasthttp.Response) error {
	var body struct {
		Cause string `json:"cause"`
	}
	_ = json.Unmarshal(res.Body(), &body)
	if body.Cause == "" {
		body.Cause = http.StatusText(res.StatusCode())
	}
	return &failure{res.StatusCode(), body.Cause}
}

// dataOf reads what an answer has under "data".
func dataOf[T any](a answer) (data T, err error) {
	var body struct {
		Data T `json:"data"`
	}
	err = json.Unmarshal(a.body, &body)
	return body.Data, err
}
