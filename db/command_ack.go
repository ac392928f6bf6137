package db

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// AcknowledgeCommand settles a command with the ack of its agent. The same transaction lists a created room, deletes a
// destroyed room, or records a drain. A command that has timed out in the meantime becomes done_late. A command that is
// settled otherwise, or was already deleted, does not change. The calls of AcknowledgeCommand and ApplySnapshot for one
// agent must be made one after the other. Errors: Superseded (close the connection), Unavailable.
func (s *Store) AcknowledgeCommand(ctx context.Context, a CommandAck) (AgentState, error) {
	return s.batchGroups.commandAcks.Do(ctx, a.AgentRef.Region, a)
}

type ackCall = batch.Call[CommandAck, AgentState]

// acknowledge settles the commands of one region's calls in one transaction, at most one call for each agent. The
// others stay for the next batch.
func (s *Store) acknowledge(ctx context.Context, region string, calls []*ackCall) error {
	calls = oneAckPerAgent(calls)
	t, err := s.commitAcks(ctx, region, calls)
	if err != nil {
		return err
	}
	s.notifyReplicas(region, t.callerReplicas)
	if len(t.settleParams.Ids) > 0 {
		s.Notify(TopicFleet, region)
	}
	for _, c := range calls {
		c.Answer(t.answer(c.Req.AgentRef))
	}
	return nil
}

// commitAcks runs the transaction, and again with further agents that it must lock, as onAgents does. It returns the
// committed transaction.
func (s *Store) commitAcks(ctx context.Context, region string, calls []*ackCall) (*ackTx, error) {
	var further []string
	for range frame.MaxConflictRetries {
		var t *ackTx
		err := s.frame.InTx(ctx, func(q *query.Queries) error {
			// Made for each attempt, as in onAgents.
			t = &ackTx{q: q, region: region, furtherAgents: further, agentsByID: map[string]query.LockAgentStatesRow{},
				commandsByID: map[uuid.UUID]query.AcknowledgedCommandsRow{}}
			return t.run(ctx, calls)
		})
		if err == nil {
			return t, nil
		}
		more, ok := errors.AsType[*lockMore](err)
		if !ok {
			return nil, err
		}
		further = append(further, more.agentIDs...)
	}
	return nil, errAgentRace
}

// oneAckPerAgent returns the first ack of each agent, as onePerAgent does with replies.
func oneAckPerAgent(calls []*ackCall) (first []*ackCall) {
	seen := map[string]bool{}
	for _, c := range calls {
		if !seen[c.Req.AgentRef.ID] {
			seen[c.Req.AgentRef.ID] = true
			first = append(first, c)
		}
	}
	return first
}

func (a CommandAck) bytes() int {
	return textBytes(a.AgentRef.Region, a.AgentRef.ID, a.FailureText, a.RoomType, a.RawID)
}

func (t *ackTx) run(ctx context.Context, calls []*ackCall) error {
	if err := t.load(ctx, calls); err != nil {
		return err
	}
	for _, c := range calls {
		cmd, isKnown := t.commandsByID[c.Req.CommandID]
		// An ack counts if the agent still belongs to the replica that sends it, and if the command was one of this
		// agent's. Any other ack changes nothing and is answered all the same.
		if isKnown && t.isHeld(c.Req.AgentRef) && cmd.AgentID == c.Req.AgentRef.ID {
			t.apply(c.Req, cmd)
		}
	}
	if err := t.nameLateRooms(ctx); err != nil {
		return err
	}
	return t.write()
}

func (t *ackTx) load(ctx context.Context, calls []*ackCall) error {
	var p tx.Pipeline
	var agents []query.LockAgentStatesRow
	var commands []query.AcknowledgedCommandsRow
	lock := query.LockAgentStatesParams{Region: t.region, Ids: slices.Clone(t.furtherAgents)}
	read := query.AcknowledgedCommandsParams{Region: t.region}
	for _, c := range calls {
		lock.Ids = append(lock.Ids, c.Req.AgentRef.ID)
		read.Ids = append(read.Ids, c.Req.CommandID)
	}
	// The lock is taken first, so that the statement after it sees what its last holders wrote.
	query.Queue(&p, &agents, (*query.Queries).LockAgentStates, lock)
	query.Queue(&p, &commands, (*query.Queries).AcknowledgedCommands, read)
	if err := t.q.Send(ctx, &p); err != nil {
		return err
	}
	for _, a := range agents {
		t.agentsByID[a.AgentID] = a
	}
	for _, c := range commands {
		t.commandsByID[c.ID] = c
	}
	return nil
}

