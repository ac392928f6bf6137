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
	// send sends a frame that is not the last. Errors: the client is gone.
	send(frame []byte) error
	// end sends the last frame. Errors: the client is gone.
	end(e ending) error
}

// ending is how a request ends: with one of both, or with none if the client has left.
type ending struct {
	ready  *Connection
	failed *failure
}

// frame returns the last frame.
func (e ending) frame() []byte {
	if e.ready != nil {
		return ready(*e.ready)
	}
	return failed(*e.failed)
}

func (e ending) outcome() string {
	switch {
	case e.ready != nil:
		return "ready"
	case e.failed != nil:
		return strconv.Itoa(int(e.failed.code))
	default:
		return "left"
	}
}

// conversation is one request from its acknowledgement to its last frame.
type conversation struct {
	face *Face

	request request
	choice  choice
	who     caller
	out     outlet

	began      time.Time
	player     *waitingroom.Player // nil while it waits for nothing
	accepted   bool
	lastReport string    // the text of the last report
	reportedAt time.Time // of the last report
}

// converse serves a request until it ends. ctx ends when the client leaves.
func (f *Face) converse(ctx context.Context, c *conversation) {
	c.face, c.began, c.reportedAt = f, time.Now(), time.Now()
	defer c.leave(ctx)
	e := c.decide(ctx)
	if e.ready == nil && e.failed == nil || c.out.end(e) != nil {
		// The client is gone, and with it the server that it was to get: the seat is given back.
		e = ending{}
	}
	if e.ready != nil {
		// After the last frame was sent: until then the seat is given back if something fails.
		c.player.Use()
		c.player = nil
		f.metrics.seconds.Observe(time.Since(c.began).Seconds())
	}
	f.count(ctx, e)
}

// leave gives back what the player of a request holds that has ended without a server.
func (c *conversation) leave(ctx context.Context) {
	if c.player == nil {
		return
	}
	if err := c.player.Leave(ctx); err != nil {
		c.face.options.Log.LogAttrs(ctx, slog.LevelWarn, "a seat was not given back: it expires",
			slog.Any("error", err))
	}
	c.player = nil
}

func (f *Face) count(ctx context.Context, e ending) {
	f.metrics.requests.WithLabelValues(e.outcome()).Inc()
	rest.AddLogAttrs(ctx, slog.String("outcome", e.outcome()))
}

// limit returns a context that also ends when the request has waited for long enough, and when the replica stops.
func (f *Face) limit(ctx context.Context) (limited context.Context, stop func()) {
	ctx, overdue := context.WithTimeoutCause(ctx, f.options.Wait, errOverdue)
	ctx, cancel := context.WithCancelCause(ctx)
	// A context of its own for each cause, which the last frame tells.
	release := context.AfterFunc(f.life, func() { cancel(errStopping) })
	return ctx, func() { release(); cancel(nil); overdue() }
}

func (c *conversation) decide(ctx context.Context) ending {
	if c.out.send(acknowledged) != nil {
		return ending{}
	}
	ctx, stop := c.face.limit(ctx)
	defer stop()
	sub, failed := c.face.identify(ctx, c.who)
	if failed != nil {
		return ending{failed: failed}
	}
	rest.AddLogAttrs(ctx, slog.String("game", c.request.game), slog.String("version", c.request.version),
		slog.String("player", sub))
	for {
		connection, failed, again := c.play(ctx, sub)
		if !again {
			c.record(sub, failed)
			return ending{connection, failed}
		}
		// The seat is lost, and the player joins the queue again for another one.
		c.leave(ctx)
	}
}

// record tells why a player got no server. Nobody looks for a guest, who is another player the next time, nor for one who
// is sent to another cell.
func (c *conversation) record(sub string, failed *failure) {
	if failed == nil || c.who.token == "" || failed.code == http.StatusMisdirectedRequest {
		return
	}
	c.face.options.Refused(fault.Refusal{
		Player: sub, Call: "bevygap", Code: strconv.Itoa(int(failed.code)), Region: c.choice.region,
		Mode: c.choice.mode, Detail: c.request.game + "/" + c.request.version + ": " + failed.text,
	})
}

// play gets a seat and its connection. It is to be called again if the seat was lost in between, because its server
// ended.
func (c *conversation) play(ctx context.Context, sub string) (_ *Connection, _ *failure, again bool) {
	// Each time: the region may have moved to another cell while the request waited.
	if check := c.face.options.CheckHere; check != nil {
		if err := check(c.choice.region); err != nil {
			return nil, failureOf(err), false
		}
	}
	offer, failed := c.offer(ctx)
	if offer == nil {
		return nil, failed, false
	}
	region, mode, failed := choose(*offer, c.choice)
	if failed != nil {
		return nil, failed, false
	}
	player, err := c.face.room.Join(seek(*offer, region, mode, sub, c.choice.from))
	if err != nil {
		return nil, failureOf(err), false
	}
	c.player = player
	seat, failed := c.await(ctx)
	if seat == nil {
		return nil, failed, false
	}
	rest.AddLogAttrs(ctx, slog.String("session_id", seat.SessionID))
	return c.connect(ctx, seat.SessionHandle, sub)
}

// offer reads the app version. It returns neither an offer nor a failure if the client has left.
func (c *conversation) offer(ctx context.Context) (*db.Offer, *failure) {
	for {
		call, cancel := context.WithTimeout(ctx, c.face.options.callTimeout)
		offer, found, err := c.face.offers.find(call, c.request.game, c.request.version)
		cancel()
		switch {
		case err == nil && !found:
			return nil, fail(http.StatusNotFound, "there is no version %q of a game %q", c.request.version,
				c.request.game)
		case err == nil:
			return &offer, nil
		case !fault.Is(err, fault.Unavailable):
			return nil, c.internal(ctx, err)
		// During an outage the client waits on: it would never ask again.
		case !wait.For(ctx, retryEvery):
			return nil, interrupted(ctx, databaseAway)
		}
	}
}

