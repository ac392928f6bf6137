package bevygap

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/wait"
	"github.com/lattice-director/director/internal/matching/waitingroom"
	"github.com/lattice-director/director/server/rest"
)

const (
	retryEvery = 250 * time.Millisecond // between two calls while the database does not answer
	tokenBytes = 2048                   // of a connect token
)

// seatPlayer gets a seat and its connection, and returns how the request ends. If isSeatLost, the request does not end:
// the server of the seat has ended before the player had the connection, and the caller tries once more.
func (c *conversation) seatPlayer(ctx context.Context, sub string) (e ending, isSeatLost bool) {
	request, failed := c.findRequest(ctx, sub)
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

// findRequest returns what the player asks the waiting room for. It returns neither a request nor a failure if the
// client has left.
func (c *conversation) findRequest(ctx context.Context, sub string) (*waitingroom.Request, *failure) {
	// The region is checked for each seat, because it may have moved to another cell while the request waited for the
	// seat before; and before the offer is read, which then has the region no more.
	if failed := c.checkHere(c.choice.region); failed != nil {
		return nil, failed
	}
	offer, failed := c.findOffer(ctx)
	if offer == nil {
		return nil, failed
	}
	region, mode, failed := chooseOffer(*offer, c.choice)
	if failed != nil {
		return nil, failed
	}
	if failed := c.checkHere(region); failed != nil {
		return nil, failed
	}
	r := requestFor(*offer, region, mode, sub, c.choice.clientAddress)
	return &r, nil
}

// checkHere returns the failure of a region that another cell serves, nil for others.
func (c *conversation) checkHere(region string) *failure {
	if check := c.face.options.CheckHere; check != nil {
		if err := check(region); err != nil {
			return failureOf(err)
		}
	}
	return nil
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
		}
		// During an outage the client keeps waiting: after an error it would never ask again.
		if !wait.For(ctx, retryEvery) {
			return nil, interruptionOf(ctx, unavailableFailure)
		}
	}
}

// connectSeat exchanges the seat for a connection, and returns how the request ends, or that the seat is lost.
func (c *conversation) connectSeat(ctx context.Context, handle, sub string) (e ending, isSeatLost bool) {
	for {
		call, cancel := context.WithTimeout(ctx, c.face.options.callTimeout)
		connection, err := c.face.options.ConnectSeat(call, handle, sub)
		cancel()
		isSeatLost = fault.Is(err, fault.NotFound) || fault.Is(err, fault.Gone) || fault.Is(err, fault.Forbidden)
		isTemporary := fault.Is(err, fault.Unavailable) || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil
		switch {
		case err == nil:
			return c.checkConnection(ctx, connection), false
		case !isSeatLost && !isTemporary:
			return ending{failure: c.internalFailure(ctx, err)}, false
		}
		// There is a pause before another seat, too: a server that ends again and again must not make this a busy loop.
		if !wait.For(ctx, retryEvery) {
			return ending{failure: interruptionOf(ctx, unavailableFailure)}, false
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
