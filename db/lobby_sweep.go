package db

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// LobbyRegions returns the regions that have rooms of the realtime lobby, or rows of their logs. Errors: Unavailable.
func (s *Store) LobbyRegions(ctx context.Context) ([]string, error) {
	regions, err := s.q.LobbyRegions(ctx)
	return regions, frame.Classify(err)
}

// CloseEmptyLobbies closes rooms that have had neither members nor invitations for their grace period. It looks at up
// to batch rooms, skips rooms that another transaction has locked, and returns how many it looked at and how many it
// closed. Errors: Unavailable.
func (s *Store) CloseEmptyLobbies(ctx context.Context, region string, batch int) (seen, closed int, err error) {
	err = s.frame.InTx(ctx, func(q *query.Queries) error {
		due, err := q.LobbiesToClose(ctx, query.LobbiesToCloseParams{Region: region, Most: int32(batch)})
		seen, closed = len(due), 0
		if err != nil || seen == 0 {
			return err
		}
		closed, err = closeLobbies(ctx, q, region, due)
		return err
	})
	if err != nil {
		return 0, 0, frame.Classify(err)
	}
	return seen, closed, nil
}

// closeLobbies deletes those of the locked rooms that are empty, and returns their number. The other rooms get no time
// to close until they are empty again.
func closeLobbies(ctx context.Context, q *query.Queries, region string, due []uuid.UUID) (int, error) {
	closed, err := q.CloseLobbies(ctx, query.CloseLobbiesParams{Region: region, Uids: due})
	if err != nil {
		return 0, err
	}
	deferRows(q.Deferred(), len(closed), (*query.Queries).DeleteMembersOfLobbies,
		query.DeleteMembersOfLobbiesParams{Region: region, Uids: closed})
	// All rooms that were due: the deleted ones match no row any more.
	deferRows(q.Deferred(), len(due)-len(closed), (*query.Queries).KeepLobbies,
		query.KeepLobbiesParams{Region: region, Uids: due})
	return len(closed), nil
}

// DropExpiredInvitations deletes the expired invitations of up to batch rooms and returns the number of these rooms, 0
// if none are left. It skips rooms that another transaction has locked. A room that has neither members nor invitations
// then closes after its grace. Errors: Unavailable.
func (s *Store) DropExpiredInvitations(ctx context.Context, region string, batch int) (n int, err error) {
	err = s.frame.InTx(ctx, func(q *query.Queries) error {
		uids, err := q.LobbiesWithExpiredInvitations(ctx,
			query.LobbiesWithExpiredInvitationsParams{Region: region, Most: int32(batch)})
		n = len(uids)
		if err != nil || n == 0 {
			return err
		}
		query.QueueExec(q.Deferred(), (*query.Queries).DeleteExpiredInvitations,
			query.DeleteExpiredInvitationsParams{Region: region, Uids: uids})
		query.QueueExec(q.Deferred(), (*query.Queries).StartGrace, query.StartGraceParams{Region: region, Uids: uids})
		return nil
	})
	if err != nil {
		return 0, frame.Classify(err)
	}
	return n, nil
}

// DropExpiredPlayerInvitations deletes up to batch expired invitations of players and returns their number. Errors:
// Unavailable.
func (s *Store) DropExpiredPlayerInvitations(ctx context.Context, region string, batch int) (int, error) {
	n, err := s.q.DropExpiredPlayerInvitations(ctx,
		query.DropExpiredPlayerInvitationsParams{Region: region, Most: int32(batch)})
	return int(n), frame.Classify(err)
}

// lobbyLogKept is how long replicas with members of a room can read a row of its log. A replica that is further behind
// sends its members snapshots.
const lobbyLogKept = time.Minute

// PruneLobbyLog deletes up to batch rows of logs that are older than a minute, the oldest first, and returns their
// number and the time of the newest of them. The next call passes this time as since; the first call passes the zero
// time. Without since, a call would read all deleted rows again, which takes longer and longer while an old snapshot
// keeps vacuum from removing them. Errors: Unavailable.
func (s *Store) PruneLobbyLog(ctx context.Context, region string, since time.Time, batch int) (int, time.Time, error) {
	row, err := s.q.PruneLobbyLog(ctx, query.PruneLobbyLogParams{Region: region, Since: since, Keep: lobbyLogKept,
		Most: int32(batch)})
	if err != nil {
		return 0, since, frame.Classify(err)
	}
	return int(row.Rows), row.Last, nil
}
