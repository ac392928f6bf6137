package realtime

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"time"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/server/realtime/delivery"
	"github.com/lattice-director/director/server/realtime/wire"
)

const (
	maxGarbage = 20 // frames in a row that cannot be decoded, until the connection is closed
	// Between two error events for frames without a rid, and between two for messages that are never served here.
	errorEvery   = time.Second
	refusedEvery = time.Minute
)

// rpc begins the action of a frame. It is called in the order of frames, and must not block. finish waits for the
// action's end, in a goroutine of its own; it is nil if there is nothing to wait for. ctx ends when the action may take
// no longer.
type rpc func(ctx context.Context, c *conn, e wire.Envelope) (finish func() (sendable, error), err error)

// sendable is what a client gets for a frame that had an effect.
type sendable struct {
	P           map[string]any // of the rpc.response, beside ok
	Room        string         // of the rpc.response, also of a failure; "": as asked
	EventType   string         // the type of the event with the same P that a client gets that sent no rid; "": none
	AfterQueued func()         // what follows when the answer is queued; may be nil
}

// allRPCs returns the RPCs by message type.
func (s *Server) allRPCs() map[string]rpc {
	all := map[string]rpc{}
	for _, some := range []map[string]rpc{s.roomRPCs(), s.relayRPCs(), matchmakingRPCs(), blockRPCs(), messageRPCs()} {
		maps.Copy(all, some)
	}
	return all
}

// receiveFrame handles a frame. It blocks while too many actions are under way, or too many answers wait to be written.
func (c *conn) receiveFrame(frame []byte) {
	// Before the frame is decoded: while the client does not read, TCP stops it here, and no more than this
	// frame is held in memory.
	c.waitForSpace()
	e, err := c.codec.Decode(frame)
	if c.isSpam(e, err) {
		return
	}
	if err != nil {
		c.answerGarbage(err)
		return
	}
	c.garbageFrames = 0
	// No action: one comes for each patch, and there is nothing to wait for.
	if e.Type == "state.ack" {
		c.receiveAck(e)
		return
	}
	begin, known := c.server.rpcs[e.Type]
	if !known {
		c.answerFailure(e, wire.FailUnknownType)
		return
	}
	c.beginAction(e, begin)
}

// isSpam reports whether the client sends too much.
func (c *conn) isSpam(e wire.Envelope, err error) bool {
	if broken, is := errors.AsType[*wire.FrameError](err); is {
		// A frame that cannot be decoded has its answer, too, if its rid can be read.
		e.RID = broken.RID
	}
	switch c.frameRates.judgeFrame(time.Now(), err == nil && e.Type == "state.ack") {
	case frameAllowed:
		return false
	case frameFatal:
		c.Close(closeRateLimits, reasonRates)
	default:
		c.answerFailure(e, wire.FailRateLimited)
	}
	return true
}

func (c *conn) answerGarbage(err error) {
	var broken *wire.FrameError
	// A frame that was understood, but is too large or of another version, is an error of the program and no garbage.
	if !errors.As(err, &broken) || broken.Code == wire.CodeBadFrame {
		c.garbageFrames++
	}
	e := wire.Envelope{}
	if broken != nil {
		e.RID = broken.RID
	}
	c.answerFailure(e, err)
	if c.garbageFrames >= maxGarbage {
		c.Close(closeHandshake, reasonGarbage)
	}
}

// beginAction begins an action, and answers it when it ends.
func (c *conn) beginAction(e wire.Envelope, begin rpc) {
	c.takeSlot()
	// Not bound to the connection: an action that has begun is completed although the client has gone, as it would be
	// if its answer were lost on the way.
	ctx, cancel := context.WithTimeout(context.Background(), c.server.options.timing.callTimeout)
	var finish func() (sendable, error)
	// begin runs in the goroutine that reads, which keeps the order of frames; only the wait for its end has a
	// goroutine.
	err := c.server.guard.Do("realtime action", func() (err error) {
		finish, err = begin(ctx, c, e)
		return err
	})
	if err != nil || finish == nil {
		cancel()
		<-c.actionSlots
		c.answerFrame(e, sendable{}, err)
		return
	}
	c.running.Go(func() {
		defer func() { <-c.actionSlots }()
		defer cancel()
		var a sendable
		err := c.server.guard.Do("realtime action", func() (err error) {
			a, err = finish()
			return err
		})
		c.answerFrame(e, a, err)
	})
}