// isHeld reports whether the agent of ref is there and still belongs to the replica of ref.
func (t *ackTx) isHeld(ref AgentRef) bool {
	a, ok := t.agentsByID[ref.ID]
	return ok && !a.HasLeft && a.Replica == ref.ReplicaID
}

// apply settles a command that is pending or has timed out.
func (t *ackTx) apply(ack CommandAck, cmd query.AcknowledgedCommandsRow) {
	before := CommandState(cmd.State)
	// Settled already: this ack is a repetition, whose answer was lost.
	if before != CommandPending && before != CommandTimedOut {
		return
	}
	state := settledState(ack, before)
	var change ackChange
	switch CommandOp(cmd.Op) {
	case CommandCreate:
		change = t.applyCreate(ack, cmd)
	case CommandDestroy:
		change = t.applyDestroy(ack, cmd)
	case CommandDrain:
		change = t.applyStatus(ack, cmd, AgentDraining, EventAgentDrained)
	case CommandUndrain:
		change = t.applyStatus(ack, cmd, AgentActive, EventAgentUndrained)
	}
	t.settle(cmd, state, ack.FailureText, change)
	// The caller was answered that the command timed out. The event corrects that answer.
	if state == CommandDoneLate {
		t.logEvent(EventCommandDoneLate, cmd, commandDetail{cmd.ID, cmd.Op, cmd.Room})
	}
	// Drains that an operator keeps have no caller.
	if cmd.Caller != nil {
		t.callerReplicas = append(t.callerReplicas, *cmd.Caller)
	}
}

func settledState(ack CommandAck, before CommandState) CommandState {
	switch {
	case ack.IsOK && before == CommandTimedOut:
		return CommandDoneLate
	case ack.IsOK:
		return CommandDone
	// The agent has refused the create, since it has a room of that id: the caller gets ROOM_EXISTS.
	case ack.RoomExists:
		return CommandExists
	}
	return CommandFailed
}

// applyCreate lists the room, or frees its id if the agent refused. The id may since be reserved by another command for
// the same agent. A room that an earlier reply contained is already listed.
func (t *ackTx) applyCreate(ack CommandAck, cmd query.AcknowledgedCommandsRow) ackChange {
	isReserved := cmd.RoomState == roomReserved
	switch {
	case ack.IsOK && isReserved:
		t.confirmedRooms = append(t.confirmedRooms, cmd.RoomID)
		// The room is listed from now on. Until the agent's next reply shows it, only the ack says that it exists.
		t.logEvent(EventRoomCreated, cmd, roomInfoOfCommand(cmd))
		return ackChange{roomsDelta: 1, reservedDelta: -1, owesReply: true}
	case ack.IsOK && cmd.RoomState == "" && !t.agentsByID[cmd.AgentID].Doubted:
		// The reservation has ended, and the room exists nevertheless. A doubted agent is left out, since it joins
		// again with all its rooms.
		t.lateRooms = append(t.lateRooms, lateRoom{ackedCommand: cmd})
		return ackChange{roomsDelta: 1, owesReply: true}
	case !ack.IsOK && isReserved && cmd.RoomIsIts:
		t.deletedRooms = append(t.deletedRooms, cmd.RoomID)
		return ackChange{reservedDelta: -1}
	}
	return ackChange{}
}

// applyDestroy deletes the room. It keeps a reserved room, which was requested after the agent had destroyed the former
// room with that id.
func (t *ackTx) applyDestroy(ack CommandAck, cmd query.AcknowledgedCommandsRow) ackChange {
	// A room without a row was deleted before the ack, by a reply that lacks it.
	if !ack.IsOK || cmd.RoomState == roomReserved || cmd.RoomState == "" {
		return ackChange{}
	}
	t.deletedRooms = append(t.deletedRooms, cmd.RoomID)
	t.logEvent(EventRoomDestroyed, cmd, roomInfoOfCommand(cmd))
	return ackChange{roomsDelta: -1, connectionsDelta: -int64(cmd.Connections)}
}

// applyStatus overrides the status that the agent has reported, until its next reply.
func (t *ackTx) applyStatus(ack CommandAck, cmd query.AcknowledgedCommandsRow, status, eventKind string) ackChange {
	if !ack.IsOK {
		return ackChange{}
	}
	t.logEvent(eventKind, cmd, struct{}{})
	return ackChange{statusOverride: status}
}

// maxFailure limits the stored error text of an agent that refuses a command, in bytes.
const maxFailure = 512

