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

// Apply makes app versions and pools as they are declared, in a transaction of the caller, after Check; with dry it only
// decides. Fields with a documented default may be zero; a pool's Modes are exactly those that it has afterwards. What
// running servers depend on, which is everything but the durations, does not change once a server of the app version was
// started. The caller calls [Store.NotifyApplied] after the commit. Errors: Conflict and Invalid with the path of the
// value in Field, TooMany, those of the database.
func (d Declaration) Apply(ctx context.Context, q *query.Queries, edit PoolEdit, dry bool) (PoolChanges, error) {
	now := declared{appVersions: changeEach(d.Apps, withAppDefaults), pools: changeEach(d.Pools, withPoolDefaults)}
	// All that follows is decided under these locks: no server of the pools and versions starts meanwhile.
	if err := now.lockRows(ctx, q, d.PrunePools); err != nil {
		return PoolChanges{}, err
	}
	if err := now.readStored(ctx, q); err != nil {
		return PoolChanges{}, err
	}
	// Before prunable and plan, which change what is declared.
	before := now.byName()
	pruned, err := d.findPrunable(ctx, q, &now)
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
	if !dry {
		if err := pruned.deletePruned(ctx, q, edit); err != nil {
			return done, err
		}
		if err := writePools(q, edit, now, done); err != nil {
			return done, err
		}
	}
	done.AppChanges = append(done.AppChanges, pruned.prunedApps...)
	done.PoolChanges = append(done.PoolChanges, pruned.prunedPools...)
	done.FormerState, done.NewState = before, now.byName()
	return done, nil
}

func changeEach[T any](list []T, change func(T) T) []T {
	changed := make([]T, len(list))
	for i, v := range list {
		changed[i] = change(v)
	}
	return changed
}

// lockRows locks what the document names, and with all also every other pool, so that no server is started in one that is
// about to be pruned.
func (d *declared) lockRows(ctx context.Context, q *query.Queries, all bool) error {
	keys := d.poolKeys()
	if all {
		if err := q.LockDeclarations(ctx); err != nil { // now, so that no pool is added after they are listed
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
	// All regions: a declaration names any of them.
	pools, err := readPools(ctx, q, "")
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

// writePools writes what plan decided.
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
	for _, p := range d.pools { // after the modes were released
		query.QueueExec(batch, (*query.Queries).InsertPoolModes,
			query.InsertPoolModesParams{Region: p.Region, App: p.App, Version: p.Version, Modes: p.Modes})
	}
	return nil
}
