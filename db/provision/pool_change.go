package provision

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/lattice-director/director/db/internal/act"
	"github.com/lattice-director/director/db/internal/notify"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/internal/value"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// PoolEdit says which pool changes, who changes it and why. [Declaration.Apply] reads Author and Reason only.
type PoolEdit struct {
	Region  string
	App     string
	Version string
	Author  string // "": the database login
	Reason  string // at most 500 characters; may be ""
}

func (e PoolEdit) key() poolKey { return poolKey{e.Region, e.App, e.Version} }

// log adds the event of a change, whose detail also has the values of more.
func (e PoolEdit) log(batch *tx.Pipeline, kind string, c PoolChange, more map[string]any) {
	detail := map[string]any{"app": c.App, "version": c.Version}
	if len(c.ChangedFields) > 0 {
		detail["fields"] = c.ChangedFields
	}
	if e.Reason != "" {
		detail["reason"] = e.Reason
	}
	maps.Copy(detail, more)
	text, _ := json.Marshal(detail) // cannot fail: the values are texts, numbers and lists of texts
	query.QueueExec(batch, (*query.Queries).LogPool,
		query.LogPoolParams{Region: c.Region, Kind: kind, Author: e.Author, Detail: text})
}

// PoolScale is what ScalePool changes; nil fields stay.
type PoolScale struct {
	Min, Max, Buffer, MaxStarting *int
	BufferPercent                 bool // as Pool.BufferPercent; without Buffer, the pool's stays
	EmptyTTL                      *time.Duration
}

// ScalePool changes how many servers a pool has. Errors: NotFound, Invalid with the name of the number in Field,
// Unavailable.
func (s *Store) ScalePool(ctx context.Context, edit PoolEdit, to PoolScale) (Pool, error) {
	return s.changePool(ctx, edit, func(q *query.Queries, was Pool) (Pool, error) {
		p := to.applyTo(was)
		var wrong []PoolProblem
		p.check(problems{foundProblems: &wrong})
		if len(wrong) > 0 {
			return p, problemError(fault.Invalid, "invalid", wrong[0])
		}
		changed := changedFields(was.comparedFields(), p.comparedFields())
		// A command that is repeated changes nothing, and has no event.
		if len(changed) == 0 {
			return p, nil
		}
		batch := q.Deferred()
		// Not save, which would also write the schedules, whose rows stay.
		query.QueueExec(batch, (*query.Queries).SavePool, p.saveParams())
		numbers := map[string]any{"min": p.Min, "max": p.Max, "buffer": p.bufferText()}
		edit.log(batch, "pool.scaled", PoolChange{Region: p.Region, App: p.App, Version: p.Version,
			ChangedFields: changed}, numbers)
		return p, nil
	})
}

func (to PoolScale) applyTo(p Pool) Pool {
	if to.Buffer != nil {
		p.Buffer, p.BufferPercent = *to.Buffer, to.BufferPercent
	}
	if to.Min != nil {
		p.Min = *to.Min
	}
	if to.Max != nil {
		p.Max = *to.Max
	}
	if to.MaxStarting != nil {
		p.MaxStarting = *to.MaxStarting
	}
	if to.EmptyTTL != nil {
		p.EmptyTTL = *to.EmptyTTL
	}
	return p
}

// Forever is the end of a pause that only an operator ends.
func Forever() time.Time { return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) }

// PausePool makes a pool start no servers until a time, at most [Forever]; its running servers stay. Errors: Invalid,
// for a time that is past; NotFound; Unavailable.
func (s *Store) PausePool(ctx context.Context, edit PoolEdit, until time.Time) (Pool, error) {
	return s.changePause(ctx, edit, func(q *query.Queries) (bool, error) {
		return q.OpsPausePool(ctx, query.OpsPausePoolParams{Region: edit.Region, App: edit.App, Version: edit.Version,
			Reason: edit.Reason, Until: &until})
	})
}

// ResumePool ends the pauses of a pool: an operator's, and those after failures and for lack of capacity. Servers start
// at once if players need them. Errors: NotFound, Unavailable.
func (s *Store) ResumePool(ctx context.Context, edit PoolEdit) (Pool, error) {
	return s.changePause(ctx, edit, func(q *query.Queries) (bool, error) {
		return q.OpsResumePool(ctx,
			query.OpsResumePoolParams{Region: edit.Region, App: edit.App, Version: edit.Version})
	})
}

// changePause calls a function of schema ops for a pool.
func (s *Store) changePause(ctx context.Context, edit PoolEdit,
	call func(*query.Queries) (bool, error)) (Pool, error) {
	return s.changePool(ctx, edit, func(q *query.Queries, p Pool) (Pool, error) {
		changed, err := act.CallAs(ctx, q, edit.Author, edit.Reason, call)
		if !changed || err != nil {
			return p, err
		}
		// Read again, since the function has changed the row.
		return readPool(ctx, q, edit.key())
	})
}

// changePool runs a change of one pool under its lock.
func (s *Store) changePool(ctx context.Context, edit PoolEdit,
	change func(*query.Queries, Pool) (Pool, error)) (Pool, error) {
	if err := checkReason(edit.Reason); err != nil {
		return Pool{}, err
	}
	var p Pool
	err := s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		// A change waits for a plan of the pool that is under way.
		if err := lockDeclarations(ctx, q, edit.key()); err != nil {
			return err
		}
		was, err := readPool(ctx, q, edit.key())
		if err != nil {
			return err
		}
		p, err = change(q, was)
		return err
	})
	if err != nil {
		return Pool{}, act.Refusal(err)
	}
	s.notifyPools(edit.key())
	return p, nil
}

func checkReason(reason string) error {
	if !value.ValidReason(reason) {
		return problemError(fault.Invalid, "invalid",
			PoolProblem{"reason", "the reason must have at most 500 characters"})
	}
	return nil
}

// readPool returns a pool, which the caller has locked. Errors: NotFound.
func readPool(ctx context.Context, q *query.Queries, key poolKey) (Pool, error) {
	pools, err := readPools(ctx, q, key.region)
	if err != nil {
		return Pool{}, err
	}
	// All pools of the region are read by the statement of readPools: a region has few.
	for _, p := range pools {
		if p.key() == key {
			return p, nil
		}
	}
	return Pool{}, fault.New(fault.NotFound, "pool_unknown", "there is no pool %s in region %q", key.name(), key.region)
}

// NotifyApplied wakes the loops after a declaration was committed.
func (s *Store) NotifyApplied(done PoolChanges) {
	var keys []poolKey
	for _, c := range slices.Concat(done.PoolChanges, done.AppChanges) {
		keys = append(keys, poolKey{c.Region, c.App, c.Version})
	}
	s.notifyPools(keys...)
}

// notifyPools wakes the loops of pools and of their regions' deployments.
func (s *Store) notifyPools(keys ...poolKey) {
	regions := map[string]bool{}
	for _, k := range keys {
		// The key of an app version has no region.
		if k.region != "" {
			regions[k.region] = true
		}
	}
	s.sendNotice(notify.TopicDemand, "")
	for _, region := range slices.Sorted(maps.Keys(regions)) {
		s.sendNotice(notify.TopicDeployments, region)
	}
}