// settle adds a command with its final state, and what its ack changes of the agent, to what the transaction writes.
func (t *ackTx) settle(cmd query.AcknowledgedCommandsRow, state CommandState, failure string, change ackChange) {
	// SettleAcknowledged subtracts the command from those in flight. ExpireCommands has subtracted one that timed out.
	settled := int32(0)
	if CommandState(cmd.State) == CommandPending {
		settled = 1
	}
	p := &t.settleParams
	p.Ids = append(p.Ids, cmd.ID)
	p.Agents = append(p.Agents, cmd.AgentID)
	p.States = append(p.States, string(state))
	p.Errors = append(p.Errors, storableText(failure[:min(len(failure), maxFailure)]))
	p.Settled = append(p.Settled, settled)
	p.Rooms = append(p.Rooms, change.roomsDelta)
	p.Reserved = append(p.Reserved, change.reservedDelta)
	p.Connections = append(p.Connections, change.connectionsDelta)
	p.Overrides = append(p.Overrides, change.statusOverride)
	p.Owing = append(p.Owing, change.owesReply)
	// Changed in the copy as well: answer returns the state after the commit without another read.
	a := t.agentsByID[cmd.AgentID]
	a.OwesReply = a.OwesReply || change.owesReply
	if change.statusOverride != "" {
		a.Override = &change.statusOverride
	}
	t.agentsByID[cmd.AgentID] = a
}

// write queues the statements in lock order; they are sent together with COMMIT.
func (t *ackTx) write() error {
	// Repetitions, and acks of agents that have left, change nothing.
	if len(t.settleParams.Ids) == 0 {
		return nil
	}
	out := t.q.Deferred()
	t.settleParams.Region, t.agentEvents.Region = t.region, t.region
	query.QueueExec(out, (*query.Queries).SettleAcknowledged, t.settleParams)
	// Rooms are deleted before others get new ids, one of which may be the id of a deleted room.
	if ids := t.deletedRooms; len(ids) > 0 {
		slices.Sort(ids)
		query.QueueExec(out, (*query.Queries).DeleteRooms, query.DeleteRoomsParams{Region: t.region, Ids: ids})
	}
	if len(t.confirmedRooms) > 0 {
		query.QueueExec(out, (*query.Queries).ConfirmRooms,
			query.ConfirmRoomsParams{Region: t.region, Ids: t.confirmedRooms})
	}
	// A game may close the room of a session before roomhost looks at the room: without the mark, the session would
	// seem to have had no room, and get another. The statement waits for no lock.
	if sessions := sessionsOfRooms(t.confirmedRooms); len(sessions) > 0 {
		query.QueueExec(out, (*query.Queries).MarkRooms, query.MarkRoomsParams{Region: t.region, Ids: sessions})
	}
	if len(t.roomRenames.Ids) > 0 {
		t.roomRenames.Region = t.region
		query.QueueExec(out, (*query.Queries).RenameRooms, t.roomRenames)
	}
	if len(t.lateRooms) > 0 {
		query.QueueExec(out, (*query.Queries).InsertLateRooms, t.lateRoomParams())
	}
	if len(t.agentEvents.Ids) > 0 {
		query.QueueExec(out, (*query.Queries).LogAgentEvents, t.agentEvents)
	}
	return nil
}

// sessionsOfRooms returns the ids of rooms that may be ids of sessions.
func sessionsOfRooms(roomIDs []string) (sessionIDs []uuid.UUID) {
	for _, room := range roomIDs {
		// A session's id has the form that String returns; Parse accepts others as well.
		if id, err := uuid.Parse(room); err == nil && id.String() == room {
			sessionIDs = append(sessionIDs, id)
		}
	}
	return sessionIDs
}

// answer returns the result of a call after the commit.
func (t *ackTx) answer(ref AgentRef) (AgentState, error) {
	if !t.isHeld(ref) {
		return AgentState{}, fault.New(fault.Superseded, "agent_left", "the agent has left: close its connection")
	}
	a := t.agentsByID[ref.ID]
	return AgentState{RecordedStatus: echoedStatus(effectiveStatus(a)), OwesSnapshot: a.OwesReply,
		IsDoubted: a.Doubted}, nil
}

// effectiveStatus returns the effective status; it must agree with agent_status in SQL.
func effectiveStatus(r query.LockAgentStatesRow) string {
	switch {
	case r.Kept:
		return AgentDraining
	case r.Override != nil:
		return *r.Override
	}
	return r.Status
}
