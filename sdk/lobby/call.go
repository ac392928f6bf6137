package lobby

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Call makes a request, such as one that has no method here, and decodes its answer into answer, unless that is nil. It
// waits while the client is not connected. room may be empty, body is the "p" of the frame. Errors: [*Error],
// [ErrUncertain]; ctx ended; why the client has ended.
func (c *Client) Call(ctx context.Context, kind, room string, body, answer any) error {
	return c.callServer(ctx, kind, frame{Version: protocolVersion, Type: kind, Room: room}, body, answer)
}

// Repeat makes a request that may be carried out twice, such as room.leave, until it has an answer. It repeats the
// request after a lost connection, and where the director is not available or the client sends too much. Errors: those
// of [Client.Call] but [ErrUncertain].
func (c *Client) Repeat(ctx context.Context, kind, room string, body, answer any) error {
	return c.repeatWhileDown(ctx, func() error { return c.Call(ctx, kind, room, body, answer) })
}

func (c *Client) repeatWhileDown(ctx context.Context, attempt func() error) error {
	backOff := newPauses(c.options).backOff
	for {
		err := attempt()
		if !isRepeatable(err) {
			return err
		}
		askedFor := time.Duration(0)
		if refused, is := errors.AsType[*Error](err); is {
			askedFor = min(refused.RetryAfter, time.Minute)
		}
		if !pauseFor(ctx, askedFor+backOff.NextBackOff()) {
			return errors.Join(ctx.Err(), err)
		}
	}
}

// callServer makes the request f, which errors call name.
func (c *Client) callServer(ctx context.Context, name string, f frame, body, answer any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("lobby: %s: %w", name, err)
	}
	f.Payload = raw
	for {
		if err := c.Await(ctx, func() bool { return c.Status().Connected }); err != nil {
			return err
		}
		waiting, conn, rid := c.registerCall(name)
		if conn == nil {
			continue // the connection has ended in between, and nothing was sent
		}
		f.RID = rid
		conn.sendRequest(f)
		select {
		case r := <-waiting.answerQueue:
			return r.decodeAnswer(name, answer)
		case <-ctx.Done():
			c.forgetCall(rid)
			return ctx.Err()
		}
	}
}

// registerCall makes a place for the answer of a request. It returns no connection if there is none.
func (c *Client) registerCall(name string) (*pendingCall, *connection, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.currentConnection == nil {
		return nil, nil, ""
	}
	c.lastCall++
	rid := strconv.Itoa(c.lastCall)
	waiting := &pendingCall{name, make(chan reply, 1)}
	c.pendingByID[rid] = waiting
	return waiting, c.currentConnection, rid
}

func (c *Client) forgetCall(rid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pendingByID, rid)
}

func (c *Client) takeAnswer(f frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if waiting, known := c.pendingByID[f.RID]; known {
		waiting.answerQueue <- reply{rawBody: f.Payload}
		delete(c.pendingByID, f.RID)
	}
}

func (r reply) decodeAnswer(name string, answer any) error {
	if r.err != nil {
		return r.err
	}
	var status struct {
		refusal

		OK bool `json:"ok"`
	}
	if err := json.Unmarshal(r.rawBody, &status); err != nil {
		return unreadableError(name, err)
	}
	if !status.OK {
		return status.asError(name)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(r.rawBody, answer); err != nil {
		return unreadableError(name, err)
	}
	return nil
}

func unreadableError(name string, err error) error {
	return fmt.Errorf("lobby: %s: unreadable answer: %w", name, err)
}
