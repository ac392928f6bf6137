package cycle

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// collect takes what callers of this replica have proposed since.
func (o *owner) collect() {
	if !o.collecting {
		return
	}
	for _, c := range o.ours() {
		more, _ := c.since(o.taken[c])
		for _, p := range more {
			index := o.taken[c]
			o.taken[c]++
			o.add(&origin{Proposal: p, call: c, index: index}, o.inherited && c.isSettled(index))
		}
	}
}

// add takes a proposal, and has the evaluator judge it unless an owner before has decided about it.
func (o *owner) add(from *origin, settled bool) {
	if o.origins[from.ID] != nil {
		o.failure = errSameOfTwo(from.ID)
		return
	}
	o.origins[from.ID] = from
	if !settled && o.evaluation.show(from.ID) {
		o.queue = append(o.queue, from.Proposal)
	}
}

// closeRegistration lets nobody join any more, when it is time, and learns who has.
func (o *owner) closeRegistration(ctx context.Context) error {
	if !o.registering || time.Now().Before(o.registersUntil) {
		return nil
	}
	if err := o.advance(ctx, db.CycleCollects); err != nil {
		return err
	}
	o.registering = false
	o.awaitDoor()
	o.collect()
	return nil
}

// advance puts the cycle into a state and hears of everything from before.
func (o *owner) advance(ctx context.Context, state string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	news, err := o.Store.AdvanceCycle(ctx, o.ref, state, o.seen)
	if err == nil {
		o.hear(news)
	}
	return err
}

// listen looks for news of callers elsewhere. When it cannot, there is another time: the lease bounds it.
func (o *owner) listen(ctx context.Context) error {
	look := o.look && (o.registering || len(o.elsewhere) > 0)
	if o.look = false; !look {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	news, err := o.Store.NewsOfCycle(ctx, o.ref, o.seen)
	switch {
	case err == nil:
		o.hear(news)
	case !db.IsKind(err, db.Unavailable):
		return err
	}
	return nil
}

func (o *owner) hear(news db.CycleNews) {
	clear(o.elsewhere)
	for _, c := range news.Callers {
		if c.Replica != o.Replica {
			o.elsewhere[c.ID] = c
		}
	}
	for _, p := range news.Proposals {
		o.seen[p.Caller] = p.Seq
		if o.collecting {
			o.add(&origin{Proposal: proposalOf(p), caller: p.Caller, seq: p.Seq}, p.Judged)
		}
	}
}

// closeCollection lets nobody propose any more, once all are done or it is time.
func (o *owner) closeCollection(ctx context.Context) error {
	ended, _ := o.evaluation.state()
	if ended {
		o.queue = nil // it wants no more
	}
	now := time.Now()
	switch {
	case o.registering:
	case o.collecting && (ended || o.allDone() || !now.Before(o.collectsUntil)):
		o.cutAll()
		o.collect()
		if len(o.elsewhere) > 0 {
			if err := o.advance(ctx, db.CycleEvaluates); err != nil {
				return err
			}
		}
		o.collecting, o.evaluatesUntil = false, now.Add(o.Evaluation)
	case !o.collecting && !ended && !now.Before(o.evaluatesUntil):
		o.failure = errSlow
	}
	return nil
}

// allDone tells whether nobody proposes any more.
func (o *owner) allDone() bool {
	for _, c := range o.ours() {
		if more, done := c.since(o.taken[c]); !done || len(more) > 0 {
			return false
		}
	}
	for _, c := range o.elsewhere {
		if c.Alive && c.Proposing {
			return false
		}
	}
	return true
}

// inherit learns what the owner before has decided.
func (o *owner) inherit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	all := o.byID()
	ids := make([]uuid.UUID, 0, len(all))
	for id := range all {
		ids = append(ids, id)
	}
	now, err := o.Store.LookAtCycle(ctx, o.ref, ids)
	if err != nil {
		return err
	}
	o.tellVerdicts(now.Accepted)
	judged, err := o.Store.JudgedProposals(ctx, o.ref, ids)
	if err != nil {
		return err
	}
	for id, seqs := range judged {
		for _, seq := range seqs {
			all[id].settle(int(seq) - 1)
		}
	}
	o.inherited = true
	open := o.collecting
	if !open {
		o.cutAll()
	}
	o.collecting = true // what is there counts, whatever is let in
	o.collect()
	news, err := o.Store.NewsOfCycle(ctx, o.ref, o.seen)
	if err == nil {
		o.hear(news)
	}
	o.collecting = open
	return err
}