// takeSlot waits until fewer than maxActions are under way.
func (c *conn) takeSlot() {
	select {
	case c.actionSlots <- struct{}{}:
		return
	default:
	}
	// Not heard of while the reader waits here, the client must not be taken for silent.
	c.setPaused(true)
	c.actionSlots <- struct{}{}
	c.setPaused(false)
}

func (c *conn) setPaused(paused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isPaused = paused
}

// waitForSpace waits until the client has read enough of its answers: one that sends faster than it reads fills its own
// outbox otherwise. The time limit of writes bounds it.
func (c *conn) waitForSpace() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.outbox.halfFree() && !c.isClosing {
		c.isPaused = true
		c.spaceFreed.Wait()
	}
	c.isPaused = false
}

// answerFrame queues the one rpc.response of a frame with a rid.
func (c *conn) answerFrame(e wire.Envelope, a sendable, err error) {
	switch {
	case fault.Is(err, fault.Superseded):
		// Another connection has the session. The answer is queued before the close frame, which ends the outbox.
		c.answerFailure(e, wire.FailUnavailable)
		c.Close(delivery.CloseSuperseded, delivery.ReasonSuperseded)
		return
	case err != nil:
		e.Room = cmp.Or(a.Room, e.Room)
		c.answerFailure(e, err)
		return
	case e.RID != "":
		c.sendFrame(delivery.PushAnswer, wire.SuccessResponse(e.RID, cmp.Or(a.Room, e.Room), a.P))
	case a.EventType != "":
		c.sendFrame(delivery.PushAnswer, wire.Outgoing{Type: a.EventType, P: addField(a.P, "ok", true)})
	}
	if a.AfterQueued != nil {
		a.AfterQueued()
	}
}

// answerFailure answers a frame that had no effect: by its rid, or by an event, of which a connection gets one a
// second.
func (c *conn) answerFailure(e wire.Envelope, err error) {
	why, known := wire.FailureOf(err)
	if !known && !errors.Is(err, panics.ErrInternal) { // the guard has logged a panic
		c.server.options.Log.LogAttrs(context.Background(), slog.LevelError, "realtime action failed",
			slog.String("type", e.Type), slog.Any("error", err))
	}
	c.server.metrics.failures.WithLabelValues(why.Code).Inc()
	c.recordRefusal(e, why)
	if e.RID != "" {
		c.sendFrame(delivery.PushAnswer, wire.FailureResponse(e.RID, e.Room, why))
		return
	}
	if c.mayReport(why) {
		c.sendFrame(delivery.PushAnswer, wire.FailureEvent(e.Room, why))
	}
}

// recordRefusal tells why a message of a named player had no effect. Types that are not known would be as many as a
// client likes.
func (c *conn) recordRefusal(e wire.Envelope, why *wire.Failure) {
	// Nobody looks for a player without a name.
	if c.player == c.sessionEpoch.ID {
		return
	}
	call := "lobby"
	if _, known := c.server.rpcs[e.Type]; known {
		call += " " + e.Type
	}
	c.server.options.OnRefusal(fault.Refusal{Player: c.player, Call: call, Code: why.Code, Region: c.region,
		Detail: why.Text})
}

// mayReport reports whether an error event may be sent now. What is never served here is reported once a minute.
func (c *conn) mayReport(why *wire.Failure) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	last, every := &c.lastError, errorEvery
	if why.Code == wire.CodeRefused {
		last, every = &c.lastRefused, refusedEvery
	}
	if now.Sub(*last) < every {
		return false
	}
	*last = now
	return true
}

// runInOrder returns an RPC whose calls run one after the other within a connection, in the order of frames.
func runInOrder(call func(ctx context.Context, c *conn, e wire.Envelope) (sendable, error)) rpc {
	return func(ctx context.Context, c *conn, e wire.Envelope) (func() (sendable, error), error) {
		// A chain: each call waits for the one before, so no queue and no goroutine of a queue is needed. begin alone
		// touches lastSerial, and runs in the goroutine that reads.
		before, ended := c.lastSerial, make(chan struct{})
		c.lastSerial = ended
		return func() (sendable, error) {
			defer close(ended)
			if before != nil {
				select {
				case <-before:
				// It has had no effect. ended is closed all the same: the next call does not wait for one that gave up.
				case <-ctx.Done():
					return sendable{}, wire.FailUnavailable
				}
			}
			return call(ctx, c, e)
		}, nil
	}
}
