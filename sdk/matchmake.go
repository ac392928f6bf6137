package sdk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/cenkalti/backoff/v5"
)

// MatchRequest asks for seats in one session.
type MatchRequest struct {
	Region string `json:"region"`
	Mode   string `json:"mode"`
	// Party lists the players to seat together, including the caller. Empty: the caller alone.
	Party []string `json:"party,omitempty"`
	// MaxPlayers is the session's number of seats, 1 to 1024. 0: the director's default for the mode.
	MaxPlayers int `json:"max_players,omitempty"`
	// AwaitServers makes [Player.Seat] retry also after [ErrNotOffered], for programs that start before the first game
	// server does. Without it Seat returns that error, because a name that no game server offered within the last day
	// is probably misspelt.
	AwaitServers bool `json:"-"`
}

// Match is a session in which the caller has a seat. The handle is a secret that the session's players share.
type Match struct {
	SessionID   string `json:"session_id"`
	Handle      string `json:"session_handle"`
	Endpoint    string `json:"endpoint"`
	Region      string `json:"region"`
	Mode        string `json:"mode"`
	PlayerCount int    `json:"player_count"`
	MaxPlayers  int    `json:"max_players"`
}

// Ticket lets one player connect to a game server: connect to Endpoint and present SessionToken before it expires
// (after 2 minutes by default). The token is a secret.
type Ticket struct {
	SessionID    string `json:"session_id"`
	Endpoint     string `json:"endpoint"`
	SessionToken string `json:"session_token"`
	// Netcode is nil unless the game server speaks netcode and the director started it.
	Netcode *Netcode `json:"netcode"`
}

// Seat is a match with a session token, ready to connect to.
type Seat struct {
	Match
	SessionToken string
	Netcode      *Netcode // as in Ticket
}

// Matchmake takes seats and returns the session that they are in. A repeated call before the player connects returns
// the same seats; a player who lost the connection gets the running session back. All attempts of one call carry the
// same Idempotency-Key, so that a retry after a lost answer returns that answer. Errors: [ErrNoCapacity],
// [ErrNotOffered], [ErrPartyConflict], [ErrInvalid], [ErrUnauthorized].
func (p *Player) Matchmake(ctx context.Context, req MatchRequest) (Match, error) {
	var match Match
	key := http.Header{"Idempotency-Key": {rand.Text()}}
	err := p.callAPI(ctx, call{method: http.MethodPost, path: "/matchmake", header: key, body: req, region: req.Region},
		&match)
	return match, err
}

// Resolve exchanges a session handle for the caller's ticket. Each member of a party calls it with the handle that
// Matchmake returned to one of them. Errors: [ErrNotFound], [ErrGone], and [ErrForbidden] if the caller has no seat.
func (p *Player) Resolve(ctx context.Context, handle string) (Ticket, error) {
	return p.resolveIn(ctx, "", handle)
}

// resolveIn is Resolve with the region of the session; "": not known.
func (p *Player) resolveIn(ctx context.Context, region, handle string) (Ticket, error) {
	var ticket Ticket
	body := map[string]string{"session_handle": handle}
	err := p.callAPI(ctx, call{method: http.MethodPost, path: "/resolve", body: body, region: region}, &ticket)
	return ticket, err
}

// Reconnect returns where a player who lost the connection to a game server plays now: in the session of the handle, or
// elsewhere after an evacuation, once the ticket with which the party waits again is assigned. To show that ticket, or
// to accept a match, call Resolve and follow [Error.TicketID] instead. Errors: those of Resolve; [ErrGone] where there
// is nothing to follow, or the ticket left the queue without a match: ask for a match again.
func (p *Player) Reconnect(ctx context.Context, handle string) (Ticket, error) {
	for {
		ticket, err := p.Resolve(ctx, handle)
		var refused *Error
		if !errors.Is(err, ErrGone) || !errors.As(err, &refused) {
			return ticket, err
		}
		next := refused.SessionHandle
		if next == "" && refused.TicketID != "" {
			var failed error
			if next, failed = p.awaitAssignment(ctx, refused.TicketID); failed != nil {
				return Ticket{}, failed
			}
		}
		if next == "" {
			return Ticket{}, err
		}
		handle = next
	}
}

// awaitAssignment waits until a ticket has left the queue, and returns the handle of its session; "" where it has none.
func (p *Player) awaitAssignment(ctx context.Context, id string) (handle string, err error) {
	queued := p.Queued(id)
	for !queued.Status().State.Final() {
		if _, err := queued.Next(ctx); err != nil {
			return "", err
		}
	}
	return queued.Status().Handle, nil
}

// Session returns a session's current state. Errors: [ErrNotFound], [ErrGone].
func (p *Player) Session(ctx context.Context, id string) (Match, error) {
	var match Match
	err := p.callAPI(ctx, call{method: http.MethodGet, path: "/sessions/" + url.PathEscape(id)}, &match)
	return match, err
}

// Seat calls Matchmake and then Resolve. It starts again when the session closes or the seat expires between the two,
// and retries while there is no capacity; while the director starts servers, as often as it asks for. Only ctx bounds
// the retries, so pass a context with a deadline; the error then includes the last attempt's. Errors that a retry
// cannot change are returned at once. [ErrNotOffered] is among them, unless req.AwaitServers is set.
func (p *Player) Seat(ctx context.Context, req MatchRequest) (Seat, error) {
	var last error
	pace := newPacer(p.apiClient.clientOptions)
	seat, err := backoff.Retry(ctx, func() (seat Seat, err error) {
		seat, err = p.seatOnce(ctx, req)
		last = err
		pace.noteResult(err)
		if answer, answered := errors.AsType[*Error](err); answered && answer.ServersStarting != nil {
			pace.Reset() // the director says when to ask again, and forgets players who ask too late
		}
		if err != nil && !req.isRetryable(err) {
			return seat, backoff.Permanent(err)
		}
		return seat, err
	}, backoff.WithBackOff(pace), backoff.WithMaxElapsedTime(0))
	if err != nil && req.isRetryable(last) {
		return Seat{}, fmt.Errorf("sdk: no seat: %w; last attempt: %w", err, last)
	}
	return seat, err
}

func (p *Player) seatOnce(ctx context.Context, req MatchRequest) (Seat, error) {
	match, err := p.Matchmake(ctx, req)
	if err != nil {
		return Seat{}, err
	}
	ticket, err := p.resolveIn(ctx, match.Region, match.Handle)
	if err != nil {
		return Seat{}, err
	}
	// The ticket is newer than the match, which may come from the director's store of idempotent answers.
	match.Endpoint, match.SessionID = ticket.Endpoint, ticket.SessionID
	return Seat{Match: match, SessionToken: ticket.SessionToken, Netcode: ticket.Netcode}, nil
}

// isRetryable returns whether another attempt may succeed. ErrForbidden is included because a reserved seat can expire
// during an outage between Matchmake and Resolve.
func (r MatchRequest) isRetryable(err error) bool {
	return errors.Is(err, ErrNoCapacity) || errors.Is(err, ErrGone) || errors.Is(err, ErrForbidden) ||
		r.AwaitServers && errors.Is(err, ErrNotOffered)
}
