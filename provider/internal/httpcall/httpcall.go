// Package httpcall makes the HTTP calls of providers: answers are bounded, and errors tell whether the request may have
// been executed.
package httpcall

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// MaxAnswer bounds an answer, in bytes. A page of 50 deployments with 64 ports each has less than a MiB.
const MaxAnswer = 4 << 20

// Request is a request to an API that speaks JSON.
type Request struct {
	Method, URL string
	Header      http.Header // nil for none
	Body        any         // encoded as JSON; nil for none
	// ReadBody reads the body of an answer 200, and bounds what it keeps; nil: the whole, of at most MaxAnswer bytes.
	ReadBody func(io.Reader) ([]byte, error)
}

// Answer is an answer with its whole body.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Exchange makes a request and reads its answer. sent is whether the server may have executed the request: it is false
// only if no connection was made. An answer of more than MaxAnswer bytes is an error.
func Exchange(ctx context.Context, client *http.Client, r Request) (a Answer, sent bool, err error) {
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx,
		&httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	a, err = exchangeOnce(ctx, client, r)
	return a, connected.Load(), err
}

func exchangeOnce(ctx context.Context, client *http.Client, r Request) (Answer, error) {
	var body io.Reader = http.NoBody
	if r.Body != nil {
		text, err := json.Marshal(r.Body)
		if err != nil {
			return Answer{}, err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, body)
	if err != nil {
		return Answer{}, err
	}
	if r.Header != nil {
		req.Header = r.Header.Clone()
	}
	req.Header.Set("Accept", "application/json")
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	read := readWhole
	if r.ReadBody != nil && resp.StatusCode == http.StatusOK {
		read = r.ReadBody
	}
	text, err := read(resp.Body)
	return Answer{resp.StatusCode, resp.Header, text}, err
}

func readWhole(body io.Reader) ([]byte, error) {
	// A byte more than is allowed, so that a larger answer is noticed and not cut.
	text, err := io.ReadAll(io.LimitReader(body, MaxAnswer+1))
	if err == nil && len(text) > MaxAnswer {
		err = fmt.Errorf("the answer has more than %d bytes", MaxAnswer)
	}
	return text, err
}

// Client returns a client with the transport that follows no redirect: one would carry a credential to another host, or
// make a POST a GET.
func Client(transport http.RoundTripper) *http.Client {
	return &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Transport returns a copy of the default transport with bounded connections.
func Transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxConnsPerHost, t.MaxIdleConnsPerHost = 32, 32
	return t
}
