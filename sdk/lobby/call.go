package lobby

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// pendingCall is a request without an answer.
type pendingCall struct {
	name   string // for errors
	answer chan reply
}

// reply is the body of an answer, or why there is none.
type reply struct {
	body json.RawMessage
	err  error
}

// Call makes a request, such as one that has no method here, and decodes its answer into answer, unless that is nil. It
// waits while the client is not connected. room may be empty, body is the "p" of the frame. Errors: [*Error],
// [ErrUncertain]; ctx ended; why the client has ended.
func (c *Client) Call(ctx context.Context, kind, room string, body, answer any) error {
	return c.call(ctx, kind, frame{Version: protocolVersion, Type: kind, Room: room}, body, answer)
}

// Repeat makes a request that may be carried out twice, such as room.leave, until it has an answer: again after a lost
// connection, and where the director is not available or the client sends too much. Errors: those of [Client.Call] but
// [ErrUncertain].
func (c *Client) Repeat(ctx context.Context, kind, room string, body, answer any) error {
	return c.repeat(ctx, func() error { return c.Call(ctx, kind, room, body, answer) })
}

func (c *Client) repeat(ctx context.Context, attempt func() error) error {
	pauses := &backoff.ExponentialBackOff{InitialInterval: c.options.FirstBackoff, MaxInterval: c.options.MaxBackoff,
		Multiplier: 2, RandomizationFactor: 0.5}
	for {
		err := attempt()
		if !isRepeatable(err) {
			return err
		}
		askedFor := time.Duration(0)
		if refused, is := errors.AsType[*Error](err); is {
			askedFor = min(refused.RetryAfter, time.Minute)
		}
		if !pause(ctx, askedFor+pauses.NextBackOff()) {
			return errors.Join(ctx.Err(), err)
		}
	}
}

func (c *Client) call(ctx context.Context, name string, f frame, body, answer any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("lobby: %s: %w", name, err)
	}
	f.Payload = raw
	for {
		if err := c.Await(ctx, func() bool { return c.Status().Connected }); err != nil {
			return err
		}
		waiting, link, rid := c.register(name)
		if link == nil {
			continue // the connection has ended in between, and nothing was sent
		}
		f.RID = rid
		link.request(f)
		select {
		case r := <-waiting.answer:
			return r.decode(name, answer)
		case <-ctx.Done():
			c.forget(rid)
			return ctx.Err()
		}
	}
}

// register makes a place for the answer of a request. It returns no connection if there is none.
func (c *Client) register(name string) (*pendingCall, *connection, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link == nil {
		return nil, nil, ""
	}
	c.lastCall++
	rid := strconv.Itoa(c.lastCall)
	waiting := &pendingCall{name, make(chan reply, 1)}
	c.pending[rid] = waiting
	return waiting, c.link, rid
}

func (c *Client) forget(rid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, rid)
}

func (c *Client) takeAnswer(f frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if waiting, known := c.pending[f.RID]; known {
		waiting.answer <- reply{body: f.Payload}
		delete(c.pending, f.RID)
	}
}

func (r reply) decode(name string, answer any) error {
	if r.err != nil {
		return r.err
	}
	var status struct {
		refusal

		OK bool `json:"ok"`
	}
	err := json.Unmarshal(r.body, &status)
	if err == nil && !status.OK {
		return status.asError(name)
	}
	if err == nil && answer != nil {
		err = json.Unmarshal(r.body, answer)
	}
	if err != nil {
		return fmt.Errorf("lobby: %s: unreadable answer: %w", name, err)
	}
	return nil
}
