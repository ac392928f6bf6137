package db

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
)

// maxRoomsOfSession bounds the rooms of a session, since a session that is resumed is sent all of them.
const maxRoomsOfSession = 64

// errRoomEnds is the error of a step in a room that an older step of the transaction has ended. The step may run in
// another transaction, which finds no such room.
var errRoomEnds = errors.New("the room ends with this transaction")

// lockMoreError is the error of a transaction in which a room enqueues sessions that are not locked. The transaction
// runs again and locks them with the other sessions, since sessions are locked before rooms.
type lockMoreError struct{ sessionIDs []string }

func (*lockMoreError) Error() string { return "further sessions must be locked" }

// lockingSessions runs a transaction on sessions and rooms, and again with further sessions to lock while it returns
// lockMoreError.
func lockingSessions(run func(further []string) error) error {
	var further []string
	for range frame.MaxConflictRetries {
		err := run(further)
		more, ok := errors.AsType[*lockMoreError](err)
		if !ok {
			return err
		}
		further = append(further, more.sessionIDs...)
	}
	return fault.NewUnavailable("the members of a room changed too often", nil)
}

// actIn runs steps in a transaction, which calls actIn once: it locks the sessions of steps with an epoch and further
// sessions, locks and reads the rooms, runs the actions in order, and defers the writes to the commit. The caller may
// have locked all further sessions before. Call wakeReplicas after the commit. Errors: lockMoreError, only if an action
// enqueues; those of statements. The errors of steps are in their results.
func (s *Store) actIn(ctx context.Context, q *query.Queries, region string, steps []lobbyStep,
	further []string) (*lobbyTurn, error) {
	t := &lobbyTurn{
		region: region, stepResults: make([]lobbyResult, len(steps)),
		ownerEpochs: map[string]int64{}, lockedSessions: map[string]bool{}, roomsBySession: map[string]int{},
		byUID: map[uuid.UUID]*lobbyRoom{},
		byID:  map[lobbyID]*lobbyRoom{},
	}
	if err := t.load(ctx, q, steps, further); err != nil {
		return nil, err
	}
	actedRooms := make([]*lobbyRoom, len(steps)) // by step; nil: its action has failed
	for i, step := range steps {
		actedRooms[i], t.stepResults[i] = t.runStep(step)
	}
	// Only the actions have decided which rooms queue. Nothing was written yet, so the transaction can begin again with
	// these sessions locked.
	if ids := t.unlockedSessions(); len(ids) > 0 {
		return nil, &lockMoreError{ids}
	}
	if err := s.writeLobbies(ctx, q, t); err != nil {
		return nil, err
	}
	// After writeLobbies, which has made the row of each room's log.
	for i, r := range actedRooms {
		if r != nil {
			r.complete(&t.stepResults[i].answer)
		}
	}
	return t, nil
}

// load locks sessions and rooms, and reads them.
func (t *lobbyTurn) load(ctx context.Context, q *query.Queries, steps []lobbyStep, further []string) error {
	var p tx.Pipeline
	var sessions []query.LockLobbySessionsRow
	var rooms []query.LockLobbiesRow
	var members []query.LobbyMembersRow
	ids := sessionsToLock(steps, further)
	if len(ids) > 0 {
		// Sessions are locked before rooms in all transactions. The lock of a room protects its members.
		query.Queue(&p, &sessions, (*query.Queries).LockLobbySessions,
			query.LockLobbySessionsParams{Region: t.region, Ids: ids})
	}
	var joined []query.RoomsOfSessionsRow
	if joining := joiningSessions(steps); len(joining) > 0 {
		query.Queue(&p, &joined, (*query.Queries).RoomsOfSessions,
			query.RoomsOfSessionsParams{Region: t.region, Sessions: joining})
	}
	which := lobbiesOf(t.region, steps)
	query.Queue(&p, &rooms, (*query.Queries).LockLobbies, which)
	query.Queue(&p, &members, (*query.Queries).LobbyMembers, query.LobbyMembersParams(which))
	if err := q.Send(ctx, &p); err != nil {
		return err
	}
	for _, r := range sessions {
		t.lockedSessions[r.ID] = true
		if r.Live {
			t.ownerEpochs[r.ID] = r.Epoch
		}
	}
	for _, r := range joined {
		t.roomsBySession[r.Session] = int(r.Rooms)
	}
	return t.addRooms(rooms, members)
}