// internal logs an error that is ours, and returns what the client gets: nothing if the client has left, which ended
// the call.
func (c *conversation) internal(ctx context.Context, err error) *failure {
	if ctx.Err() != nil {
		return interrupted(ctx, databaseAway)
	}
	f := failureOf(err)
	if f.code == http.StatusInternalServerError {
		c.face.options.Log.LogAttrs(ctx, slog.LevelError, "a request of a bevygap client failed",
			slog.Any("error", err))
	}
	return f
}

func databaseAway() *failure {
	return fail(http.StatusServiceUnavailable, "the director cannot decide now: ask again")
}

// await waits for a seat, and reports to the client. It returns neither a seat nor a failure if the client has left.
func (c *conversation) await(ctx context.Context) (*db.Placement, *failure) {
	next := time.NewTimer(progressEvery)
	defer next.Stop()
	for {
		state := c.player.State()
		switch {
		case state.Err != nil:
			return nil, c.internal(ctx, state.Err)
		case state.Seat != nil:
			c.accept(state.Seat.SessionID)
			return state.Seat, nil
		// Only once the wish is stored: before that the pool has not been asked.
		case state.Recorded && startsNone(ctx, state.Outlook):
			return nil, fail(http.StatusServiceUnavailable, "no servers of this version are started now")
		}
		if c.report(ctx, state) != nil {
			return nil, nil
		}
		// Changes may come faster than reports are allowed: the timer sends what is left out now.
		next.Reset(c.untilReport(state))
		select {
		case <-c.player.Changed():
		case <-next.C:
		case <-ctx.Done():
			return nil, interrupted(ctx, func() *failure { return c.overdue(c.player.State()) })
		}
	}
}

// startsNone reports whether the pool starts no server before ctx ends. A pause that ends earlier, such as that after a
// provider had no capacity for a moment, is no reason to end a request: bevygap's client never asks again.
func startsNone(ctx context.Context, o fault.Outlook) bool {
	if o.PausedUntil.IsZero() || o.Starting > 0 {
		return false
	}
	deadline, limited := ctx.Deadline()
	return o.PausedByOperator || limited && o.PausedUntil.After(deadline)
}

// accept tells the client, once, that its request is stored, under which id. A client that is gone is noticed at the
// next frame.
func (c *conversation) accept(id string) {
	if !c.accepted {
		c.accepted = true
		_ = c.out.send(accepted(id)) // the next frame fails, too
	}
}

// report sends what is new about a request that waits, and something every five seconds. Errors: the client is gone.
func (c *conversation) report(ctx context.Context, state waitingroom.State) error {
	if state.Recorded {
		c.accept(rest.RequestID(ctx))
	}
	if c.untilReport(state) > 0 {
		return nil
	}
	c.lastReport, c.reportedAt = outlook(state), time.Now()
	return c.out.send(progress(c.lastReport))
}

// untilReport returns how long the report of a state has to wait.
func (c *conversation) untilReport(state waitingroom.State) time.Duration {
	since := time.Since(c.reportedAt)
	switch {
	case state.Recorded && c.lastReport == "":
		return 0
	case state.Recorded && c.lastReport != outlook(state):
		return max(0, changeEvery-since)
	default:
		return max(0, progressEvery-since)
	}
}

// outlook says what a request waits for.
func outlook(state waitingroom.State) string {
	switch n := state.Outlook.Starting; {
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

// overdue says why nobody could host the player in time.
func (c *conversation) overdue(state waitingroom.State) *failure {
	waited := waitedFor(c.face.options.Wait)
	switch {
	case state.Trouble != nil || !state.Recorded:
		return databaseAway()
	case state.Outlook.IsFull:
		return fail(http.StatusConflict,
			"all servers are full, and no more may be started: nobody could host you within %s", waited)
	default:
		return fail(http.StatusRequestTimeout, "no server could host you within %s", waited)
	}
}

// connect exchanges the seat for a connection. Its answer is that of play.
func (c *conversation) connect(ctx context.Context, handle, sub string) (_ *Connection, _ *failure, again bool) {
	for {
		call, cancel := context.WithTimeout(ctx, c.face.options.callTimeout)
		connection, err := c.face.options.Connect(call, handle, sub)
		cancel()
		switch {
		case err == nil:
			return c.checked(ctx, connection)
		case fault.Is(err, fault.NotFound), fault.Is(err, fault.Gone), fault.Is(err, fault.Forbidden):
			if wait.For(ctx, retryEvery) { // a server that ends again and again must not make this a busy loop
				return nil, nil, true
			}
		case !fault.Is(err, fault.Unavailable) && !errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			return nil, c.internal(ctx, err), false
		case wait.For(ctx, retryEvery):
			continue
		}
		return nil, interrupted(ctx, databaseAway), false
	}
}

// checked refuses a connection that would make the client panic.
func (c *conversation) checked(ctx context.Context, n Connection) (_ *Connection, _ *failure, again bool) {
	if len(n.Token) != tokenBytes || !n.IP.IsValid() || n.Port == 0 {
		return nil, c.internal(ctx, fmt.Errorf("a connection has %d bytes of token, address %s and port %d",
			len(n.Token), n.IP, n.Port)), false
	}
	return &n, nil, false
}
