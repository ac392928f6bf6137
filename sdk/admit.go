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
		TokenID: claims.ID, connectionName: connection,
	}
	seat.reportLeave = func() { s.seatReports.reportLeave(seat) }
	return s.seatAdmission(ctx, seat)
}

// verify verifies a token. One with an unknown key may be of the cell in which the region was before, or of that to
// which it has moved since the last heartbeat.
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
		req.InstanceID, req.Incarnation = ref.InstanceID, ref.Incarnation
		return req
	}, &answer)
	return answer, err
}

// isMine reports whether players dial this server at an endpoint. A deployed server may get its first player before its
// next heartbeat says its endpoint, so it sends one.
func (s *GameServer) isMine(ctx context.Context, endpoint string) bool {
	if s.serverOptions.Endpoint == "" && s.Endpoint() != endpoint {
		_ = s.sendHeartbeat(ctx) // on failure it is not known to be ours
	}
	return s.Endpoint() == endpoint
}
