package agents

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/coder/websocket"
)

// The errors that end Run.
var (
	ErrGarbled      = errors.New("frame that the protocol does not allow")
	ErrIncompatible = errors.New("orchestrator of another major version")
)

const (
	subprotocol      = "rivalis-fleet.v1"
	handshakeTimeout = 30 * time.Second
	writeTimeout     = 30 * time.Second
	maxMessageBytes  = 100 << 20 // as Node's ws
)

// Run connects, and connects again after every end of a connection, a refused key included. It returns ctx's error,
// ErrIncompatible if the orchestrator speaks another major version, or ErrGarbled. When ctx ends, the connection is
// cut, as if the process were killed.
func (a *Agent) Run(ctx context.Context) error {
	attempt := 0 // since the last hello
	for {
		greeted, err := a.connectOnce(ctx)
		// The polls that would confirm a status do not come any more.
		a.endWaits(ErrDisconnected, func(statusWait) bool { return true })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, ErrGarbled) || errors.Is(err, ErrIncompatible) {
			return err
		}
		if a.cfg.Closed != nil {
			a.cfg.Closed(err)
		}
		if greeted {
			attempt = 0
		}
		if err := waitFor(ctx, backoffPause(attempt, a.randomShare())); err != nil {
			return err
		}
		attempt++
	}
}

func (a *Agent) randomShare() float64 {
	if a.cfg.Random != nil {
		return a.cfg.Random()
	}
	return rand.Float64()
}

// backoffPause returns how long the agent waits before it connects again: a random share of a time that doubles with
// each attempt, from half a second at attempt 0 to half a minute.
func backoffPause(attempt int, random float64) time.Duration {
	const first, longest = 500 * time.Millisecond, 30 * time.Second
	atMost := longest
	// From the sixth doubling on the time is the longest, and a large shift would overflow.
	if attempt < 6 {
		atMost = min(longest, first<<attempt)
	}
	return time.Duration(random * float64(atMost)).Truncate(time.Millisecond)
}

// waitFor waits for a duration. It returns ctx's error if ctx ends before.
func waitFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// connectOnce makes one connection and serves it until it ends. It returns whether the orchestrator has sent hello, and
// why the connection ended.
func (a *Agent) connectOnce(ctx context.Context) (greeted bool, err error) {
	ws, err := a.dialServer(ctx)
	if err != nil {
		return false, err
	}
	defer func() { _ = ws.CloseNow() }()
	c := &conversation{agent: a, ws: ws}
	err = c.run(ctx)
	a.setInstanceID("")
	return c.wasGreeted, err
}

func (a *Agent) dialServer(ctx context.Context) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	options := &websocket.DialOptions{
		HTTPClient:      a.cfg.HTTPClient,
		Subprotocols:    []string{a.cfg.Key, subprotocol},
		CompressionMode: websocket.CompressionContextTakeover, // Node's ws offers it
	}
	ws, _, err := websocket.Dial(ctx, a.cfg.URL, options) //nolint:bodyclose // Dial: the body never needs to be closed
	if err != nil {
		return nil, err
	}
	if ws.Subprotocol() == "" {
		_ = ws.CloseNow()
		return nil, errors.New("the orchestrator selected no subprotocol, which Node's ws refuses")
	}
	ws.SetReadLimit(maxMessageBytes)
	return ws, nil
}
