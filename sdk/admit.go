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

	errShortAnswer = errors.New("sdk: seat report was answered without a result for every entry")
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

	connectionName string // distinguishes this admission from others of the same player
	reporter       *seatReporter
	ctx            context.Context //nolint:containedctx // ends with the admission
	end            context.CancelCauseFunc
	leaveOnce      sync.Once
}

// Done is closed when the game server must disconnect the player. Err then returns the reason: [ErrSessionLost],
// [ErrReplaced], [ErrSuperseded], [ErrClosed], or, once the director has acknowledged a Leave, [ErrLeft].
func (a *Admission) Done() <-chan struct{} { return a.ctx.Done() }

// Err is nil until Done is closed.
func (a *Admission) Err() error { return context.Cause(a.ctx) }

// Leave frees the seat. It returns at once; the report is retried in the background until the director acknowledges it.
// Call it whenever a connection ends: after [ErrReplaced] it does nothing, and the newer connection keeps the seat.
func (a *Admission) Leave() { a.leaveOnce.Do(func() { a.reporter.reportLeave(a) }) }

// Admit decides whether the holder of a session token may play. It verifies the token offline and then reports the
// join, so a nil error means that the director has connected this player's seat, with this token, on this server only.
// Call it once for each connection: a second call with the same token returns [ErrReplay]. During an outage of the
// director it blocks until ctx ends, so pass a context with a deadline.
func (s *GameServer) Admit(ctx context.Context, sessionToken string) (*Admission, error) {
	if s.isClosing() {
		return nil, ErrClosed
	}
	claims, err := s.verify(ctx, sessionToken)
	if errors.Is(err, token.ErrKeysUnavailable) {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadToken, err)
	}
	if !s.isMine(ctx, claims.Endpoint) {
		return nil, ErrWrongServer
	}
	connection, ok := s.spentTokens.spendToken(claims.ID, claims.Expires, time.Now())
	if !ok {
		return nil, ErrReplay
	}
	seat := &Admission{
		Sub: claims.Subject, SessionID: claims.SessionID, Region: claims.Region,
		Mode: claims.Mode, MaxPlayers: claims.MaxPlayers, Party: claims.Party, Match: claims.Match, Team: claims.Team,
		TokenID:        claims.ID,
		connectionName: connection, reporter: s.seatReports,
	}
	return s.seatAdmission(ctx, seat)
}

// verify verifies a token. One with an unknown key may be of the cell in which the region was before, or of that to which
// it has moved since the last heartbeat.
func (s *GameServer) verify(ctx context.Context, sessionToken string) (token.SessionClaims, error) {
	claims, err := s.verifierOfCell().Verify(ctx, sessionToken, time.Now())
	if !errors.Is(err, token.UnknownKey) {
		return claims, err
	}
	s.mu.Lock()
	former, cell := s.formerVerifier, s.cellAddress
	seeks := time.Since(s.soughtAt) >= seekEvery
	if seeks {
		s.soughtAt = time.Now()
	}
	s.mu.Unlock()
	if former != nil {
		if earlier, formerErr := former.Verify(ctx, sessionToken, time.Now()); formerErr == nil {
			return earlier, nil
		}
	}
	if !seeks || s.sendHeartbeat(ctx) != nil || s.registeredAt() == cell {
		return claims, err
	}
	return s.verifierOfCell().Verify(ctx, sessionToken, time.Now())
}

// seekEvery bounds the heartbeats that tokens with unknown keys can cause.
const seekEvery = time.Second

func (s *GameServer) seatAdmission(ctx context.Context, seat *Admission) (*Admission, error) {
	seat.ctx, seat.end = context.WithCancelCause(s.lifeContext)
	err := s.seatReports.reportJoin(ctx, seat)
	if err == nil {
		return seat, nil
	}
	seat.end(err)
	if !isRefused(err) {
		s.spentTokens.restoreToken(seat.TokenID)
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "player not admitted",
		slog.String("session_id", seat.SessionID), slog.Any("error", err))
	return nil, err
}

func isRefused(err error) bool {
	return errors.Is(err, ErrReplay) || errors.Is(err, ErrSeatGone) || errors.Is(err, ErrNoSeat)
}

// End closes a session whose match is over. Once the director has acknowledged it, the admissions of the remaining
// players end with [ErrSessionLost]. A session closes without End when its last player leaves.
func (s *GameServer) End(sessionID string) { s.seatReports.finishSession(sessionID) }

func (s *GameServer) reportSeats(ctx context.Context, session string, batch []*entry) (seatsAnswer, error) {
	req := seatsRequest{SessionID: session}
	for _, e := range batch {
		switch e.kind {
		case joined:
			req.Joined = append(req.Joined,
				joinedSeat{Sub: e.seat.Sub, JTI: e.seat.TokenID, Connection: e.seat.connectionName})
		case left:
			req.Left = append(req.Left, e.seat.Sub)
			req.LeftConnections = append(req.LeftConnections, e.seat.connectionName)
		case ended:
			req.Ended = true
		}
	}
	var answer seatsAnswer
	err := s.callFenced(ctx, "/fleet/seats", true, func(ref instanceRef) any {
		req.instanceRef = ref
		return req
	}, &answer)
	return answer, err
}
