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

// maxRoomsOfSession bounds the rooms of a session: when it is resumed, it is sent all of them.
const maxRoomsOfSession = 64

// errRoomEnds is the error of a step in a room that an older step of the transaction has ended. Another transaction
// finds no such room.
var errRoomEnds = errors.New("the room ends with this transaction")

// lockMoreError is the error of a transaction in which a room enqueues sessions that are not locked. The transaction
// runs again and locks them together with its own, since sessions are locked before rooms.
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

// actIn runs steps in a transaction, at most once in it: it locks the sessions of steps with an epoch and those of
// locked, locks and reads the rooms, runs the actions in order, and defers the writes to the commit. locked are further
// sessions, all or none of which the caller has locked before. Call announce after the commit. Errors: lockMoreError,
// only if an action enqueues; those of statements.
func (s *Store) actIn(ctx context.Context, q *query.Queries, region string, steps []lobbyStep,
	locked []string) (*lobbyTurn, error) {
	t := &lobbyTurn{
		region: region, stepResults: make([]lobbyResult, len(steps)),
		ownerEpochs: map[string]int64{}, lockedSessions: map[string]bool{}, roomsBySession: map[string]int{},
		byUID: map[uuid.UUID]*lobbyRoom{},
		byID:  map[lobbyID]*lobbyRoom{},
	}
	if err := t.load(ctx, q, steps, locked); err != nil {
		return nil, err
	}
	taken := make([]*lobbyRoom, len(steps))
	for i, step := range steps {
		taken[i], t.stepResults[i] = t.take(step)
	}
	// Only the actions tell which rooms queue. Nothing was written yet, so the transaction begins again with these
	// sessions locked.
	if ids := t.unlockedSessions(); len(ids) > 0 {
		return nil, &lockMoreError{ids}
	}
	if err := s.writeLobbies(ctx, q, t); err != nil {
		return nil, err
	}
	// Behind writeLobbies, which has decided about the position and the row of each room.
	for i, r := range taken {
		if r != nil {
			r.complete(&t.stepResults[i].answer)
		}
	}
	return t, nil
}

// load locks sessions and rooms, and reads them.
func (t *lobbyTurn) load(ctx context.Context, q *query.Queries, steps []lobbyStep, locked []string) error {
	var p tx.Pipeline
	var sessions []query.LockLobbySessionsRow
	var found []query.LockLobbiesRow
	var members []query.LobbyMembersRow
	ids := sessionsOf(steps, locked)
	if len(ids) > 0 {
		// In the order of all locks: sessions first, then rooms, whose locks protect their members.
		query.Queue(&p, &sessions, (*query.Queries).LockLobbySessions,
			query.LockLobbySessionsParams{Region: t.region, Ids: ids})
	}
	var joined []query.RoomsOfSessionsRow
	if joining := joiningSessions(steps); len(joining) > 0 {
		query.Queue(&p, &joined, (*query.Queries).RoomsOfSessions,
			query.RoomsOfSessionsParams{Region: t.region, Sessions: joining})
	}
	which := lobbiesOf(t.region, steps)
	query.Queue(&p, &found, (*query.Queries).LockLobbies, which)
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
	return t.read(found, members)
}

