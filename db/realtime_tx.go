package db

import (
	"context"
	"slices"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/lobby"
)

// sessionTx is one transaction on sessions of a region and on their rooms.
type sessionTx struct {
	store           *Store
	q               *query.Queries
	region          string
	furtherSessions []string // sessions that the rooms need and that are locked as well: see lockMoreError
	lobbyTurn       *lobbyTurn
	changedSessions []string // sessions whose replicas are notified of the commit
	isIdle          bool     // the transaction has changed nothing, and notifies nobody
}

// onSessions runs a transaction on sessions, and then sends its notices. It runs fn again if its rooms need further
// sessions.
func (s *Store) onSessions(ctx context.Context, region string, fn func(*sessionTx) error) error {
	var t *sessionTx
	err := lockingSessions(func(further []string) error {
		return s.frame.InTx(ctx, func(q *query.Queries) error {
			t = &sessionTx{store: s, q: q, region: region, furtherSessions: further}
			return fn(t)
		})
	})
	if err != nil {
		return err
	}
	t.sendNotices()
	return nil
}

// sendNotices wakes what reads the changes of this transaction. Call it after the commit, so that a process which wakes
// up finds the rows.
func (t *sessionTx) sendNotices() {
	// Most sweeps of a worker, one each second, find no session.
	if t.isIdle {
		return
	}
	// nil: none of the sessions is in a room.
	if t.lobbyTurn != nil {
		t.store.wakeReplicas(t.lobbyTurn)
	}
	t.store.notifyRealtime(t.region, t.changedSessions...)
	t.store.notifyTickets()
}

// lock locks sessions, and the further ones, in the order of their ids. It returns those that exist.
func (t *sessionTx) lock(ctx context.Context, ids []string) (map[string]query.LockRealtimeSessionsRow, error) {
	rows, err := t.q.LockRealtimeSessions(ctx,
		query.LockRealtimeSessionsParams{Region: t.region, Ids: slices.Concat(ids, t.furtherSessions)})
	return byID(rows), err
}

func byID(rows []query.LockRealtimeSessionsRow) map[string]query.LockRealtimeSessionsRow {
	found := make(map[string]query.LockRealtimeSessionsRow, len(rows))
	for _, r := range rows {
		found[r.ID] = r
	}
	return found
}

// sessionRooms are rooms of sessions that the transaction has locked, with the results of what acted in them.
type sessionRooms []struct {
	session string
	result  *lobbyResult
}

// roomScope says in which of the rooms of a session an action acts.
type roomScope bool

const (
	joinedRooms           roomScope = false // in which the session is
	joinedAndInvitedRooms roomScope = true  // and those to which it is invited
)

// actInRooms lets an action of each of some locked sessions act in its rooms. Call it once in a transaction.
func (t *sessionTx) actInRooms(ctx context.Context, sessions []string, scope roomScope,
	act func(session string) lobby.Action) (sessionRooms, error) {
	rows, err := t.q.RoomsOfRealtimeSessions(ctx, query.RoomsOfRealtimeSessionsParams{Region: t.region,
		Sessions: sessions, Invited: scope == joinedAndInvitedRooms})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	steps := make([]lobbyStep, len(rows))
	for i, r := range rows {
		steps[i] = lobbyStep{LobbyUID: r.Lobby, action: LobbyAction{
			// Epoch 0, since this transaction has locked the session and knows its owner.
			Region: t.region, ProjectID: r.Project, RoomID: r.Room, Session: SessionEpoch{ID: r.Session},
			Act: act(r.Session),
		}}
	}
	locked := slices.Concat(sessions, t.furtherSessions)
	if t.lobbyTurn, err = t.store.actIn(ctx, t.q, t.region, steps, locked); err != nil {
		return nil, err
	}
	out := make(sessionRooms, len(rows))
	for i, r := range rows {
		out[i].session, out[i].result = r.Session, &t.lobbyTurn.stepResults[i]
	}
	return out, nil
}