// sessionsToLock returns the sessions of steps with an epoch and further ones, each once.
func sessionsToLock(steps []lobbyStep, further []string) []string {
	ids := slices.Clone(further)
	for _, step := range steps {
		if step.action.Session.Epoch != 0 {
			ids = append(ids, step.action.Session.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// joiningSessions returns the sessions of steps that may join a room.
func joiningSessions(steps []lobbyStep) (ids []string) {
	for _, step := range steps {
		if step.action.MakesRoom && step.action.Session.Epoch != 0 {
			ids = append(ids, step.action.Session.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// lobbiesOf returns the parameters that name the rooms of steps, each once.
func lobbiesOf(region string, steps []lobbyStep) query.LockLobbiesParams {
	p := query.LockLobbiesParams{Region: region}
	uids, ids := map[uuid.UUID]bool{}, map[lobbyID]bool{}
	for _, step := range steps {
		id := lobbyID{step.action.ProjectID, step.action.RoomID}
		switch {
		case step.LobbyUID == uuid.Nil && !ids[id]:
			ids[id] = true
			p.Projects = append(p.Projects, step.action.ProjectID)
			p.Ids = append(p.Ids, step.action.RoomID)
		case step.LobbyUID != uuid.Nil && !uids[step.LobbyUID]:
			uids[step.LobbyUID] = true
			p.Uids = append(p.Uids, step.LobbyUID)
		}
	}
	return p
}

// addRooms adds the locked rooms with their members.
func (t *lobbyTurn) addRooms(rooms []query.LockLobbiesRow, members []query.LobbyMembersRow) error {
	for _, row := range rooms {
		r, err := storedLobby(row)
		if err != nil {
			return err
		}
		t.byUID[row.Uid], t.byID[lobbyID{row.Project, row.ID}] = r, r
	}
	for _, m := range members {
		// nil: the room was made after the statement that locks, so the transaction does not know it.
		if r := t.byUID[m.Lobby]; r != nil {
			r.addMember(m)
		}
	}
	return nil
}

// runStep runs the action of a step, and returns its room if the action succeeds; nil otherwise.
func (t *lobbyTurn) runStep(step lobbyStep) (*lobbyRoom, lobbyResult) {
	session := step.action.Session
	if session.Epoch != 0 && !t.isOwner(session) {
		return nil, lobbyResult{err: fault.New(fault.Superseded, "session_superseded",
			"another connection owns the session, or it has ended")}
	}
	r := t.roomOf(step)
	if r == nil {
		return nil, lobbyResult{err: lobby.ErrNotFound}
	}
	// A later step may make a room with the same id, which another transaction has to do.
	if r.roomNow.IsClosed {
		return nil, lobbyResult{err: errRoomEnds}
	}
	// A member that joins its room again gets no further room.
	wasMember := r.hasMember(session.ID)
	if step.action.MakesRoom && !wasMember && t.roomsBySession[session.ID] >= maxRoomsOfSession {
		return nil, lobbyResult{err: lobby.ErrTooManyRooms}
	}
	answer, effects, err := r.runAction(step.action.Act)
	if err != nil {
		return nil, lobbyResult{err: err}
	}
	if !wasMember && r.hasMember(session.ID) {
		t.roomsBySession[session.ID]++
	}
	t.addChangedRoom(r)
	t.addEffects(r, step, effects)
	return r, lobbyResult{answer: LobbyAnswer{ActionAnswer: answer}, invitedPlayers: invitedBy(effects),
		cancelsTicket: slices.ContainsFunc(effects, isCancel)}
}

// isOwner reports whether a locked session still has the epoch of the caller.
func (t *lobbyTurn) isOwner(session SessionEpoch) bool {
	epoch, hasOwner := t.ownerEpochs[session.ID]
	return hasOwner && epoch == session.Epoch
}

// isCancel reports whether a member wants to leave the queue.
func isCancel(e lobby.Effect) bool { return e.Reason == lobby.ReasonCancel }

// roomOf returns the room of a step, or a new one if the step may make it; nil: there is none.
func (t *lobbyTurn) roomOf(step lobbyStep) *lobbyRoom {
	if step.LobbyUID != uuid.Nil {
		return t.byUID[step.LobbyUID]
	}
	if r := t.byID[lobbyID{step.action.ProjectID, step.action.RoomID}]; r != nil || !step.action.MakesRoom {
		return r
	}
	return newLobby(step.action.ProjectID, step.action.RoomID)
}

// addChangedRoom adds a room in which an action has succeeded, once.
func (t *lobbyTurn) addChangedRoom(r *lobbyRoom) {
	if r.hasActed {
		return
	}
	r.hasActed = true
	t.changedRooms = append(t.changedRooms, r)
	// Later steps of this transaction find a new room by both keys.
	t.byUID[r.uid], t.byID[lobbyID{r.roomNow.Project, r.roomNow.ID}] = r, r
}

// addEffects collects what an action changes beside the rows of its room.
func (t *lobbyTurn) addEffects(r *lobbyRoom, step lobbyStep, effects []lobby.Effect) {
	for _, e := range effects {
		switch e.Kind {
		case lobby.EffectInvite:
			r.addInvitation(e)
		case lobby.EffectRemove:
			// The removed session is no member any more, so the notice of the room does not reach it.
			t.noticeKeys = append(t.noticeKeys, e.Session)
		case lobby.EffectEnqueue:
			t.queueChanges = append(t.queueChanges,
				lobbyQueueChange{LobbyUID: r.uid, ProjectID: r.roomNow.Project, Members: r.roomNow.Members,
					Queue: &e.Queue, TicketRequest: step.ticketRequest})
			// All members learn of the ticket, not only the member who asked for it.
			for _, m := range r.roomNow.Members {
				t.noticeKeys = append(t.noticeKeys, m.Session)
			}
		case lobby.EffectSucceed:
			t.queueChanges = append(t.queueChanges,
				lobbyQueueChange{LobbyUID: r.uid, PredecessorID: e.FromSession, SessionID: e.Session})
			t.noticeKeys = append(t.noticeKeys, e.Session)
		case lobby.EffectWithdraw:
			// The player has left for good: the player's other sessions must not be invited again.
			r.answeredPlayers = append(r.answeredPlayers, e.Player)
		case lobby.EffectDequeue:
			t.queueChanges = append(t.queueChanges,
				lobbyQueueChange{LobbyUID: r.uid, ProjectID: r.roomNow.Project, Members: r.roomNow.Members,
					TicketID: step.cancellableTicket, isCancelled: isCancel(e)})
		}
	}
}

// unlockedSessions returns the sessions that enter the queue without being locked. A session that has ended cannot be
// locked, but has left its rooms by the next attempt.
func (t *lobbyTurn) unlockedSessions() (ids []string) {
	for _, c := range t.queueChanges {
		for _, m := range c.Members {
			if c.Queue != nil && !t.lockedSessions[m.Session] {
				ids = append(ids, m.Session)
			}
		}
	}
	return ids
}

// wakeReplicas wakes the replicas with members of the rooms that changed, the replicas of sessions that were invited or
// removed, and the followers of the queue.
func (s *Store) wakeReplicas(t *lobbyTurn) {
	for _, i := range t.invitedRows {
		if i.Connected {
			t.noticeKeys = append(t.noticeKeys, i.Session)
		}
	}
	s.notifyRealtime(t.region, t.noticeKeys...)
	if t.queueTurn != nil {
		t.queueTurn.wake()
	}
}
