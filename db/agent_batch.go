package db

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// agentBatch makes changes of agents of one region in one transaction, at most one change for each agent. Further
// changes of an agent stay for the next batch.
func (s *Store) agentBatch(ctx context.Context, region string, calls []*agentCall) error {
	calls = onePerAgent(calls)
	var done *agentTx
	err := s.onAgents(ctx, region, weightOf(calls) > heavyBatch, func(t *agentTx) (err error) {
		done = t
		return t.change(ctx, calls)
	})
	if err != nil {
		return err
	}
	for _, c := range calls {
		c.Answer(done.answer(c.Req))
	}
	return nil
}

// heavyBatch is the weight from which a transaction gets a longer timeout.
const heavyBatch = 4096

func weightOf(calls []*agentCall) (n int) {
	for _, c := range calls {
		n += c.Req.weight()
	}
	return n
}

// onePerAgent returns the first call of each agent: a call is decided by what the ones before it have changed, so that
// the others stay for the next batch.
func onePerAgent(calls []*agentCall) []*agentCall {
	seen := make(map[string]bool, len(calls))
	var out []*agentCall
	for _, c := range calls {
		if id := c.Req.ref().ID; !seen[id] {
			seen[id] = true
			out = append(out, c)
		}
	}
	return out
}

// onAgents runs a transaction on agents of a region, and then sends its notifications. If the transaction must lock
// further agents, it starts again with them, because locks are taken in a fixed order.
func (s *Store) onAgents(ctx context.Context, region string, heavy bool, fn func(*agentTx) error) error {
	run := s.frame.InTx
	if heavy {
		run = s.frame.InBulkTx
	}
	var further []string
	for range frame.MaxConflictRetries {
		var t *agentTx
		err := run(ctx, func(q *query.Queries) error {
			// Made for each attempt, so that no attempt writes what a rolled-back one has decided.
			t = newAgentTx(s, q, region, further)
			if err := fn(t); err != nil {
				return err
			}
			return t.write()
		})
		more, ok := errors.AsType[*lockMore](err)
		if !ok {
			if err == nil {
				t.notify()
			}
			return err
		}
		further = append(further, more.agentIDs...)
	}
	return errAgentRace
}

func (*lockMore) Error() string { return "further agents must be locked" }

// errAgentRace restarts a batch after other transactions have repeatedly changed the rooms that it must rename.
var errAgentRace = &pgconn.PgError{Code: "40001", Message: "rooms of other agents changed meanwhile"}

// change applies the calls to the rows, and gives the new rooms their public ids.
func (t *agentTx) change(ctx context.Context, calls []*agentCall) error {
	if err := t.load(ctx, calls); err != nil {
		return err
	}
	for _, c := range calls {
		t.apply(c.Req)
	}
	return t.nameRooms(ctx)
}

// apply applies a change to the agent, unless the agent no longer belongs to the caller's replica.
func (t *agentTx) apply(c agentChange) {
	ref := c.ref()
	a := t.agentsByID[ref.ID]
	switch {
	case c.join != nil && a == nil && !t.endedReplicas[ref.ReplicaID]:
		t.join(t.newAgent(*c.join), *c.join)
	case a == nil || a.hasLeft || a.ref.ReplicaID != ref.ReplicaID:
	// The agent has left, or another replica has it by now. answer returns Superseded, and nothing is written.
	case c.join != nil:
		// It has joined before: the call is a repetition, or the agent was doubted and proves that it lives.
		t.join(a, *c.join)
	case c.snapshot != nil:
		t.applySnapshot(a, *c.snapshot)
	case c.miss != nil:
		t.miss(a, *c.miss)
	default:
		t.leave(a)
	}
}

// answer returns the result of a change after the commit.
func (t *agentTx) answer(c agentChange) (AgentState, error) {
	ref := c.ref()
	a := t.agentsByID[ref.ID]
	switch {
	case c.leave != nil:
		// Also for an agent that has left already: to leave twice is no error.
		return AgentState{}, nil
	case a == nil || a.hasLeft || a.ref.ReplicaID != ref.ReplicaID:
		return AgentState{}, fault.New(fault.Superseded, "agent_left", "the agent has left: close its connection")
	}
	return a.state(), nil
}

// notify sends the notification for rosters that agents changed, and wakes the replicas with commands or answers.
func (t *agentTx) notify() {
	if t.hasChanges() {
		t.store.Notify(TopicFleet, t.region)
	}
	for replica := range t.wokenReplicas {
		t.store.Notify(TopicReplica(replica), t.region)
	}
}

func (t *agentTx) hasChanges() bool {
	for _, a := range t.agentsByID {
		if a.hasNewState || a.hasNewContent {
			return true
		}
	}
	return false
}
