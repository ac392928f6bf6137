package bevygap

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/matching/waitingroom"
	"github.com/lattice-director/director/server/rest"
)

// outlet sends frames to a client. It is for one goroutine.
type outlet interface {
	// sendFrame sends a frame that is not the last. Errors: the client is gone.
	sendFrame(frame []byte) error
	// sendLast sends the last frame. Errors: the client is gone.
	sendLast(e ending) error
}

// ending is how a request ends: with one of both, or with none if the client has left.
type ending struct {
	connection *Connection
	failure    *failure
}

// clientLeft ends a request whose client reads no last frame.
var clientLeft = ending{}

// lastFrame returns the last frame.
func (e ending) lastFrame() []byte {
	if e.connection != nil {
		return encodeReady(*e.connection)
	}
	return encodeFailure(*e.failure)
}

func (e ending) outcomeLabel() string {
	switch {
	case e.connection != nil:
		return "ready"
	case e.failure != nil:
		return strconv.Itoa(int(e.failure.code))
	default:
		return "left"
	}
}

// conversation is one request from its acknowledgement to its last frame.
type conversation struct {
	face *Face

	request request
	choice  choice
	caller  caller
	outlet  outlet

	begunAt    time.Time
	player     *waitingroom.Player // nil: the request is not in the waiting room
	isAccepted bool                // the client was sent the id of its request
	lastReport string              // the text of the last report
	reportedAt time.Time           // of the last report
}

// serveConversation serves a request until it ends. ctx ends when the client leaves.
func (f *Face) serveConversation(ctx context.Context, c *conversation) {
	c.face, c.begunAt, c.reportedAt = f, time.Now(), time.Now()
	defer c.leaveRoom(ctx)
	e := c.sendEnding(c.decideEnding(ctx))
	if e.connection != nil {
		// Until the last frame was sent, the seat is given back if something fails.
		c.player.LeaveWithSeat()
		c.player = nil
		f.metrics.readySeconds.Observe(time.Since(c.begunAt).Seconds())
	}
	f.countEnding(ctx, e)
}

// sendEnding sends the last frame, and returns how the request has ended: a client that has left before it read the
// frame gets no server.
func (c *conversation) sendEnding(e ending) ending {
	if e == clientLeft {
		return clientLeft
	}
	if err := c.outlet.sendLast(e); err != nil {
		return clientLeft
	}
	return e
}

// leaveRoom gives back what the player of a request holds that has ended without a server.
func (c *conversation) leaveRoom(ctx context.Context) {
	if c.player == nil {
		return
	}
	if err := c.player.Leave(ctx); err != nil {
		c.face.options.Log.LogAttrs(ctx, slog.LevelWarn, "a seat was not given back: it expires",
			slog.Any("error", err))
	}
	c.player = nil
}

func (f *Face) countEnding(ctx context.Context, e ending) {
	f.metrics.requests.WithLabelValues(e.outcomeLabel()).Inc()
	rest.AddLogAttrs(ctx, slog.String("outcome", e.outcomeLabel()))
}

// limitWait returns a context that also ends when the request has waited for long enough, and when the replica stops.
func (f *Face) limitWait(ctx context.Context) (limited context.Context, stop func()) {
	// Each cause has a context, since the last frame names the cause.
	ctx, cancelTimeout := context.WithTimeoutCause(ctx, f.options.WaitLimit, errOverdue)
	ctx, cancel := context.WithCancelCause(ctx)
	release := context.AfterFunc(f.faceContext, func() { cancel(errStopping) })
	return ctx, func() { release(); cancel(nil); cancelTimeout() }
}

// decideEnding acknowledges the request, identifies the player and seats it, again each time that its seat is lost. It
// returns how the request ends.
func (c *conversation) decideEnding(ctx context.Context) ending {
	if err := c.outlet.sendFrame(acknowledged); err != nil {
		return clientLeft
	}
	ctx, stop := c.face.limitWait(ctx)
	defer stop()
	sub, failed := c.face.identifyPlayer(ctx, c.caller)
	if failed != nil {
		return ending{failure: failed}
	}
	rest.AddLogAttrs(ctx, slog.String("game", c.request.game), slog.String("version", c.request.version),
		slog.String("player", sub))
	for {
		e, isSeatLost := c.seatPlayer(ctx, sub)
		if !isSeatLost {
			c.recordRefusal(sub, e.failure)
			return e
		}
		// The player joins the queue again for another seat.
		c.leaveRoom(ctx)
	}
}

// recordRefusal records for operators why a player got no server. Guests are left out, since a guest is another player
// the next time, and so are players who are sent to another cell.
func (c *conversation) recordRefusal(sub string, failed *failure) {
	if failed == nil || c.caller.accessToken == "" || failed.code == http.StatusMisdirectedRequest {
		return
	}
	c.face.options.OnRefusal(fault.Refusal{
		Player: sub, Call: "bevygap", Code: strconv.Itoa(int(failed.code)), Region: c.choice.region,
		Mode: c.choice.mode, Detail: c.request.game + "/" + c.request.version + ": " + failed.text,
	})
}

// internalFailure logs an error that is ours, and returns what the client gets: nothing if the client has left, which
// ended the call.
func (c *conversation) internalFailure(ctx context.Context, err error) *failure {
	if ctx.Err() != nil {
		return interruptionOf(ctx, unavailableFailure)
	}
	f := failureOf(err)
	// Other failures are the caller's, or come with an outage of the database: a line for each player would fill the log.
	if f.code == http.StatusInternalServerError {
		c.face.options.Log.LogAttrs(ctx, slog.LevelError, "a request of a bevygap client failed",
			slog.Any("error", err))
	}
	return f
}
