package provision

import (
	"context"
	"slices"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// PoolRoll is what a roll did.
type PoolRoll struct {
	NewPool        Pool // of the version that hosts the modes now
	MovedModes     []string
	DrainedServers int // servers of the former version that take no new players; those without players end at once
}

// RollPool moves the modes of a pool to another version of its app, and drains the servers of the former version, in
// one transaction: no player is seated on a version that the mode does not belong to. The other version gets a pool
// with the same numbers unless it has one. Errors: NotFound; Conflict for a version that does not offer the modes, or a
// pool that has none; Unavailable.
func (s *Store) RollPool(ctx context.Context, edit PoolEdit, toVersion string) (PoolRoll, error) {
	if err := checkReason(edit.Reason); err != nil {
		return PoolRoll{}, err
	}
	next := poolKey{edit.Region, edit.App, toVersion}
	var done PoolRoll
	err := s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) (err error) {
		// One call for both pools, so that their rows are locked in the order of all changes.
		if err := lockDeclarations(ctx, q, edit.key(), next); err != nil {
			return err
		}
		done, err = rollPool(ctx, q, edit, next)
		return err
	})
	if err != nil {
		return PoolRoll{}, frame.Classify(err)
	}
	s.notifyPools(next)
	return done, nil
}

func rollPool(ctx context.Context, q *query.Queries, edit PoolEdit, next poolKey) (done PoolRoll, err error) {
	from, err := readPool(ctx, q, edit.key())
	if err != nil {
		return done, err
	}
	if done.NewPool, err = readNextPool(ctx, q, from, next); err != nil {
		return done, err
	}
	// Modes refer to the row of their pool, which must exist before they move.
	if err := saveNextPool(ctx, q, from, done.NewPool); err != nil {
		return done, err
	}
	done.MovedModes, err = q.MovePoolModes(ctx,
		query.MovePoolModesParams{Region: from.Region, App: from.App, FromVersion: from.Version, Version: next.version})
	if err != nil {
		return done, err
	}
	slices.Sort(done.MovedModes)
	done.NewPool.Modes = slices.Concat(done.NewPool.Modes, done.MovedModes)
	slices.Sort(done.NewPool.Modes)
	// After the move, in which placement has lost these servers: no mode belongs to their pool.
	if done.DrainedServers, err = drainPool(ctx, q, edit, "rolled"); err != nil {
		return done, err
	}
	edit.log(q.Deferred(), "pool.rolled", PoolChange{Region: from.Region, App: from.App, Version: next.version},
		map[string]any{"before": from.Version, "modes": done.MovedModes, "drained": done.DrainedServers})
	return done, nil
}

// saveNextPool writes the pool that gets the modes of another one, with the demand of the other one by the hour, by
// which the forecast works.
func saveNextPool(ctx context.Context, q *query.Queries, from, next Pool) error {
	var batch tx.Pipeline
	next.save(&batch)
	query.QueueExec(&batch, (*query.Queries).InheritPoolHours, query.InheritPoolHoursParams{
		Region: from.Region, App: from.App, Version: next.Version, FromVersion: from.Version})
	return q.Send(ctx, &batch)
}

// readNextPool returns the pool that modes are moved to, as it is now or as it will be made.
func readNextPool(ctx context.Context, q *query.Queries, from Pool, next poolKey) (Pool, error) {
	if next.version == from.Version {
		return Pool{}, fault.New(fault.Conflict, "same_version", "pool %s has that version already", from.Name())
	}
	if len(from.Modes) == 0 {
		return Pool{}, fault.New(fault.Conflict, "pool_without_modes",
			"pool %s of region %s has no modes that could be moved", from.Name(), from.Region)
	}
	v, err := readAppVersion(ctx, q, next.app, next.version)
	if err != nil {
		return Pool{}, err
	}
	var wrong []PoolProblem
	wanted := Pool{App: next.app, Version: next.version, Modes: from.Modes}
	wanted.checkOffer(problems{foundProblems: &wrong}, v.Modes)
	if len(wrong) > 0 {
		return Pool{}, fault.New(fault.Conflict, "mode_not_offered", "%s", wrong[0].Text)
	}
	pool, err := readPool(ctx, q, next)
	if !fault.Is(err, fault.NotFound) {
		return pool, err
	}
	// A pool with the same numbers, that has no modes and no servers yet.
	pool = from
	pool.Version, pool.Modes, pool.PausedUntil, pool.PauseReason, pool.Servers = next.version, nil, nil, "", 0
	return pool, nil
}

// drainPool ends the servers of a pool: those with players when they are empty, the others now. It returns how many.
// Errors: frame.ErrRolledBack, after which the transaction begins again.
func drainPool(ctx context.Context, q *query.Queries, edit PoolEdit, reason string) (int, error) {
	drained, err := q.DrainInstancesOfPool(ctx,
		query.DrainInstancesOfPoolParams{Region: edit.Region, App: edit.App, Version: edit.Version, Actor: edit.Author})
	if err != nil {
		return 0, err
	}
	if err := q.RefreshShares(ctx, query.RefreshSharesParams{Region: edit.Region, InstanceIds: drained}); err != nil {
		return 0, err
	}
	n, err := q.DrainDeploymentsOfPool(ctx,
		query.DrainDeploymentsOfPoolParams{Region: edit.Region, App: edit.App, Version: edit.Version, Reason: &reason})
	if err != nil {
		return 0, err
	}
	undrained, err := q.PoolHasUndrained(ctx,
		query.PoolHasUndrainedParams{Region: edit.Region, App: edit.App, Version: edit.Version})
	if err != nil {
		return 0, err
	}
	// A server has registered since the instances were listed. Instances are locked before deployments, so that it is
	// too late to lock this one.
	if undrained {
		return 0, frame.ErrRolledBack
	}
	return int(n), nil
}

// DeletePool drains the servers of a pool and deletes the pool, and its app version unless another pool or a server
// needs that. For players who wait for its modes no server starts any more. It returns how many servers it drains.
// Errors: NotFound, Unavailable.
func (s *Store) DeletePool(ctx context.Context, edit PoolEdit) (drained int, err error) {
	_, err = s.changePool(ctx, edit, func(q *query.Queries, p Pool) (Pool, error) {
		var err error
		if drained, err = deletePool(ctx, q, edit); err != nil {
			return p, err
		}
		return p, q.DeleteUnusedAppVersion(ctx,
			query.DeleteUnusedAppVersionParams{App: p.App, Version: p.Version})
	})
	return drained, err
}

// deletePool drains the servers of a pool and deletes the pool, but not its app version.
func deletePool(ctx context.Context, q *query.Queries, edit PoolEdit) (drained int, err error) {
	if drained, err = drainPool(ctx, q, edit, "pool_deleted"); err != nil {
		return 0, err
	}
	// Keep is empty and not nil, which would be NULL: all modes are free for other pools at once.
	if err := q.DeletePoolModes(ctx, query.DeletePoolModesParams{Region: edit.Region, App: edit.App,
		Version: edit.Version, Keep: []string{}}); err != nil {
		return 0, err
	}
	if err := q.DeletePool(ctx, query.DeletePoolParams{Region: edit.Region, App: edit.App,
		Version: edit.Version}); err != nil {
		return 0, err
	}
	edit.log(q.Deferred(), "pool.deleted", PoolChange{Region: edit.Region, App: edit.App, Version: edit.Version},
		map[string]any{"drained": drained})
	return drained, nil
}
