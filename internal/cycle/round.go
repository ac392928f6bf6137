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

// round is a cycle as this replica takes part in it.
type round struct {
	*Engine

	ref   db.CycleRef
	began time.Time
	woken chan struct{} // rings when a call of ours has proposed, has no more, or is over

	registersUntil, collectsUntil time.Time // by this process's monotonic clock

	mu    sync.Mutex
	calls []*call
}

func newRound(e *Engine, c db.Cycle) *round {
	r := &round{
		Engine: e, ref: db.CycleRef{Region: e.Region, ID: c.ID, Replica: e.Replica, Lease: e.Lease}, began: time.Now(), woken: make(chan struct{}, 1),
	}
	r.setTimes(c)
	return r
}

func (r *round) setTimes(c db.Cycle) {
	now := time.Now()
	r.registersUntil, r.collectsUntil = now.Add(c.RegistersIn), now.Add(c.CollectsIn)
}

// attach gives the round calls that are in the cycle, and starts their match functions. The caller holds the engine's lock
// and has found the round under it: a round that closes leaves the engine under the same lock first.
func (r *round) attach(calls []*call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, calls...)
	for _, c := range calls {
		c.start(r)
	}
	ring(r.woken)
}

// ours are the calls of this replica. Others may come until the cycle registers no more.
func (r *round) ours() []*call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clip(r.calls)
}

func (r *round) byID() map[uuid.UUID]*call {
	all := map[uuid.UUID]*call{}
	for _, c := range r.ours() {
		all[c.id] = c
	}
	return all
}

// live are the ids of calls that somebody waits for.
func (r *round) live() (ids []uuid.UUID) {
	for _, c := range r.ours() {
		if !c.isOver() {
			ids = append(ids, c.id)
		}
	}
	return ids
}

// cutAll ends the match functions that still run.
func (r *round) cutAll() {
	for _, c := range r.ours() {
		c.cut()
	}
}

// run takes part in a cycle until it is over for the callers of this replica.
func (r *round) run(ctx context.Context, c db.Cycle) {
	err := r.Guard.Do("cycle", func() error { return r.takePart(ctx, c) })
	r.close(err)
	if err != nil && ctx.Err() == nil {
		r.Log.LogAttrs(ctx, slog.LevelWarn, "a cycle is over without its matches", slog.String("cycle", r.ref.ID.String()), slog.Any("error", err))
	}
}

// takePart follows a cycle, or runs it. Where it panics, another replica may run the cycle after a lease.
func (r *round) takePart(ctx context.Context, c db.Cycle) (err error) {
	news, stop := r.Store.Subscribe(db.TopicCycle, r.Region)
	defer stop()
	takenOver := false
	if c.Owner != r.Replica {
		c, takenOver, err = newFollower(r, news).run(ctx)
	}
	if c.Owner == r.Replica && err == nil {
		err = newOwner(r, c, news).run(ctx, takenOver)
	}
	return err
}

// close ends the calls that are left. err says why they have not been told all they might have been.
func (r *round) close(err error) {
	r.Engine.mu.Lock()
	delete(r.rounds, r.ref.ID)
	r.Engine.mu.Unlock()
	if err == nil { // for those that came too late
		err = unavailable("the cycle is over")
	}
	for _, c := range r.ours() {
		c.end(public(err))
	}
	ring(r.again)
}

// endAll ends the calls of a cycle that has ended, also of those who came in just before; failure says why it did for all.
func (r *round) endAll(failure error) {
	r.awaitDoor()
	if failure == nil {
		r.cutAll() // those that still run have run for too long
	}
	for _, c := range r.ours() {
		c.end(failure)
	}
}

// tellVerdicts delivers what became final of the proposals of this replica's callers. It may have been told before.
func (r *round) tellVerdicts(accepted []db.CycleVerdict) {
	all := r.byID()
	kept := map[*call][]verdict{}
	for _, v := range accepted {
		if c := all[v.Caller]; c != nil && !c.isSettled(int(v.Seq)-1) {
			kept[c] = append(kept[c], verdict{int(v.Seq) - 1, r.createdFor(c, v)})
		}
	}
	for c, more := range kept {
		c.tell(more)
	}
}

// createdFor gives the backfill that was created for a match, which says what it does on every replica.
func (r *round) createdFor(c *call, v db.CycleVerdict) *db.Backfill {
	if v.CreatedBackfill == "" {
		return nil
	}
	says, err := r.Backfill(c.proposal(int(v.Seq)-1).BackfillBody, nil)
	if err != nil {
		return nil
	}
	return &db.Backfill{ID: v.CreatedBackfill, Body: says.Encode(v.CreatedBackfill, v.BackfillCreated), Generation: 1, Created: v.BackfillCreated}
}
