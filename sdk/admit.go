package sdk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/lattice-director/director/token"
)

// Admit decides whether the holder of a session token may play. It verifies the token offline and then reports the
// join, so a nil error means that the director has connected this player's seat, with this token, on this server only.
// Call it once for each connection: a second call with the same token returns [ErrReplay]. During an outage of the
// director it blocks until ctx ends, so pass a context with a deadline.
func (s *GameServer) Admit(ctx context.Context, sessionToken string) (*Admission, error) {
	if s.isClosing() {
		return nil, ErrClosed
	}
	claims, err := s.verifyToken(ctx, sessionToken)
	if errors.Is(err, token.ErrKeysUnavailable) {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadToken, err)
	}
	s.refreshEndpoint(ctx, claims.Endpoint)
	if s.Endpoint() != claims.Endpoint {
		return nil, ErrWrongServer
	}
	connection, ok := s.spentTokens.spendToken(claims.ID, claims.Expires, time.Now())
	if !ok {
		return nil, ErrReplay
	}
	seat := &Admission{
		Sub: claims.Subject, SessionID: claims.SessionID, Region: claims.Region,
		Mode: claims.Mode, MaxPlayers: claims.MaxPlayers, Party: claims.Party, Match: claims.Match, Team: claims.Team,
		TokenID: claims.ID, connectionName: connection,
	}
	seat.reportLeave = func() { s.seatReports.reportLeave(seat) }
	return s.seatAdmission(ctx, seat)
}

// verifyToken returns the claims of a session token. A token with an unknown key may be of the cell in which the region
// was before, or of the cell to which the region has moved since the last heartbeat: then another heartbeat finds it.
func (s *GameServer) verifyToken(ctx context.Context, sessionToken string) (token.SessionClaims, error) {
	claims, err := s.verifierOfCell().Verify(ctx, sessionToken, time.Now())
	if !errors.Is(err, token.UnknownKey) {
		return claims, err
	}
	if former := s.verifierOfFormerCell(); former != nil {
		if earlier, formerErr := former.Verify(ctx, sessionToken, time.Now()); formerErr == nil {
			return earlier, nil
		}
	}
	if taken := s.takeSearch(); !taken {
		return claims, err
	}
	cell := s.registeredAt()
	if heartbeatErr := s.sendHeartbeat(ctx); heartbeatErr != nil || s.registeredAt() == cell {
		return claims, err
	}
	return s.verifierOfCell().Verify(ctx, sessionToken, time.Now())
}

// searchEvery bounds the heartbeats that tokens with unknown keys can cause.
const searchEvery = time.Second

// takeSearch takes the right to one heartbeat that searches the cell of an unknown key; false: another call has taken
// it within searchEvery.
func (s *GameServer) takeSearch() (taken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.searchedAt) < searchEvery {
		return false
	}
	s.searchedAt = time.Now()
	return true
}

// seatAdmission reports the join, and returns the admission when the director has connected its seat.
func (s *GameServer) seatAdmission(ctx context.Context, seat *Admission) (*Admission, error) {
	seat.ctx, seat.end = context.WithCancelCause(s.lifeContext)
	err := s.seatReports.reportJoin(ctx, seat)
	if err == nil {
		return seat, nil
	}
	seat.end(err)
	// Without a refusal the director may not have got the report: the player may try again with this token.
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
	err := s.callAsIncarnation(ctx, func(ref instanceRef) (cell string, err error) {
		req.InstanceID, req.Incarnation = ref.InstanceID, ref.Incarnation
		k := s.fleetCall("/fleet/seats", req)
		k.isOnce = true // the seat reporter retries, with the entries that arrive meanwhile
		return s.client.doAt(ctx, k, &answer)
	})
	return answer, err
}

// refreshEndpoint sends a heartbeat if a deployed server does not know the endpoint of a token as its own: the first
// player may arrive before the heartbeat whose answer has the endpoint.
func (s *GameServer) refreshEndpoint(ctx context.Context, ofToken string) {
	if s.serverOptions.Endpoint == "" && s.Endpoint() != ofToken {
		_ = s.sendHeartbeat(ctx) // after a failure the endpoint stays unknown, and the player is refused
	}
}
