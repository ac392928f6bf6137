package db

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/internal/value"
	"github.com/lattice-director/director/db/query"
)

// DestroyRoom inserts the command that destroys a room. The id is compared unchanged. Errors, with the code: NotFound,
// ROOM_NOT_FOUND; TooMany, INSTANCE_BUSY; Unavailable, in which case the command may or may not be sent.
func (s *Store) DestroyRoom(ctx context.Context, region, roomID string, caller uuid.UUID, actor string,
	timeout time.Duration) (Command, error) {
	return s.batchGroups.commandOrders.Do(ctx, region,
		commandOrder{op: CommandDestroy, roomID: roomID, callerReplica: caller, actor: actor, timeout: timeout})
}

// AgentCommand is the command that drains or undrains an agent.
type AgentCommand struct {
	Region        string
	AgentID       string
	Op            CommandOp
	Keep          bool // the drain also applies to agents with the same name and endpoint that join later
	CallerReplica uuid.UUID
	Actor         string
	Timeout       time.Duration // from its insertion to its deadline
}

// CommandAgent inserts a command. A drain that is kept is recorded first, and stays even if the command is refused; an
// undrain ends it. Errors, with the code: NotFound, INSTANCE_NOT_FOUND; TooMany, INSTANCE_BUSY; Unavailable, in
// which case the command may or may not be sent.
func (s *Store) CommandAgent(ctx context.Context, c AgentCommand) (Command, error) {
	if c.Keep || c.Op == CommandUndrain {
		if err := s.recordKeptDrain(ctx, c); err != nil {
			return Command{}, err
		}
	}
	return s.batchGroups.commandOrders.Do(ctx, c.Region,
		commandOrder{op: c.Op, agentID: c.AgentID, callerReplica: c.CallerReplica, actor: c.Actor, timeout: c.Timeout})
}

// recordKeptDrain records that a drain is kept for the name and endpoint of an agent, or that it is no longer kept.
func (s *Store) recordKeptDrain(ctx context.Context, c AgentCommand) error {
	if !isStorable(c.AgentID) {
		return agentNotFound(c.AgentID)
	}
	found, err := s.q.FindAgents(ctx, query.FindAgentsParams{Region: c.Region, Ids: []string{c.AgentID}})
	if err != nil {
		return frame.Classify(err)
	}
	if len(found) == 0 {
		return agentNotFound(c.AgentID)
	}
	agent := found[0]
	if c.Op == CommandDrain {
		_, err := s.KeepDrain(ctx, c.Region, agent.Name, agent.Endpoint, c.Actor)
		return err
	}
	if !agent.Kept {
		return nil
	}
	_, err = s.UnkeepDrain(ctx, c.Region, agent.Name, agent.Endpoint, c.Actor)
	return err
}

// errRoomMoved rolls back a transaction if a room moved to another agent between its read and its lock.
var errRoomMoved = &pgconn.PgError{Code: "40001", Message: "a room was passed to another agent meanwhile"}

// commandOrder is a requested command other than a create.
type commandOrder struct {
	op            CommandOp
	roomID        string // public id; of destroy
	agentID       string // of drain and undrain
	callerReplica uuid.UUID
	actor         string
	timeout       time.Duration
}

func (o commandOrder) bytes() int { return textBytes(o.roomID, o.agentID, o.actor) }

type commandCall = batch.Call[commandOrder, Command]

// sendCommands inserts the commands of the calls of one region in one transaction.
func (s *Store) sendCommands(ctx context.Context, region string, calls []*commandCall) error {
	var t *sendTx
	err := s.frame.InTx(ctx, func(q *query.Queries) error {
		// Made for each attempt, as in onAgents.
		t = &sendTx{q: q, region: region, agentsByID: map[string]query.LockAgentStatesRow{},
			roomsByID: map[string]query.RoomsToDestroyRow{}}
		return t.run(ctx, calls)
	})
	if err != nil {
		return err
	}
	s.notifyReplicas(region, t.sendParams.Replicas)
	// The statement has computed the deadlines, by the database's clock.
	deadlines := map[uuid.UUID]time.Time{}
	for _, r := range t.sentRows {
		deadlines[r.ID] = r.Deadline
	}
	for i, c := range calls {
		t.commandsOfCalls[i].Deadline = deadlines[t.commandsOfCalls[i].ID]
		c.Answer(t.commandsOfCalls[i], t.errsOfCalls[i])
	}
	return nil
}

// sendTx is one transaction that inserts commands.
type sendTx struct {
	q      *query.Queries
	region string

	agentsByID map[string]query.LockAgentStatesRow
	roomsByID  map[string]query.RoomsToDestroyRow

	commandsOfCalls []Command // by the index of the call; zero for a refused call
	errsOfCalls     []error   // by the index of the call; nil: its command was inserted
	sendParams      query.SendCommandsParams
	sentRows        []query.SendCommandsRow // filled at the commit
}

