package sdk_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/variant"
	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/sdk/sdktest"
)

var (
	errCut     = errors.New("connection cut")
	errNoFault = errors.New("deliver it as usual")
)

// exchange is one request that was sent.
type exchange struct {
	host, method, path string
	header             http.Header
	body               string
	at                 time.Time
	done               <-chan struct{} // closed when the sender stops waiting
}

// fault replaces the answer to a request, or returns errNoFault. forward delivers the request and returns the real
// answer.
type fault func(x exchange, forward func() *http.Response) (*http.Response, error)

// wire is the network between the SDK and a director in memory. It records every request, checks each against the
// contract, and injects faults. All host names lead to the same director.
type wire struct {
	t        *testing.T
	director *sdktest.Director

	mu    sync.Mutex
	sent  []exchange
	fault fault
}

func newWire(t *testing.T, opts sdktest.Options) *wire {
	d := must.Get(sdktest.New(opts))(t)
	return &wire{t: t, director: d}
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	var body string
	if req.Body != nil {
		text, _ := io.ReadAll(req.Body)
		body = string(text)
	}
	x := exchange{req.URL.Host, req.Method, req.URL.Path, req.Header.Clone(), body, time.Now(), req.Context().Done()}
	w.mu.Lock()
	w.sent = append(w.sent, x)
	fault := w.fault
	w.mu.Unlock()
	forward := func() *http.Response { return w.forward(req, body) }
	if fault != nil {
		if resp, err := fault(x, forward); !errors.Is(err, errNoFault) {
			return resp, err
		}
	}
	return forward(), req.Context().Err()
}

// respond makes an answer with a body.
func respond(status int, media, body string) (*http.Response, error) {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {media}},
		Body: io.NopCloser(strings.NewReader(body))}, nil
}

func (w *wire) forward(req *http.Request, body string) *http.Response {
	served := req.Clone(context.WithoutCancel(req.Context()))
	if strings.HasPrefix(req.URL.Path, "/tickets/") || req.URL.Path == "/fleet/sessions" {
		served = req.Clone(req.Context()) // the director may wait for a change until its caller leaves
	}
	served.Body = io.NopCloser(strings.NewReader(body))
	resp, err := w.director.Transport().RoundTrip(served)
	if err != nil && served.Context().Err() != nil {
		return nil
	}
	require.NoError(w.t, err)
	answer := must.Get(io.ReadAll(resp.Body))(w.t)
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	checkContract(w.t, req, body, resp, answer)
	return resp
}

// inject makes every later request pass through f; nil removes the fault.
func (w *wire) inject(f fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = f
}

// count returns the number of requests to paths with that suffix.
func (w *wire) count(path string) int { return len(w.to(path)) }

// to returns the requests to paths with that suffix, in order; "" returns all.
func (w *wire) to(suffix string) (found []exchange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.sent {
		if strings.HasSuffix(x.path, suffix) {
			found = append(found, x)
		}
	}
	return found
}

func (w *wire) client(urls ...string) *sdk.Client {
	if len(urls) == 0 {
		urls = []string{"http://director.example"}
	}
	return must.Get(sdk.New(sdk.Options{URLs: urls, HTTPClient: &http.Client{Transport: w}}))(w.t)
}

func (w *wire) player(sub string) *sdk.Player {
	return sdk.NewPlayer(w.client(), func(context.Context) (string, error) { return sub, nil })
}

const endpoint = "ws://game.example:7777/play"

// serve starts a game server with capacity 32 for mode "duel" in region "eu".
func (w *wire) serve(edit ...func(*sdk.ServerOptions)) *sdk.GameServer {
	opts := variant.Apply(sdk.ServerOptions{InstanceID: "arena-1", Endpoint: endpoint, Region: "eu",
		Modes: []string{"duel"}, Capacity: 32}, edit...)
	s := must.Get(sdk.Start(w.t.Context(), w.client(), opts))(w.t)
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.Close(ctx)
	})
	return s
}

// token takes a seat for sub and returns its session token.
func (w *wire) token(sub string) sdk.Seat {
	return must.Get(w.player(sub).Seat(w.t.Context(), duel))(w.t)
}

var duel = sdk.MatchRequest{Region: "eu", Mode: "duel"}

// on applies a fault to one path only.
func on(path string, f fault) fault {
	return func(x exchange, forward func() *http.Response) (*http.Response, error) {
		if x.path != path {
			return nil, errNoFault
		}
		return f(x, forward)
	}
}

// once applies a fault to the first request only.
func once(f fault) fault {
	var later atomic.Bool
	return func(x exchange, forward func() *http.Response) (*http.Response, error) {
		if later.Swap(true) {
			return nil, errNoFault
		}
		return f(x, forward)
	}
}

// cut fails before the director has received the request.
func cut(exchange, func() *http.Response) (*http.Response, error) { return nil, errCut }

// lost fails after the director has applied the request.
func lost(_ exchange, forward func() *http.Response) (*http.Response, error) {
	forward()
	return nil, errCut
}

func answer(status int, code string, header ...string) fault {
	return func(exchange, func() *http.Response) (*http.Response, error) {
		res, err := respond(status, "application/problem+json", `{"code":"`+code+`","detail":"on purpose"}`)
		for i := 0; i+1 < len(header); i += 2 {
			res.Header.Set(header[i], header[i+1])
		}
		return res, err
	}
}

// advance lets virtual time pass.
func advance(d time.Duration) { <-time.After(d) }
