package sdk

import (
	"context"
	"errors"
	"sync"
)

// Reasons why Admit refuses a player or an [Admission] ends; test for them with errors.Is. After [ErrBusy],
// [ErrUnavailable], [ErrSessionLost] and an ended context, the same player may succeed later. After the others, this
// token never will.
var (
	// ErrBadToken: the token is forged, expired, malformed, or not a session token.
	ErrBadToken = errors.New("sdk: bad session token")
	// ErrWrongServer: the token is valid, and names another endpoint.
	ErrWrongServer = errors.New("sdk: session token is for another server")
	// ErrReplay: this token was used before.
	ErrReplay = errors.New("sdk: session token was used before")
	// ErrSeatGone: the player connected after the reservation expired, and another player has the seat.
	ErrSeatGone = errors.New("sdk: seat was given away")
	// ErrNoSeat: the session has no such seat.
	ErrNoSeat = errors.New("sdk: no such seat")
	// ErrSessionLost: the director has ended the session.
	ErrSessionLost = errors.New("sdk: session was ended")
	// ErrReplaced: the same player was admitted again, over another connection.
	ErrReplaced = errors.New("sdk: player connected again")
	// ErrLeft: the player left.
	ErrLeft = errors.New("sdk: player left")
	// ErrBusy: too many Admit calls (4096) are waiting for the director.
	ErrBusy = errors.New("sdk: too many players waiting")
)

// Admission is an admitted player, from Admit to Leave. Safe for concurrent use.
type Admission struct {
	Sub, SessionID, Region string
	// Mode and MaxPlayers are the session's. The game server needs them to open the match for the session's first
	// player. Party is equal for players who were seated together, and unique for a player who came alone. A director
	// of an older release leaves the three empty.
	Mode       string
	MaxPlayers int
	Party      string
	// Match and Team are of the match that a profile of the director made; both are empty where a player asked for a
	// seat.
	Match string
	Team  string
	// TokenID is the jti of the token that was redeemed.
	TokenID string

	connectionName string          // distinguishes this admission from others of the same player
	ctx            context.Context //nolint:containedctx // ends with the admission
	end            context.CancelCauseFunc
	leaveOnce      sync.Once
	reportLeave    func() // reports to the director, in the background, that the player has left
}

// Done is closed when the game server must disconnect the player. Err then returns the reason: [ErrSessionLost],
// [ErrReplaced], [ErrSuperseded], [ErrClosed], or, once the director has acknowledged a Leave, [ErrLeft].
func (a *Admission) Done() <-chan struct{} { return a.ctx.Done() }

// Err is nil until Done is closed.
func (a *Admission) Err() error { return context.Cause(a.ctx) }

// Leave frees the seat. It returns at once; the report is retried in the background until the director acknowledges it.
// Call it whenever a connection ends: after [ErrReplaced] it does nothing, and the newer connection keeps the seat.
func (a *Admission) Leave() { a.leaveOnce.Do(a.reportLeave) }
