package db

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// CommandPage is the maximum number of commands that [Store.PendingCommands] returns.
const CommandPage = 4096

// PendingCommands returns up to [CommandPage] commands that a replica must send, with ids after the given id; start
// with the zero id. A shorter page is the last. The pages include commands that were sent but are not acked yet.
// Errors: Unavailable.
func (s *Store) PendingCommands(ctx context.Context, region string, replica, after uuid.UUID) ([]Command, error) {
	rows, err := s.q.PendingCommands(ctx,
		query.PendingCommandsParams{Region: region, Replica: replica, After: after, Page: CommandPage})
	if err != nil {
		return nil, frame.Classify(err)
	}
	commands := make([]Command, len(rows))
	for i, r := range rows {
		c := Command{ID: r.ID, Region: region, AgentID: r.AgentID, ReplicaID: replica, Op: CommandOp(r.Op),
			Deadline: r.Deadline}
		// Drain and undrain concern no room.
		if r.Room != nil && r.Base != nil {
			c.RoomID = *r.Room
			if c.RawID, err = rawRoomID(*r.Base); err != nil {
				return nil, err
			}
		}
		// Only a create names a type.
		if r.Type != nil {
			c.RoomType = *r.Type
		}
		commands[i] = c
	}
	return commands, nil
}

// CommandAnswers returns the outcomes of settled commands, in any order. It leaves out deleted commands. Errors:
// Unavailable.
func (s *Store) CommandAnswers(ctx context.Context, region string, ids []uuid.UUID) ([]CommandAnswer, error) {
	rows, err := s.q.CommandAnswers(ctx, query.CommandAnswersParams{Region: region, Ids: ids})
	if err != nil {
		return nil, frame.Classify(err)
	}
	answers := make([]CommandAnswer, len(rows))
	for i, r := range rows {
		answers[i] = CommandAnswer{
			ID: r.ID, FinalState: CommandState(r.State), SettledTx: r.Tx, RoomID: r.Room, AgentID: r.Agent,
			CreatedRoom: RoomInfo{ID: r.Room, Type: r.Type, Connections: r.Connections, InstanceID: r.Agent,
				EndpointURL: r.Endpoint, Local: r.Local},
		}
	}
	return answers, nil
}

// ExpireCommand settles a command as timed out if it is pending after its deadline, and returns its outcome. The
// command stays pending if the deadline has not passed by the database's clock. The id of a room to create stays
// reserved until the agent's next reply. Errors: NotFound, "command_unknown", for a deleted command; Unavailable.
func (s *Store) ExpireCommand(ctx context.Context, region string, id uuid.UUID) (CommandAnswer, error) {
	return s.batchGroups.commandExpiries.Do(ctx, region, id)
}

// expireCommands answers a batch of ExpireCommand: each caller gets the state that its command has now.
func (s *Store) expireCommands(ctx context.Context, region string,
	calls []*batch.Call[uuid.UUID, CommandAnswer]) error {
	ids := make([]uuid.UUID, len(calls))
	for i, c := range calls {
		ids[i] = c.Req
	}
	// timeOut settles only the commands that are due. The others are answered with the state that they keep.
	if _, err := s.timeOut(ctx, region, ids); err != nil {
		return err
	}
	answers, err := s.CommandAnswers(ctx, region, ids)
	if err != nil {
		return err
	}
	for _, c := range calls {
		i := slices.IndexFunc(answers, func(a CommandAnswer) bool { return a.ID == c.Req })
		// ForgetCommands has deleted the command, at least a minute after it was settled.
		if i < 0 {
			c.Answer(CommandAnswer{}, fault.New(fault.NotFound, "command_unknown", "the command is not remembered"))
			continue
		}
		c.Answer(answers[i], nil)
	}
	return nil
}

// timeOut settles the commands that are pending after their deadline, and returns their number.
func (s *Store) timeOut(ctx context.Context, region string, ids []uuid.UUID) (n int, err error) {
	agents, err := s.q.AgentsOfCommands(ctx, query.AgentsOfCommandsParams{Region: region, Ids: ids})
	if err != nil || len(agents) == 0 {
		return 0, err
	}
	var locked []query.LockAgentStatesRow
	var due []query.ExpireCommandsRow
	// Judged again under the locks of the agents, which protect their commands: an ack may have settled some since they
	// were read.
	err = s.frame.InTx(ctx, func(q *query.Queries) error {
		var p tx.Pipeline
		query.Queue(&p, &locked, (*query.Queries).LockAgentStates,
			query.LockAgentStatesParams{Region: region, Ids: agents})
		query.Queue(&p, &due, (*query.Queries).ExpireCommands,
			query.ExpireCommandsParams{Region: region, Ids: ids, Agents: agents})
		return q.Send(ctx, &p)
	})
	if err != nil {
		return 0, err
	}
	var wake []uuid.UUID
	for _, d := range due {
		// The replica that holds the connection must learn that the database waits for the agent's next reply.
		wake = append(wake, d.Replica, d.Caller)
	}
	s.notifyReplicas(region, wake)
	return len(due), nil
}

const (
	settleBatch = 512 // commands that a call of a worker settles or deletes
	// overdue is the time after the deadline at which a worker settles a command. The caller's replica settles it at
	// the deadline.
	overdue = time.Second
)

// ExpireCommands settles commands that are still pending a second after their deadline, because the replicas of their
// callers have ended. It returns their number; fewer than 512 means that none are left. Errors: Unavailable.
func (s *Store) ExpireCommands(ctx context.Context, region string) (int, error) {
	ids, err := s.q.ForgottenCommands(ctx,
		query.ForgottenCommandsParams{Region: region, Overdue: overdue, Batch: settleBatch})
	if err != nil || len(ids) == 0 {
		return 0, frame.Classify(err)
	}
	n, err := s.timeOut(ctx, region, ids)
	return n, frame.Classify(err)
}

// ForgetCommands deletes commands a minute after they were settled, or after ten minutes if their agent may still ack
// them. It returns their number; fewer than 512 means that none are left. Errors: Unavailable.
func (s *Store) ForgetCommands(ctx context.Context, region string) (int, error) {
	n, err := s.q.DeleteSettledCommands(ctx, query.DeleteSettledCommandsParams{Region: region, Batch: settleBatch})
	return int(n), frame.Classify(err)
}
