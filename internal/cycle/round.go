package cycle

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// round is a cycle as this replica takes part in it, as its owner or as a follower.
type round struct {
	*Engine

	ref     db.CycleRef
	began   time.Time
	changed chan struct{} // wakes the round: a call of this replica has a proposal, or another state

	registersUntil, collectsUntil time.Time // by this process's monotonic clock

	mu    sync.Mutex
	calls []*call
}

func newRound(e *Engine, c db.Cycle) *round {
	r := &round{
		Engine: e, ref: db.CycleRef{Region: e.Region, ID: c.ID, Replica: e.Replica, Lease: e.Lease}, began: time.Now(), changed: make(chan struct{}, 1),
	}
	r.setTimes(c)
	return r
}

func (r *round) setTimes(c db.Cycle) {
	now := time.Now()
	r.registersUntil, r.collectsUntil = now.Add(c.RegistersIn), now.Add(c.CollectsIn)
}

// add adds calls that have joined the cycle, and starts their match functions. The caller holds the engine's lock and has
// found the round under it: a round leaves the engine's map before it ends its calls.
func (r *round) add(calls []*call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, calls...)
	for _, c := range calls {
		c.start(r)
	}
	wake(r.changed)
}

// local returns the calls of this replica. More may join while the cycle registers.
func (r *round) local() []*call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clip(r.calls)
}

func (r *round) byID() map[uuid.UUID]*call {
	all := map[uuid.UUID]*call{}
	for _, c := range r.local() {
		all[c.id] = c
	}
	return all
}

// live returns the ids of this replica's calls that wait for matches.
func (r *round) live() (ids []uuid.UUID) {
	for _, c := range r.local() {
		if !c.isOver() {
			ids = append(ids, c.id)
		}
	}
	return ids
}

// cancelFunctions cancels the match functions that still run.
func (r *round) cancelFunctions() {
	for _, c := range r.local() {
		c.finish(errOverrun)
	}
}

// run takes part in the cycle until it has ended for the calls of this replica.
func (r *round) run(ctx context.Context, c db.Cycle) {
	err := r.Guard.Do("cycle", func() error { return r.takePart(ctx, c) })
	r.close(err)
	if err != nil && ctx.Err() == nil {
		r.Log.LogAttrs(ctx, slog.LevelWarn, "a cycle ended early on this replica", slog.String("cycle", r.ref.ID.String()), slog.Any("error", err))
	}
}

// takePart owns or follows the cycle. After a panic another replica may take the cycle over once the lease has expired.
func (r *round) takePart(ctx context.Context, c db.Cycle) error {
	notified, stop := r.Store.Subscribe(db.TopicCycle, r.Region)
	defer stop()
	if c.Owner == r.Replica {
		return newOwner(r, c, notified).run(ctx)
	}
	taken, err := newFollower(r, notified).run(ctx)
	if err != nil || taken == nil {
		return err
	}
	o := newOwner(r, *taken, notified)
	o.takenOver = true
	return o.run(ctx)
}

// close ends the calls that are left. err is why the round ended early; nil for calls that joined too late.
func (r *round) close(err error) {
	r.Engine.mu.Lock()
	delete(r.rounds, r.ref.ID)
	r.Engine.mu.Unlock()
	if err == nil {
		err = unavailable("the cycle is over")
	}
	for _, c := range r.local() {
		c.end(public(err))
	}
	wake(r.roundEnded)
}

// endCalls ends the calls of a cycle that has ended, also of those that joined last. failure is why it failed for all.
func (r *round) endCalls(failure error) {
	r.awaitJoining()
	if failure == nil {
		r.cancelFunctions()
	}
	for _, c := range r.local() {
		c.end(failure)
	}
}

// deliverCommitted delivers matches of this replica's calls that are committed, each once.
func (r *round) deliverCommitted(committed []db.CommittedProposal) {
	calls := r.byID()
	for _, m := range committed {
		c := calls[m.Caller]
		if c == nil {
			continue
		}
		if p, ok := c.undecided(m.Seq); ok {
			c.accept(m.Seq, r.createdBackfill(p, m))
		}
	}
}

// createdBackfill computes the backfill that the owner created for a proposal. Every replica computes the same contents.
func (r *round) createdBackfill(p Proposal, m db.CommittedProposal) *db.Backfill {
	if m.CreatedBackfill == "" {
		return nil
	}
	created, err := r.Backfill(p.BackfillBody, nil)
	if err != nil {
		return nil
	}
	return &db.Backfill{ID: m.CreatedBackfill, Body: created.Encode(m.CreatedBackfill, m.BackfillCreated), Generation: 1, Created: m.BackfillCreated}
}