// sessionsOf returns the sessions to lock.
func sessionsOf(steps []lobbyStep, locked []string) []string {
	ids := slices.Clone(locked)
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

func (t *lobbyTurn) read(found []query.LockLobbiesRow, members []query.LobbyMembersRow) error {
	for _, row := range found {
		r, err := readLobby(row)
		if err != nil {
			return err
		}
		t.byUID[row.Uid], t.byID[lobbyID{row.Project, row.ID}] = r, r
	}
	for _, m := range members {
		if r := t.byUID[m.Lobby]; r != nil { // a room that was made after the locks is not decided about
			r.addMember(m)
		}
	}
	return nil
}

// take runs the action of a step, and returns the room if it succeeds.
func (t *lobbyTurn) take(step lobbyStep) (*lobbyRoom, lobbyResult) {
	if epoch, live := t.ownerEpochs[step.action.Session.ID]; step.action.Session.Epoch != 0 &&
		(!live || epoch != step.action.Session.Epoch) {
		return nil, lobbyResult{Err: fault.New(fault.Superseded, "session_superseded",
			"another connection owns the session, or it has ended")}
	}
	r := t.room(step)
	switch {
	case r == nil:
		return nil, lobbyResult{Err: lobby.ErrNotFound}
	// A later step may make a room with the same id, which another transaction has to do.
	case r.now.IsClosed:
		return nil, lobbyResult{Err: errRoomEnds}
	}
	// A member that joins its room again gets no further room.
	before := r.hasMember(step.action.Session.ID)
	if step.action.MakesRoom && !before && t.roomsBySession[step.action.Session.ID] >= maxRoomsOfSession {
		return nil, lobbyResult{Err: lobby.ErrTooManyRooms}
	}
	answer, effects, err := r.runAction(step.action.Act)
	if err != nil {
		return nil, lobbyResult{Err: err}
	}
	if !before && r.hasMember(step.action.Session.ID) {
		t.roomsBySession[step.action.Session.ID]++
	}
	t.use(r)
	t.note(r, step, effects)
	return r, lobbyResult{answer: LobbyAnswer{ActionAnswer: answer}, invitedPlayers: invitedBy(effects),
		cancelsTicket: slices.ContainsFunc(effects, isCancel)}
}

func isCancel(e lobby.Effect) bool { return e.Reason == lobby.ReasonCancel }

// room returns the room of a step, or a new one if the step may make it; nil: there is none.
func (t *lobbyTurn) room(step lobbyStep) *lobbyRoom {
	if step.LobbyUID != uuid.Nil {
		return t.byUID[step.LobbyUID]
	}
	if r := t.byID[lobbyID{step.action.ProjectID, step.action.RoomID}]; r != nil || !step.action.MakesRoom {
		return r
	}
	return newLobby(step.action.ProjectID, step.action.RoomID)
}

// use notes that an action has succeeded in a room.
func (t *lobbyTurn) use(r *lobbyRoom) {
	if r.hasChanged {
		return
	}
	r.hasChanged = true
	t.changedRooms = append(t.changedRooms, r)
	// Later steps of this transaction find a new room by both keys.
	t.byUID[r.uid], t.byID[lobbyID{r.now.Project, r.now.ID}] = r, r
}

// note collects the effects of an action beside its room.
func (t *lobbyTurn) note(r *lobbyRoom, step lobbyStep, effects []lobby.Effect) {
	for _, e := range effects {
		switch e.Kind {
		case lobby.EffectInvite:
			r.invite(e)
		case lobby.EffectRemove:
			// The removed session is no member any more, so that the notice of the room does not reach it.
			t.noticeKeys = append(t.noticeKeys, e.Session)
		case lobby.EffectEnqueue:
			t.queueChanges = append(t.queueChanges,
				lobbyQueueChange{LobbyUID: r.uid, ProjectID: r.now.Project, Members: r.now.Members,
					Queue: &e.Queue, TicketRequest: step.ticketRequest})
			// All members learn of the ticket, not only the one who asked for it.
			for _, m := range r.now.Members {
				t.noticeKeys = append(t.noticeKeys, m.Session)
			}
		case lobby.EffectSucceed:
			t.queueChanges = append(t.queueChanges,
				lobbyQueueChange{LobbyUID: r.uid, PredecessorID: e.FromSession, SessionID: e.Session})
			t.noticeKeys = append(t.noticeKeys, e.Session)
		// The player has left for good: its other sessions must not be invited again.
		case lobby.EffectWithdraw:
			r.answeredPlayers = append(r.answeredPlayers, e.Player)
		case lobby.EffectDequeue:
			t.queueChanges = append(t.queueChanges,
				lobbyQueueChange{LobbyUID: r.uid, ProjectID: r.now.Project, Members: r.now.Members,
					TicketID: step.cancellableTicket, isCancelled: isCancel(e)})
		}
	}
}

// unlockedSessions returns the sessions that enter the queue without being locked. One that has ended meanwhile is not locked
// for ever: it leaves the room with its session.
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

// announce wakes the replicas with members of the rooms that changed, and those of sessions that were invited or
// removed.
func (s *Store) announce(t *lobbyTurn) {
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
