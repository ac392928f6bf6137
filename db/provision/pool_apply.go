package provision

import (
	"context"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// Check refuses a declaration that is wrong whatever the database holds. Errors: Invalid with the path of the value in
// Field.
func (d Declaration) Check() error {
	if wrong := CheckPools(d.Apps, d.Pools); len(wrong) > 0 {
		return problemError(fault.Invalid, "invalid", wrong[0])
	}
	return nil
}

// Apply makes app versions and pools as they are declared, in a transaction of the caller, after Check; with isDryRun
// it only decides. Fields with a documented default may be zero; a pool's Modes are exactly those that it has
// afterwards. Once a server of an app version was started, only the fields in changeableFields change. The caller calls
// [Store.NotifyApplied] after the commit. Errors: Conflict and Invalid with the path of the value in Field, TooMany,
// those of the database.
func (d Declaration) Apply(ctx context.Context, q *query.Queries, edit PoolEdit, isDryRun bool) (PoolChanges, error) {
	now := declared{appVersions: mapped(d.Apps, withAppDefaults), pools: mapped(d.Pools, withPoolDefaults)}
	// All that follows is decided under these locks: no server of the pools and versions starts meanwhile.
	if err := now.lockRows(ctx, q, d.PrunePools); err != nil {
		return PoolChanges{}, err
	}
	if err := now.readStored(ctx, q); err != nil {
		return PoolChanges{}, err
	}
	// Copied before prune and planChanges, which change the state.
	former := now.byName()
	pruned, err := d.prune(ctx, q, &now)
	if err != nil {
		return PoolChanges{}, err
	}
	if err := now.checkZones(ctx, q); err != nil {
		return PoolChanges{}, err
	}
	done, err := now.planChanges()
	if err != nil {
		return done, err
	}
	if !isDryRun {
		if err := pruned.deletePruned(ctx, q, edit); err != nil {
			return done, err
		}
		if err := writePools(q, edit, now, done); err != nil {
			return done, err
		}
	}
	done.AppChanges = append(done.AppChanges, pruned.prunedApps...)
	done.PoolChanges = append(done.PoolChanges, pruned.prunedPools...)
	done.FormerState, done.NewState = former, now.byName()
	return done, nil
}

// mapped returns a list of what f returns for each element.
func mapped[T any](list []T, f func(T) T) []T {
	results := make([]T, len(list))
	for i, v := range list {
		results[i] = f(v)
	}
	return results
}

// lockRows locks the rows of what the document names, and with allPools those of every other pool, so that no server is
// started in one that is about to be pruned.
func (d *declared) lockRows(ctx context.Context, q *query.Queries, allPools bool) error {
	keys := d.poolKeys()
	if allPools {
		// Taken before the pools are listed, so that none is added afterwards. lockDeclarations takes the same lock
		// again.
		if err := q.LockDeclarations(ctx); err != nil {
			return err
		}
		pools, err := readPools(ctx, q, "")
		if err != nil {
			return err
		}
		for _, p := range pools {
			keys = append(keys, p.key())
		}
	}
	return lockDeclarations(ctx, q, keys...)
}

// readStored fills in what the database holds.
func (d *declared) readStored(ctx context.Context, q *query.Queries) error {
	versions, err := readAppVersions(ctx, q)
	if err != nil {
		return err
	}
	const allRegions = ""
	pools, err := readPools(ctx, q, allRegions)
	if err != nil {
		return err
	}
	d.versionsByName, d.currentPools, d.modeOwners = map[string]AppVersion{}, map[poolKey]Pool{}, map[poolMode]poolKey{}
	for _, v := range versions {
		d.versionsByName[v.Name()] = v
	}
	for _, p := range pools {
		d.currentPools[p.key()] = p
		for _, m := range p.Modes {
			d.modeOwners[poolMode{p.Region, m}] = p.key()
		}
	}
	return nil
}

// writePools writes what planChanges decided. done has the changes of the app versions and pools of d, index by index.
func writePools(q *query.Queries, edit PoolEdit, d declared, done PoolChanges) error {
	batch := q.Deferred()
	for i, c := range done.AppChanges {
		if c.Change == "unchanged" {
			continue
		}
		row, err := d.appVersions[i].saveParams()
		if err != nil {
			return err
		}
		query.QueueExec(batch, (*query.Queries).SaveAppVersion, row)
		edit.log(batch, "app_version.applied", c, nil)
	}
	for i, c := range done.PoolChanges {
		if c.Change == "unchanged" {
			continue
		}
		p := d.pools[i]
		p.save(batch)
		query.QueueExec(batch, (*query.Queries).DeletePoolModes,
			query.DeletePoolModesParams{Region: p.Region, App: p.App, Version: p.Version, Keep: p.Modes})
		edit.log(batch, "pool.applied", c, nil)
	}
	// In a loop of its own: a mode is inserted only after the pool that loses it has released it.
	for _, p := range d.pools {
		query.QueueExec(batch, (*query.Queries).InsertPoolModes,
			query.InsertPoolModesParams{Region: p.Region, App: p.App, Version: p.Version, Modes: p.Modes})
	}
	return nil
}
