package db

import (
	"context"
	"slices"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// maxSweptSessions bounds the sessions of a worker's transaction, which reads and writes all their rooms.
const maxSweptSessions = 128

// SuspendUnowned suspends up to 128 sessions whose replica has ended, and lets their rooms know. It returns their
// number, 0 if none are left. It skips sessions that another transaction has locked. Errors: Unavailable.
func (s *Store) SuspendUnowned(ctx context.Context, region string) (int, error) {
	return s.sweepSessions(ctx, region, func(t *sessionTx) ([]string, error) {
		ids, err := t.q.SessionsOfEndedReplicas(ctx,
			query.SessionsOfEndedReplicasParams{Region: region, Most: maxSweptSessions})
		if err != nil {
			return nil, err
		}
		return ids, t.suspendLocked(ctx, query.SuspendRealtimeSessionsParams{Ids: ids,
			Announced: slices.Repeat([]bool{true}, len(ids)), Silences: make([]time.Duration, len(ids))},
			s.cfg.RoomTypes.MarkAway)
	})
}

// AnnounceSuspended lets the rooms of up to 128 sessions know that the sessions are suspended: a draining replica
// suspended them five seconds ago without a word to the rooms, and they have not been resumed since. It returns the
// number of sessions, 0 if none are left. It skips sessions that another transaction has locked. Errors: Unavailable.
func (s *Store) AnnounceSuspended(ctx context.Context, region string) (int, error) {
	return s.sweepSessions(ctx, region, func(t *sessionTx) ([]string, error) {
		ids, err := t.q.SessionsToAnnounce(ctx,
			query.SessionsToAnnounceParams{Region: region, Most: maxSweptSessions})
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		// Marked with the commit, so that each suspension is announced once.
		query.QueueExec(t.q.Deferred(), (*query.Queries).AnnounceRealtimeSessions,
			query.AnnounceRealtimeSessionsParams{Region: region, Ids: ids})
		_, err = t.actInRooms(ctx, ids, joinedRooms, s.cfg.RoomTypes.MarkAway)
		return ids, err
	})
}

// EndExpiredRealtime ends up to 128 sessions that can no longer be resumed: they leave their rooms, lose their
// invitations and their tickets, and are deleted. It returns their number, 0 if none are left. It skips sessions that
// another transaction has locked. Errors: Unavailable.
func (s *Store) EndExpiredRealtime(ctx context.Context, region string) (int, error) {
	return s.endSessions(ctx, region, func(t *sessionTx) ([]string, error) {
		return t.q.SessionsToEnd(ctx, query.SessionsToEndParams{Region: region, Most: maxSweptSessions})
	})
}

// endSessions ends the sessions whose ids lock returns, and which it has locked: they leave their rooms, lose their
// invitations and their tickets, and are deleted. It returns their number. Errors: those of lock; Unavailable.
func (s *Store) endSessions(ctx context.Context, region string, lock func(*sessionTx) ([]string, error)) (int, error) {
	return s.sweepSessions(ctx, region, func(t *sessionTx) ([]string, error) {
		ids, err := lock(t)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		if _, err = t.actInRooms(ctx, ids, joinedAndInvitedRooms, s.cfg.RoomTypes.EndSession); err != nil {
			return nil, err
		}
		if err := t.store.dequeueSessions(ctx, t.q, region, ids); err != nil {
			return nil, err
		}
		query.QueueExec(t.q.Deferred(), (*query.Queries).DeleteRealtimeSessions,
			query.DeleteRealtimeSessionsParams{Region: region, Ids: ids})
		return ids, nil
	})
}

// sweepSessions runs a transaction in which sweep locks sessions, without waiting for other transactions, and changes
// them. It returns the number of the ids that sweep returns. A transaction that loses against a match with tickets of
// the sessions is retried.
func (s *Store) sweepSessions(ctx context.Context, region string,
	sweep func(*sessionTx) ([]string, error)) (swept int, err error) {
	for range frame.MaxConflictRetries {
		err = s.onSessions(ctx, region, func(t *sessionTx) error {
			// The further sessions that rooms need are waited for, before any other session is locked: sweep would skip
			// those that are locked.
			if len(t.furtherSessions) > 0 {
				if _, err := t.lock(ctx, nil); err != nil {
					return err
				}
			}
			ids, err := sweep(t)
			swept, t.isIdle = len(ids), len(ids) == 0
			return err
		})
		if !frame.IsConflict(err) {
			break
		}
	}
	if err != nil {
		return 0, frame.Classify(err)
	}
	return swept, nil
}
