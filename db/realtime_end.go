package db

import (
	"context"
	"slices"

	"github.com/lattice-director/director/internal/rooms"
)

// sweptSessions bounds the sessions of a worker's transaction, which reads and writes all their rooms.
const sweptSessions = 128

// SuspendDeadReplicas suspends sessions whose replica has ended, and lets their rooms know. It returns their number, 0 if none are left. It skips
// sessions that another transaction has locked. Errors: Unavailable.
func (s *Store) SuspendDeadReplicas(ctx context.Context, region string, away func(session string) rooms.Action) (int, error) {
	return s.sweepSessions(ctx, region, func(t *sessionTx) ([]string, error) {
		ids, err := t.q.SessionsOfEndedReplicas(ctx, SessionsOfEndedReplicasParams{Region: region, Most: sweptSessions})
		if err != nil {
			return nil, err
		}
		return ids, t.suspend(ctx, SuspendRealtimeSessionsParams{Ids: ids, Announced: slices.Repeat([]bool{true}, len(ids))}, away)
	})
}

// AnnounceSuspended lets the rooms of sessions know that a draining replica suspended them five seconds ago and that they have not been resumed. It
// returns the number of sessions, 0 if none are left. It skips sessions that another transaction has locked. Errors: Unavailable.
func (s *Store) AnnounceSuspended(ctx context.Context, region string, away func(session string) rooms.Action) (int, error) {
	return s.sweepSessions(ctx, region, func(t *sessionTx) ([]string, error) {
		ids, err := t.q.SessionsToAnnounce(ctx, SessionsToAnnounceParams{Region: region, Most: sweptSessions})
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		queueExec(t.q.deferred(), (*Queries).AnnounceRealtimeSessions, AnnounceRealtimeSessionsParams{Region: region, Ids: ids})
		_, err = t.inRooms(ctx, ids, false, away)
		return ids, err
	})
}

// EndExpiredRealtime ends sessions that can no longer be resumed: they leave their rooms, lose their invitations and their tickets, and are
// deleted. It returns their number, 0 if none are left. It skips sessions that another transaction has locked. Errors: Unavailable.
func (s *Store) EndExpiredRealtime(ctx context.Context, region string, leave func(session string) rooms.Action) (int, error) {
	return s.sweepSessions(ctx, region, func(t *sessionTx) ([]string, error) {
		ids, err := t.q.SessionsToEnd(ctx, SessionsToEndParams{Region: region, Most: sweptSessions})
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		if _, err = t.inRooms(ctx, ids, true, leave); err != nil {
			return nil, err
		}
		if err := t.leaveSessions(ctx, t.q, region, ids); err != nil {
			return nil, err
		}
		queueExec(t.q.deferred(), (*Queries).DeleteRealtimeSessions, DeleteRealtimeSessionsParams{Region: region, Ids: ids})
		return ids, nil
	})
}

// sweepSessions runs a transaction on sessions that it locks by itself, without waiting for other transactions. Sessions that it must lock besides
// come first: while it waits for those it holds no locks out of order.
func (s *Store) sweepSessions(ctx context.Context, region string, fn func(*sessionTx) ([]string, error)) (swept int, err error) {
	err = s.onSessions(ctx, region, func(t *sessionTx) error {
		if len(t.further) > 0 {
			if _, err := t.lock(ctx, nil); err != nil {
				return err
			}
		}
		ids, err := fn(t)
		swept = len(ids)
		return err
	})
	return swept, classify(err)
}