func (t *sendTx) run(ctx context.Context, calls []*commandCall) error {
	if err := t.load(ctx, calls); err != nil {
		return err
	}
	t.commandsOfCalls, t.errsOfCalls = make([]Command, len(calls)), make([]error, len(calls))
	for i, c := range calls {
		// A conflict rolls back the whole batch, which the group then decides again. Other errors are the answers of
		// their calls.
		t.commandsOfCalls[i], t.errsOfCalls[i] = t.addCommand(c.Req)
		if frame.IsConflict(t.errsOfCalls[i]) {
			return t.errsOfCalls[i]
		}
	}
	if len(t.sendParams.Ids) > 0 {
		t.sendParams.Region = t.region
		query.Queue(t.q.Deferred(), &t.sentRows, (*query.Queries).SendCommands, t.sendParams)
	}
	return nil
}

// load finds the agents of the rooms, locks these and the named agents, and reads the rooms again, because they may be
// gone by then.
func (t *sendTx) load(ctx context.Context, calls []*commandCall) error {
	destroy, lock := query.RoomsToDestroyParams{Region: t.region}, query.LockAgentStatesParams{Region: t.region}
	for _, c := range calls {
		// No row has an id that Postgres cannot store.
		switch o := c.Req; {
		case o.op == CommandDestroy && isStorable(o.roomID):
			destroy.Ids = append(destroy.Ids, o.roomID)
		case o.op != CommandDestroy && isStorable(o.agentID):
			lock.Ids = append(lock.Ids, o.agentID)
		}
	}
	if len(destroy.Ids) > 0 {
		unlocked, err := t.q.RoomsToDestroy(ctx, destroy)
		if err != nil {
			return err
		}
		for _, r := range unlocked {
			lock.Ids = append(lock.Ids, r.AgentID)
		}
	}
	slices.Sort(lock.Ids)
	lock.Ids = slices.Compact(lock.Ids)
	var p tx.Pipeline
	var agents []query.LockAgentStatesRow
	var rooms []query.RoomsToDestroyRow
	query.Queue(&p, &agents, (*query.Queries).LockAgentStates, lock)
	if len(destroy.Ids) > 0 {
		query.Queue(&p, &rooms, (*query.Queries).RoomsToDestroy, destroy)
	}
	if err := t.q.Send(ctx, &p); err != nil {
		return err
	}
	for _, a := range agents {
		// No command is sent to an agent that has left or is doubted.
		if !a.HasLeft && !a.Doubted {
			t.agentsByID[a.AgentID] = a
		}
	}
	for _, r := range rooms {
		t.roomsByID[r.ID] = r
	}
	return nil
}

// addCommand returns the command of a call, and adds it to those that the transaction inserts. Its deadline is known
// after the commit.
func (t *sendTx) addCommand(o commandOrder) (Command, error) {
	cmd := Command{ID: value.NewID(), Region: t.region, AgentID: o.agentID, Op: o.op}
	base := ""
	if o.op == CommandDestroy {
		room, ok := t.roomsByID[o.roomID]
		if !ok {
			return Command{}, roomNotFound(o.roomID)
		}
		raw, err := rawRoomID(room.Base)
		if err != nil {
			return Command{}, err
		}
		cmd.AgentID, cmd.RoomID, cmd.RawID, base = room.AgentID, room.ID, raw, room.Base
	}
	a, ok := t.agentsByID[cmd.AgentID]
	switch {
	case !ok && o.op == CommandDestroy:
		return Command{}, errRoomMoved
	case !ok:
		return Command{}, agentNotFound(cmd.AgentID)
	case a.InFlight >= maxInFlight:
		return Command{}, agentBusy()
	}
	// The next call of the batch finds this command among those in flight.
	a.InFlight++
	t.agentsByID[a.AgentID] = a
	cmd.ReplicaID = a.Replica
	addCommandToSend(&t.sendParams, o, cmd, base)
	return cmd, nil
}

func addCommandToSend(p *query.SendCommandsParams, o commandOrder, cmd Command, base string) {
	p.Ids = append(p.Ids, cmd.ID)
	p.Agents = append(p.Agents, cmd.AgentID)
	p.Replicas = append(p.Replicas, cmd.ReplicaID)
	p.Callers = append(p.Callers, o.callerReplica)
	p.Ops = append(p.Ops, string(o.op))
	p.Rooms = append(p.Rooms, cmd.RoomID)
	p.Bases = append(p.Bases, base)
	p.Actors = append(p.Actors, o.actor)
	p.Timeouts = append(p.Timeouts, o.timeout.Seconds())
}
