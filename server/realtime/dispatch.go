package realtime

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"time"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/panics"
)

const (
	maxGarbage = 20 // frames in a row that cannot be decoded, until the connection is closed
	// Between two error events for frames without a rid, and between two for messages that are never served here.
	errorEvery   = time.Second
	refusedEvery = time.Minute
)

// rpc begins the action of a frame. It is called in the order of frames, and must not block. finish waits for the action's end, in a goroutine of its
// own; it is nil if there is nothing to wait for. ctx ends when the action may take no longer.
type rpc func(ctx context.Context, c *conn, e envelope) (finish func() (answer, error), err error)

// answer is what a client gets for a frame that had an effect.
type answer struct {
	P     map[string]any // of the rpc.response, beside ok
	Room  string         // of the rpc.response; "": as asked
	Event string         // the type of the event with the same P that a client gets that sent no rid; "": none
	After func()         // what follows when the answer is queued; may be nil
}

// allRPCs returns the RPCs by message type.
func (s *Server) allRPCs() map[string]rpc {
	all := map[string]rpc{}
	for _, some := range []map[string]rpc{s.roomRPCs(), s.relayRPCs(), matchmakingRPCs()} {
		maps.Copy(all, some)
	}
	return all
}

// receive handles a frame. It blocks while too many actions are under way, or too many answers wait to be written.
func (c *conn) receive(frame []byte) {
	c.waitForSpace()
	e, err := c.codec.Decode(frame)
	if c.spam(e, err) {
		return
	}
	if err != nil {
		c.undecodable(err)
		return
	}
	c.garbage = 0
	if e.Type == "state.ack" {
		c.ack(e)
		return
	}
	begin, known := c.server.rpcs[e.Type]
	if !known {
		c.fail(e, failUnknownType)
		return
	}
	c.act(e, begin)
}

// spam reports whether the client sends too much.
func (c *conn) spam(e envelope, err error) bool {
	if broken, is := errors.AsType[*frameError](err); is {
		e.RID = broken.RID
	}
	switch c.rates.judge(time.Now(), err == nil && e.Type == "state.ack") {
	case frameAllowed:
		return false
	case frameFatal:
		c.close(closeRateLimits, reasonRates)
	default:
		c.fail(e, failRateLimited)
	}
	return true
}

func (c *conn) undecodable(err error) {
	var broken *frameError
	if !errors.As(err, &broken) || broken.Code == codeBadFrame {
		c.garbage++
	}
	e := envelope{}
	if broken != nil {
		e.RID = broken.RID
	}
	c.fail(e, err)
	if c.garbage >= maxGarbage {
		c.close(closeHandshake, reasonGarbage)
	}
}

// act begins an action, and answers it when it ends.
func (c *conn) act(e envelope, begin rpc) {
	c.takeSlot()
	ctx, cancel := context.WithTimeout(context.Background(), c.server.options.timing.call)
	var finish func() (answer, error)
	err := c.server.guard.Do("realtime action", func() (err error) {
		finish, err = begin(ctx, c, e)
		return err
	})
	if err != nil || finish == nil {
		cancel()
		<-c.slots
		c.answer(e, answer{}, err)
		return
	}
	c.running.Go(func() {
		defer func() { <-c.slots }()
		defer cancel()
		var a answer
		err := c.server.guard.Do("realtime action", func() (err error) {
			a, err = finish()
			return err
		})
		c.answer(e, a, err)
	})
}

// takeSlot waits until fewer than maxActions are under way.
func (c *conn) takeSlot() {
	select {
	case c.slots <- struct{}{}:
		return
	default:
	}
	c.pause(true)
	c.slots <- struct{}{}
	c.pause(false)
}

func (c *conn) pause(paused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = paused
}

// waitForSpace waits until the client has read enough of its answers: one that sends faster than it reads fills its own outbox otherwise. The time limit of
// writes bounds it.
func (c *conn) waitForSpace() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.out.halfFree() && !c.closing {
		c.paused = true
		c.space.Wait()
	}
	c.paused = false
}

// answer queues the one rpc.response of a frame with a rid.
func (c *conn) answer(e envelope, a answer, err error) {
	switch {
	case fault.Is(err, fault.Superseded):
		c.fail(e, failUnavailable)
		c.close(closeSuperseded, reasonSuperseded)
		return
	case err != nil:
		c.fail(e, err)
		return
	case e.RID != "":
		room := a.Room
		if room == "" {
			room = e.Room
		}
		c.send(pushAnswer, answered(e.RID, room, a.P))
	case a.Event != "":
		c.send(pushAnswer, outgoing{Type: a.Event, P: a.P})
	}
	if a.After != nil {
		a.After()
	}
}

// fail answers a frame that had no effect: by its rid, or by an event, of which a connection gets one a second.
func (c *conn) fail(e envelope, err error) {
	why, known := failureOf(err)
	if !known && !errors.Is(err, panics.ErrInternal) { // the guard has logged a panic
		c.server.options.Log.LogAttrs(context.Background(), slog.LevelError, "realtime action failed", slog.String("type", e.Type), slog.Any("error", err))
	}
	c.server.metrics.failures.WithLabelValues(why.Code).Inc()
	c.record(e, why)
	if e.RID != "" {
		c.send(pushAnswer, failed(e.RID, e.Room, why))
		return
	}
	if c.mayReport(why) {
		c.send(pushAnswer, failedEvent(e.Room, why))
	}
}

// record tells why a message of a named player had no effect. Types that are not known would be as many as a client likes.
func (c *conn) record(e envelope, why *failure) {
	if c.player == c.session.ID {
		return
	}
	call := "lobby"
	if _, known := c.server.rpcs[e.Type]; known {
		call += " " + e.Type
	}
	c.server.options.Refused(fault.Refusal{Player: c.player, Call: call, Code: why.Code, Region: c.region, Detail: why.Text})
}

// mayReport reports whether an error event may be sent now. What is never served here is reported once a minute.
func (c *conn) mayReport(why *failure) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	last, every := &c.lastError, errorEvery
	if why.Code == codeRefused {
		last, every = &c.lastRefused, refusedEvery
	}
	if now.Sub(*last) < every {
		return false
	}
	*last = now
	return true
}

// serial returns an RPC whose calls run one after the other within a connection, in the order of frames.
func serial(call func(ctx context.Context, c *conn, e envelope) (answer, error)) rpc {
	return func(ctx context.Context, c *conn, e envelope) (func() (answer, error), error) {
		before, ended := c.last, make(chan struct{})
		c.last = ended
		return func() (answer, error) {
			defer close(ended)
			if before != nil {
				select {
				case <-before:
				case <-ctx.Done():
					return answer{}, failUnavailable
				}
			}
			return call(ctx, c, e)
		}, nil
	}
}
