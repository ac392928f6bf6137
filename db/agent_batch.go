package db

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// changeAgents makes changes of agents of one region in one transaction, at most one change for each agent. Further
// changes of an agent stay for the next batch.
func (s *Store) changeAgents(ctx context.Context, region string, calls []*agentCall) error {
	calls = onePerAgent(calls)
	run := s.frame.InTx
	if weightOf(calls) > maxAgentBatchWeight {
		run = s.frame.InBulkTx
	}
	t, err := s.onAgents(ctx, region, run, func(t *agentTx) error { return t.change(ctx, calls) })
	if err != nil {
		return err
	}
	for _, c := range calls {
		c.Answer(t.answer(c.Req))
	}
	return nil
}

// maxAgentBatchWeight limits the rows that a batch may write. A change that alone writes more, of up to 50,000 rooms,
// is a batch of its own, with the timeouts of bulk transactions.
const maxAgentBatchWeight = 4096

func weightOf(calls []*agentCall) (n int) {
	for _, c := range calls {
		n += c.Req.weight()
	}
	return n
}

// onePerAgent returns the first call of each agent. What a call changes decides about the agent's next call, which
// therefore stays for the next batch.
func onePerAgent(calls []*agentCall) []*agentCall {
	seen := make(map[string]bool, len(calls))
	var first []*agentCall
	for _, c := range calls {
		if id := c.Req.ref().ID; !seen[id] {
			seen[id] = true
			first = append(first, c)
		}
	}
	return first
}

// onAgents runs a transaction on agents of a region with run, which is InTx or InBulkTx of the frame. It returns the
// committed transaction, after its notifications were sent. If the transaction must lock further agents, it starts
// again with them, because locks are taken in a fixed order.
func (s *Store) onAgents(ctx context.Context, region string,
	run func(context.Context, func(*query.Queries) error) error, fn func(*agentTx) error) (*agentTx, error) {
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
		if err == nil {
			t.notify()
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

// lockMore is the error of a transaction that must lock further agents.
type lockMore struct{ agentIDs []string }

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

// apply applies a change to its agent. It changes nothing if the agent no longer belongs to the caller's replica:
// answer then returns Superseded.
func (t *agentTx) apply(c agentChange) {
	ref := c.ref()
	if c.join != nil && t.agentsByID[ref.ID] == nil && !t.endedReplicas[ref.ReplicaID] {
		t.join(t.addNewAgent(*c.join), *c.join)
		return
	}
	a := t.agentOf(ref)
	if a == nil {
		return
	}
	switch {
	case c.join != nil:
		// It has joined before: the call is a repetition, or the agent was doubted and proves that it lives.
		t.join(a, *c.join)
	case c.snapshot != nil:
		t.applySnapshot(a, *c.snapshot)
	case c.miss != nil:
		t.recordMisses(a, *c.miss)
	default:
		t.leave(a)
	}
}

// agentOf returns an agent that still belongs to the replica of ref; nil if it has left, or is another replica's.
func (t *agentTx) agentOf(ref AgentRef) *agentRow {
	a := t.agentsByID[ref.ID]
	if a == nil || a.hasLeft || a.ref.ReplicaID != ref.ReplicaID {
		return nil
	}
	return a
}

// answer returns the result of a change after the commit.
func (t *agentTx) answer(c agentChange) (AgentState, error) {
	// Leaving twice is no error.
	if c.leave != nil {
		return AgentState{}, nil
	}
	a := t.agentOf(c.ref())
	if a == nil {
		return AgentState{}, fault.New(fault.Superseded, "agent_left", "the agent has left: close its connection")
	}
	return a.state(), nil
}

// notify wakes those who follow the fleet, and the replicas that have commands to send or answers to give.
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
