package bevygap

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/wait"
	"github.com/lattice-director/director/internal/matching/waitingroom"
	"github.com/lattice-director/director/server/rest"
)

const (
	progressEvery = 5 * time.Second        // between two reports of a request that waits
	changeEvery   = time.Second            // between two reports that differ
	retryEvery    = 250 * time.Millisecond // between two calls of a database that is away
	tokenBytes    = 2048                   // of a connect token
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
	player     *waitingroom.Player // nil while it waits for nothing
	isAccepted bool
	lastReport string    // the text of the last report
	reportedAt time.Time // of the last report
}

// serveConversation serves a request until it ends. ctx ends when the client leaves.
func (f *Face) serveConversation(ctx context.Context, c *conversation) {
	c.face, c.begunAt, c.reportedAt = f, time.Now(), time.Now()
	defer c.leaveRoom(ctx)
	e := c.sendEnding(c.decideEnding(ctx))
	if e.connection != nil {
		// After the last frame was sent: until then the seat is given back if something fails.
		c.player.Use()
		c.player = nil
		f.metrics.readySeconds.Observe(time.Since(c.begunAt).Seconds())
	}
	f.countEnding(ctx, e)
}

// sendEnding sends the last frame, and returns how the request has ended: a client that has left before it read the
// frame gets no server.
func (c *conversation) sendEnding(e ending) ending {
	if e == clientLeft || c.outlet.sendLast(e) != nil {
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
	ctx, overdue := context.WithTimeoutCause(ctx, f.options.WaitLimit, errOverdue)
	ctx, cancel := context.WithCancelCause(ctx)
	// A context of its own for each cause, which the last frame tells.
	release := context.AfterFunc(f.faceContext, func() { cancel(errStopping) })
	return ctx, func() { release(); cancel(nil); overdue() }
}

func (c *conversation) decideEnding(ctx context.Context) ending {
	if c.outlet.sendFrame(acknowledged) != nil {
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

// recordRefusal tells why a player got no server. Nobody looks for a guest, who is another player the next time, nor
// for one who is sent to another cell.
func (c *conversation) recordRefusal(sub string, failed *failure) {
	if failed == nil || c.caller.accessToken == "" || failed.code == http.StatusMisdirectedRequest {
		return
	}
	c.face.options.OnRefusal(fault.Refusal{
		Player: sub, Call: "bevygap", Code: strconv.Itoa(int(failed.code)), Region: c.choice.region,
		Mode: c.choice.mode, Detail: c.request.game + "/" + c.request.version + ": " + failed.text,
	})
}

// seatPlayer gets a seat and its connection, and returns how the request ends. It does not end if the seat was lost
// before it was connected, because its server ended: then the caller tries once more.
func (c *conversation) seatPlayer(ctx context.Context, sub string) (e ending, isSeatLost bool) {
	request, failed := c.seekRequest(ctx, sub)
	if request == nil {
		return ending{failure: failed}, false
	}
	player, err := c.face.waitingRoom.Join(*request)
	if err != nil {
		return ending{failure: failureOf(err)}, false
	}
	c.player = player
	seat, failed := c.awaitSeat(ctx)
	if seat == nil {
		return ending{failure: failed}, false
	}
	rest.AddLogAttrs(ctx, slog.String("session_id", seat.SessionID))
	return c.connectSeat(ctx, seat.SessionHandle, sub)
}

// seekRequest returns what the player asks the waiting room for. It returns neither a request nor a failure if the
// client has left.
func (c *conversation) seekRequest(ctx context.Context, sub string) (*waitingroom.Request, *failure) {
	// For each seat: the region may have moved to another cell while the request waited for the one before.
	if check := c.face.options.CheckHere; check != nil {
		if err := check(c.choice.region); err != nil {
			return nil, failureOf(err)
		}
	}
	offer, failed := c.findOffer(ctx)
	if offer == nil {
		return nil, failed
	}
	region, mode, failed := chooseOffer(*offer, c.choice)
	if failed != nil {
		return nil, failed
	}
	r := seekRequest(*offer, region, mode, sub, c.choice.clientAddress)
	return &r, nil
}

// findOffer reads the app version. It returns neither an offer nor a failure if the client has left.
func (c *conversation) findOffer(ctx context.Context) (*db.Offer, *failure) {
	for {
		call, cancel := context.WithTimeout(ctx, c.face.options.callTimeout)
		offer, found, err := c.face.offers.findOffer(call, c.request.game, c.request.version)
		cancel()
		switch {
		case err == nil && !found:
			return nil, newFailure(http.StatusNotFound, "there is no version %q of a game %q", c.request.version,
				c.request.game)
		case err == nil:
			return &offer, nil
		case !fault.Is(err, fault.Unavailable):
			return nil, c.internalFailure(ctx, err)
		// During an outage the client waits on: it would never ask again.
		case !wait.For(ctx, retryEvery):
			return nil, interruptionOf(ctx, databaseAway)
		}
	}
}

// internalFailure logs an error that is ours, and returns what the client gets: nothing if the client has left, which
// ended the call.
func (c *conversation) internalFailure(ctx context.Context, err error) *failure {
	if ctx.Err() != nil {
		return interruptionOf(ctx, databaseAway)
	}
	f := failureOf(err)
	// The others are the caller's or the database's, which the metrics and its own log tell.
	if f.code == http.StatusInternalServerError {
		c.face.options.Log.LogAttrs(ctx, slog.LevelError, "a request of a bevygap client failed",
			slog.Any("error", err))
	}
	return f
}

// awaitSeat waits for a seat, and reports to the client. It returns neither a seat nor a failure if the client has
// left.
func (c *conversation) awaitSeat(ctx context.Context) (*db.Placement, *failure) {
	next := time.NewTimer(progressEvery)
	defer next.Stop()
	for {
		state := c.player.State()
		switch {
		case state.Err != nil:
			return nil, c.internalFailure(ctx, state.Err)
		case state.Seat != nil:
			c.acceptOnce(state.Seat.SessionID)
			return state.Seat, nil
		// Only once the wish is stored: before that the pool has not been asked.
		case state.Recorded && startsNone(ctx, state.Outlook):
			return nil, newFailure(http.StatusServiceUnavailable, "no servers of this version are started now")
		}
		if c.reportProgress(ctx, state) != nil {
			return nil, nil
		}
		// Changes may come faster than reports are allowed: the timer sends what is left out now.
		next.Reset(c.untilReport(state))
		select {
		case <-c.player.Changed():
		case <-next.C:
		case <-ctx.Done():
			return nil, interruptionOf(ctx, func() *failure { return c.overdueFailure(c.player.State()) })
		}
	}
}

// startsNone reports whether the pool starts no server before ctx ends. A pause that ends earlier, such as that after a
// provider had no capacity for a moment, is no reason to end a request: bevygap's client never asks again.
func startsNone(ctx context.Context, o fault.Outlook) bool {
	if o.PausedUntil.IsZero() || o.Starting > 0 {
		return false
	}
	// An operator's pause has no end that anybody knows.
	deadline, limited := ctx.Deadline()
	return o.PausedByOperator || limited && o.PausedUntil.After(deadline)
}

// acceptOnce tells the client, once, that its request is stored, under which id. A client that is gone is noticed at
// the next frame.
func (c *conversation) acceptOnce(id string) {
	if !c.isAccepted {
		c.isAccepted = true
		_ = c.outlet.sendFrame(encodeAccepted(id)) // the next frame fails, too
	}
}

// reportProgress sends what is new about a request that waits, and something every five seconds. Errors: the client is
// gone.
func (c *conversation) reportProgress(ctx context.Context, state waitingroom.State) error {
	if state.Recorded {
		c.acceptOnce(rest.RequestID(ctx))
	}
	if c.untilReport(state) > 0 {
		return nil
	}
	c.lastReport, c.reportedAt = outlookText(state), time.Now()
	return c.outlet.sendFrame(encodeProgress(c.lastReport))
}

// untilReport returns how long the report of a state has to wait.
func (c *conversation) untilReport(state waitingroom.State) time.Duration {
	since := time.Since(c.reportedAt)
	switch {
	// At once: the first report shows the player that the game is not stuck.
	case state.Recorded && c.lastReport == "":
		return 0
	case state.Recorded && c.lastReport != outlookText(state):
		return max(0, changeEvery-since)
	default:
		return max(0, progressEvery-since)
	}
}

// outlookText says what a request waits for.
func outlookText(state waitingroom.State) string {
	switch n := state.Outlook.Starting; {
	// First: what is known of servers may be old then.
	case state.Trouble != nil:
		return "waiting for the database"
	case n == 0 && !state.Outlook.PausedUntil.IsZero():
		return "no server can be started now: waiting for the next try"
	case n == 0:
		return "waiting for a server"
	case n == 1:
		return "a server is starting"
	default:
		return fmt.Sprintf("%d servers are starting", n)
	}
}

// overdueFailure says why nobody could host the player in time.
func (c *conversation) overdueFailure(state waitingroom.State) *failure {
	waited := waitedFor(c.face.options.WaitLimit)
	switch {
	// Its request never reached the pools, so they are not to blame.
	case state.Trouble != nil || !state.Recorded:
		return databaseAway()
	case state.Outlook.IsFull:
		return newFailure(http.StatusConflict,
			"all servers are full, and no more may be started: nobody could host you within %s", waited)
	default:
		return newFailure(http.StatusRequestTimeout, "no server could host you within %s", waited)
	}
}

// connectSeat exchanges the seat for a connection, and returns how the request ends, or that the seat is lost.
func (c *conversation) connectSeat(ctx context.Context, handle, sub string) (e ending, isSeatLost bool) {
	for {
		call, cancel := context.WithTimeout(ctx, c.face.options.callTimeout)
		connection, err := c.face.options.ConnectSeat(call, handle, sub)
		cancel()
		isSeatLost = fault.Is(err, fault.NotFound) || fault.Is(err, fault.Gone) || fault.Is(err, fault.Forbidden)
		isAway := fault.Is(err, fault.Unavailable) || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil
		switch {
		case err == nil:
			return c.checkConnection(ctx, connection), false
		case !isSeatLost && !isAway:
			return ending{failure: c.internalFailure(ctx, err)}, false
		}
		// Before another seat, too: a server that ends again and again must not make this a busy loop.
		if !wait.For(ctx, retryEvery) {
			return ending{failure: interruptionOf(ctx, databaseAway)}, false
		}
		if isSeatLost {
			return ending{}, true
		}
	}
}

// checkConnection returns the ending with a connection, unless it would make the client panic.
func (c *conversation) checkConnection(ctx context.Context, n Connection) ending {
	if len(n.Token) == tokenBytes && n.IP.IsValid() && n.Port != 0 {
		return ending{connection: &n}
	}
	return ending{failure: c.internalFailure(ctx, fmt.Errorf(
		"a connection has %d bytes of token, address %s and port %d", len(n.Token), n.IP, n.Port))}
}
