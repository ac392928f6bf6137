package realtime

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/server/realtime/delivery"
	"github.com/lattice-director/director/server/realtime/wire"
)

const (
	errorEvery   = time.Second // between two error events for frames without a rid
	refusedEvery = time.Minute // between two of them for messages that are never served here
)

// answerFrame answers a frame: one with a rid by an rpc.response, any other by an event if it asked for data or failed.
func (c *conn) answerFrame(e wire.Envelope, a rpcAnswer, err error) {
	if fault.Is(err, fault.Superseded) {
		// Another connection has the session. The answer is queued before the close frame, which ends the outbox.
		c.answerFailure(e, wire.FailUnavailable)
		c.Close(delivery.CloseSuperseded, delivery.ReasonSuperseded)
		return
	}
	if err != nil {
		// The room that the action found, such as by a code: the frame names none then.
		e.Room = cmp.Or(a.Room, e.Room)
		c.answerFailure(e, err)
		return
	}
	switch {
	// By rid a client finds the request; without one it wants no answer, unless it asked for data.
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
	// A client that waits for an answer always gets one, however often it fails.
	if e.RID != "" {
		c.sendFrame(delivery.PushAnswer, wire.FailureResponse(e.RID, e.Room, why))
		return
	}
	if c.takeErrorEvent(why, time.Now()) {
		c.sendFrame(delivery.PushAnswer, wire.FailureEvent(e.Room, why))
	}
}

// recordRefusal records for operators why a message of a named player had no effect. A type that is not known is left
// out: clients may make up any number.
func (c *conn) recordRefusal(e wire.Envelope, why *wire.Failure) {
	// A player without a name is another one the next time: nobody could look it up.
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

// takeErrorEvent reports whether an error event may be sent now, and counts it. What is never served here is reported
// once a minute.
func (c *conn) takeErrorEvent(why *wire.Failure, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Clients of Nexis go on sending positions whether they are served or not: once a minute says enough.
	last, every := &c.lastErrorAt, errorEvery
	if why.Code == wire.CodeRefused {
		last, every = &c.lastRefusedAt, refusedEvery
	}
	if now.Sub(*last) < every {
		return false
	}
	*last = now
	return true
}
