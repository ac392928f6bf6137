package sdk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/lattice-director/director/token"
)

// Why a player is not admitted, or has to go; test with errors.Is. After [ErrBusy], [ErrUnavailable], [ErrSessionLost]
// and an ended context the same player may succeed later, after the others this token never will.
var (
	// ErrBadToken: forged, expired, not for game servers, or not a token at all.
	ErrBadToken = errors.New("sdk: bad session token")
	// ErrWrongServer: a good token for another endpoint.
	ErrWrongServer = errors.New("sdk: session token is for another server")
	// ErrReplay: this token was used before.
	ErrReplay = errors.New("sdk: session token was used before")
	// ErrSeatGone: the player came so late that the seat was given away.
	ErrSeatGone = errors.New("sdk: seat was given away")
	// ErrNoSeat: the director knows of no such seat.
	ErrNoSeat = errors.New("sdk: no such seat")
	// ErrSessionLost: the director has ended the session.
	ErrSessionLost = errors.New("sdk: session was ended")
	// ErrReplaced: the same player was admitted again, over another connection.
	ErrReplaced = errors.New("sdk: player connected again")
	// ErrLeft: the player left.
	ErrLeft = errors.New("sdk: player left")
	// ErrBusy: too many players are at the door already.
	ErrBusy = errors.New("sdk: too many players waiting")

	errShortAnswer = errors.New("sdk: seat report was answered without a result for every entry")
)

// Admission is a player who may play, from Admit to Leave. Safe for concurrent use.
type Admission struct {
	Sub, SessionID, Region string
	// Mode and MaxPlayers are the session's: what to open for the first player who comes. Party is the same for all who
	// were seated together, and for a player who came alone nobody else's. A director of an older release leaves
	// them empty.
	Mode       string
	MaxPlayers int
	Party      string
	// TokenID is the jti of the token that was redeemed.
	TokenID string

	connection string // by which the director tells this admission from others of the player
	book       *seatBook
	ctx        context.Context //nolint:containedctx // ends with the admission
	end        context.CancelCauseFunc
	leave      sync.Once
}

// Done is closed when the player has to be sent away; Err then says why: [ErrSessionLost], [ErrReplaced],
// [ErrSuperseded], [ErrClosed], or [ErrLeft] once the director has heard of that.
func (a *Admission) Done() <-chan struct{} { return a.ctx.Done() }

// Err is nil until Done is closed.
func (a *Admission) Err() error { return context.Cause(a.ctx) }

// Leave frees the seat. It returns at once; the report is repeated until the director has taken it. It is right to call
// it always when a connection ends: after [ErrReplaced] the seat stays with the newer connection.
func (a *Admission) Leave() { a.leave.Do(func() { a.book.leave(a) }) }

// Admit decides whether the holder of a session token may play. It checks the token offline, then has the director
// connect the seat, so a nil error means that this player, with this token, plays here and nowhere else. Call it once for
// each connection: a token that is shown on a second one is [ErrReplay]. Through an outage it waits for as long as ctx
// allows: give it a deadline.
func (s *GameServer) Admit(ctx context.Context, sessionToken string) (*Admission, error) {
	if s.isClosing() {
		return nil, ErrClosed
	}
	claims, err := s.verifier.Verify(ctx, sessionToken, time.Now())
	if errors.Is(err, token.ErrKeysUnavailable) {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadToken, err)
	}
	if claims.Endpoint != s.opts.Endpoint {
		return nil, ErrWrongServer
	}
	connection, ok := s.spent.spend(claims.ID, claims.Expires, time.Now())
	if !ok {
		return nil, ErrReplay
	}
	seat := &Admission{
		Sub: claims.Subject, SessionID: claims.SessionID, Region: claims.Region,
		Mode: claims.Mode, MaxPlayers: claims.MaxPlayers, Party: claims.Party, TokenID: claims.ID,
		connection: connection, book: s.seats,
	}
	return s.seat(ctx, seat)
}

func (s *GameServer) seat(ctx context.Context, seat *Admission) (*Admission, error) {
	seat.ctx, seat.end = context.WithCancelCause(s.life)
	err := s.seats.join(ctx, seat)
	if err == nil {
		return seat, nil
	}
	seat.end(err)
	if !refused(err) {
		s.spent.restore(seat.TokenID)
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "player not admitted",
		slog.String("session_id", seat.SessionID), slog.Any("error", err))
	return nil, err
}

func refused(err error) bool {
	return errors.Is(err, ErrReplay) || errors.Is(err, ErrSeatGone) || errors.Is(err, ErrNoSeat)
}

// End closes a session: the match is over. Its remaining players are done with [ErrSessionLost] when the director has
// heard of it. A session whose last player leaves closes by itself.
func (s *GameServer) End(sessionID string) { s.seats.finish(sessionID) }

func (s *GameServer) report(ctx context.Context, session string, batch []*entry) (seatsAnswer, error) {
	req := seatsRequest{SessionID: session}
	for _, e := range batch {
		switch e.kind {
		case joined:
			req.Joined = append(req.Joined, joinedSeat{Sub: e.seat.Sub, JTI: e.seat.TokenID, Connection: e.seat.connection})
		case left:
			req.Left = append(req.Left, e.seat.Sub)
			req.LeftConnections = append(req.LeftConnections, e.seat.connection)
		case ended:
			req.Ended = true
		}
	}
	var answer seatsAnswer
	err := s.fenced(ctx, "/fleet/seats", true, func(ref instanceRef) any {
		req.instanceRef = ref
		return req
	}, &answer)
	return answer, err
}
