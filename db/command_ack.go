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
	var t *ackTx
	var further []string
	for range frame.MaxConflictRetries {
		err := s.frame.InTx(ctx, func(q *query.Queries) error {
			// Made for each attempt, as in onAgents.
			t = &ackTx{q: q, region: region, furtherAgents: further, agentsByID: map[string]query.LockAgentStatesRow{},
				commandsByID: map[uuid.UUID]query.AcknowledgedCommandsRow{}}
			return t.run(ctx, calls)
		})
		more, ok := errors.AsType[*lockMore](err)
		if !ok {
			return s.acknowledged(t, calls, err)
		}
		further = append(further, more.agentIDs...)
	}
	return errAgentRace
}

// acknowledged answers the calls of a committed transaction, and wakes the replicas that wait for it.
func (s *Store) acknowledged(t *ackTx, calls []*ackCall, err error) error {
	if err != nil {
		return err
	}
	region := t.region
	s.notifyReplicas(region, t.callerReplicas)
	if len(t.settleParams.Ids) > 0 {
		s.Notify(TopicFleet, region)
	}
	for _, c := range calls {
		c.Answer(t.answer(c.Req.AgentRef))
	}
	return nil
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
		cmd, known := t.commandsByID[c.Req.CommandID]
		// An ack counts if the agent still belongs to the replica that sends it, and if the command was one of this
		// agent's. Any other ack changes nothing and is answered all the same.
		if a, ok := t.agentsByID[c.Req.AgentRef.ID]; ok && known && isStateOf(a, c.Req.AgentRef) &&
			cmd.AgentID == a.AgentID {
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
	lock, read := query.LockAgentStatesParams{Region: t.region,
		Ids: slices.Clone(t.furtherAgents)}, query.AcknowledgedCommandsParams{Region: t.region}
	for _, c := range calls {
		lock.Ids = append(lock.Ids, c.Req.AgentRef.ID)
		read.Ids = append(read.Ids, c.Req.CommandID)
	}
	// first: the next statement then sees the last holders' writes
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

func isStateOf(r query.LockAgentStatesRow, ref AgentRef) bool {
	return !r.HasLeft && r.Replica == ref.ReplicaID
}

// apply settles a command that is pending or has timed out.
func (t *ackTx) apply(ack CommandAck, cmd query.AcknowledgedCommandsRow) {
	was := CommandState(cmd.State)
	// Settled already: this ack is a repetition, whose answer was lost.
	if was != CommandPending && was != CommandTimedOut {
		return
	}
	state := settledState(ack, was)
	var c ackChange
	switch CommandOp(cmd.Op) {
	case CommandCreate:
		c = t.applyCreate(ack, cmd)
	case CommandDestroy:
		c = t.applyDestroy(ack, cmd)
	case CommandDrain:
		c = t.applyStatus(ack, cmd, AgentDraining, EventAgentDrained)
	case CommandUndrain:
		c = t.applyStatus(ack, cmd, AgentActive, EventAgentUndrained)
	}
	t.count(cmd, state, was, ack.FailureText, c)
	// The caller got a timeout of the command. The event corrects that.
	if state == CommandDoneLate {
		t.event(EventCommandDoneLate, cmd, commandDetail{cmd.ID, cmd.Op, cmd.Room})
	}
	// Drains that an operator keeps have no caller.
	if cmd.Caller != nil {
		t.callerReplicas = append(t.callerReplicas, *cmd.Caller)
	}
}

func settledState(ack CommandAck, was CommandState) CommandState {
	switch {
	case ack.IsOK && was == CommandTimedOut:
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
func (t *ackTx) applyCreate(ack CommandAck, cmd query.AcknowledgedCommandsRow) (c ackChange) {
	reserved := cmd.RoomState == roomReserved
	switch {
	case ack.IsOK && reserved:
		t.confirmedRooms = append(t.confirmedRooms, cmd.RoomID)
		// rooms are listed from now on. That the room exists is the agent's word; its next reply must show it.
		t.event(EventRoomCreated, cmd, roomInfoOfCommand(cmd))
		return ackChange{roomsDelta: 1, reservedDelta: -1, owesReply: true}
	case ack.IsOK && cmd.RoomState == "" && !t.agentsByID[cmd.AgentID].Doubted:
		// The reservation has ended, and the room exists nevertheless. A doubted agent is left out, since it joins
		// again with all its rooms.
		t.lateArrivals = append(t.lateArrivals, lateRoom{ackedCommand: cmd})
		return ackChange{roomsDelta: 1, owesReply: true}
	case !ack.IsOK && reserved && cmd.RoomIsIts:
		t.deletedRooms = append(t.deletedRooms, cmd.RoomID)
		return ackChange{reservedDelta: -1}
	}
	return c
}

// applyDestroy deletes the room. It keeps a reserved room, which was requested after the agent had destroyed the former
// room with that id.
func (t *ackTx) applyDestroy(ack CommandAck, cmd query.AcknowledgedCommandsRow) (c ackChange) {
	// Without a row, a reply that lacks the room has deleted it before the ack.
	if !ack.IsOK || cmd.RoomState == roomReserved || cmd.RoomState == "" {
		return c
	}
	t.deletedRooms = append(t.deletedRooms, cmd.RoomID)
	t.event(EventRoomDestroyed, cmd, roomInfoOfCommand(cmd))
	return ackChange{roomsDelta: -1, connectionsDelta: -int64(cmd.Connections)}
}

func (t *ackTx) applyStatus(ack CommandAck, cmd query.AcknowledgedCommandsRow, status, event string) (c ackChange) {
	if !ack.IsOK {
		return c
	}
	t.event(event, cmd, struct{}{})
	return ackChange{statusOverride: status}
}

// maxFailure limits the stored error text of an agent that refuses a command, in bytes.
const maxFailure = 512

func (t *ackTx) count(cmd query.AcknowledgedCommandsRow, state, was CommandState, failure string, c ackChange) {
	p, settled := &t.settleParams, int32(0)
	// SettleAcknowledged subtracts it from the commands in flight. A command that had timed out was subtracted by
	// ExpireCommands.
	if was == CommandPending {
		settled = 1
	}
	p.Ids = append(p.Ids, cmd.ID)
	p.Agents = append(p.Agents, cmd.AgentID)
	p.States = append(p.States, string(state))
	p.Errors = append(p.Errors, plainText(failure[:min(len(failure), maxFailure)]))
	p.Settled = append(p.Settled, settled)
	p.Rooms = append(p.Rooms, c.roomsDelta)
	p.Reserved = append(p.Reserved, c.reservedDelta)
	p.Connections = append(p.Connections, c.connectionsDelta)
	p.Overrides = append(p.Overrides, c.statusOverride)
	p.Owing = append(p.Owing, c.owesReply)
	// A copy for answer, which returns the state after the commit without another read.
	a := t.agentsByID[cmd.AgentID]
	a.OwesReply = a.OwesReply || c.owesReply
	if c.statusOverride != "" {
		a.Override = &c.statusOverride
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
	// Before the rooms that get new ids, one of which may be the id of a deleted room.
	if ids := t.deletedRooms; len(ids) > 0 {
		slices.Sort(ids)
		query.QueueExec(out, (*query.Queries).DeleteRooms, query.DeleteRoomsParams{Region: t.region, Ids: ids})
	}
	if len(t.confirmedRooms) > 0 {
		query.QueueExec(out, (*query.Queries).ConfirmRooms,
			query.ConfirmRoomsParams{Region: t.region, Ids: t.confirmedRooms})
	}
	// A game may close the room of a session before roomhost looks at it: without the mark, the session would seem to
	// have had none, and get another. The statement waits for no lock.
	if sessions := sessionsOfRooms(t.confirmedRooms); len(sessions) > 0 {
		query.QueueExec(out, (*query.Queries).MarkRooms, query.MarkRoomsParams{Region: t.region, Ids: sessions})
	}
	if len(t.roomRenames.Ids) > 0 {
		t.roomRenames.Region = t.region
		query.QueueExec(out, (*query.Queries).RenameRooms, t.roomRenames)
	}
	if len(t.lateArrivals) > 0 {
		query.QueueExec(out, (*query.Queries).InsertLateRooms, t.lateRooms())
	}
	if len(t.agentEvents.Ids) > 0 {
		query.QueueExec(out, (*query.Queries).LogAgentEvents, t.agentEvents)
	}
	return nil
}

// sessionsOfRooms returns the rooms whose ids may be those of sessions.
func sessionsOfRooms(rooms []string) (ids []uuid.UUID) {
	for _, room := range rooms {
		if id, err := uuid.Parse(room); err == nil && id.String() == room { // Parse knows other forms of the same id
			ids = append(ids, id)
		}
	}
	return ids
}

// answer returns the result of a call after the commit.
func (t *ackTx) answer(ref AgentRef) (AgentState, error) {
	a, ok := t.agentsByID[ref.ID]
	if !ok || !isStateOf(a, ref) {
		return AgentState{}, fault.New(fault.Superseded, "agent_left", "the agent has left: close its connection")
	}
	return AgentState{RecordedStatus: echoedStatus(effectiveState(a)), OwesSnapshot: a.OwesReply,
		JoinedElsewhere: a.Doubted}, nil
}
