package provision

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// PoolChange is what a declaration changed.
type PoolChange struct {
	Region        string // "" for an app version
	App           string
	Version       string
	Change        string   // created, changed, unchanged, deleted or kept
	ChangedFields []string // that changed, as documents call them
	Reason        string   // why something that is not declared was kept
}

// PoolChanges are those of a whole declaration: what it declares in its order, then what was pruned or kept.
type PoolChanges struct {
	AppChanges  []PoolChange
	PoolChanges []PoolChange

	// FormerState and NewState are what the app versions and pools of the changes were, and what they are now.
	FormerState, NewState Declared
}

// Declared is a set of app versions and pools, by their names.
type Declared struct {
	Apps  map[string]AppVersion // by APP/VERSION
	Pools map[string]Pool       // by REGION/APP/VERSION
}

// Declaration is app versions and pools that belong together.
type Declaration struct {
	Apps  []AppVersion
	Pools []Pool
	// PruneApps and PrunePools delete what the declaration does not name, unless servers run in it.
	PruneApps, PrunePools bool
}

// declared is what the database holds when a document is applied, and what the document says.
type declared struct {
	appVersions []AppVersion
	pools       []Pool

	versionsByName map[string]AppVersion // by Name
	currentPools   map[poolKey]Pool
	modeOwners     map[poolMode]poolKey
}

type (
	poolKey  struct{ region, app, version string }
	poolMode struct{ region, mode string }
)

func (k poolKey) name() string { return k.app + "/" + k.version }

func (k poolKey) withRegion() string { return k.region + "/" + k.name() }

func (p *Pool) key() poolKey { return poolKey{p.Region, p.App, p.Version} }

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
	done.AppChanges, done.PoolChanges = append(done.AppChanges, pruned.prunedApps...), append(done.PoolChanges,
		pruned.prunedPools...)
	done.FormerState, done.NewState = before, now.byName()
	return done, nil
}

// byName returns what is declared now.
func (d *declared) byName() Declared {
	all := Declared{Apps: maps.Clone(d.versionsByName), Pools: make(map[string]Pool, len(d.currentPools))}
	for key, p := range d.currentPools {
		all.Pools[key.withRegion()] = p
	}
	return all
}

func changeEach[T any](list []T, change func(T) T) []T {
	changed := make([]T, len(list))
	for i, v := range list {
		changed[i] = change(v)
	}
	return changed
}

func problemError(kind fault.Kind, code string, p PoolProblem) *fault.Error {
	e := fault.New(kind, code, "%s", p.Text)
	e.Field = p.Path
	return e
}

// poolKeys returns the pools of the document, and of its app versions.
func (d *declared) poolKeys() []poolKey {
	keys := make([]poolKey, 0, len(d.pools)+len(d.appVersions))
	for i := range d.pools {
		keys = append(keys, d.pools[i].key())
	}
	for _, v := range d.appVersions {
		// A key without a region stands for the app version alone.
		keys = append(keys, poolKey{app: v.App, version: v.Version})
	}
	return keys
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

// lockDeclarations locks pools and then their app versions, so that no server of them is started or deployed meanwhile.
// The order is that of the loops.
func lockDeclarations(ctx context.Context, q *query.Queries, keys ...poolKey) error {
	// Changes come one after the other, also those of other pools, whose modes and numbers are checked as well.
	if err := q.LockDeclarations(ctx); err != nil {
		return err
	}
	var regions, apps, versions []string
	for _, k := range keys {
		regions, apps, versions = append(regions, k.region), append(apps, k.app), append(versions, k.version)
	}
	if err := q.LockPools(ctx, query.LockPoolsParams{Regions: regions, Apps: apps, Versions: versions}); err != nil {
		return err
	}
	return q.LockAppVersions(ctx, query.LockAppVersionsParams{Apps: apps, Versions: versions})
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

// planChanges decides what changes, or refuses.
func (d *declared) planChanges() (PoolChanges, error) {
	done := PoolChanges{AppChanges: []PoolChange{}, PoolChanges: []PoolChange{}}
	for i, v := range d.appVersions {
		// Compared with what the database holds, or with an earlier entry of the same document.
		was, known := d.versionsByName[v.Name()]
		change := PoolChange{App: v.App, Version: v.Version, Change: "created"}
		if known {
			change.ChangedFields = changedFields(was.comparedFields(), v.comparedFields())
			change.Change = changeWord(change.ChangedFields)
			if err := refuseChange(i, was, change.ChangedFields); err != nil {
				return done, err
			}
		}
		d.versionsByName[v.Name()] = v
		done.AppChanges = append(done.AppChanges, change)
	}
	// Between both lists: pools of the document first give up the modes that they lose, so that others of it may take
	// them.
	if err := d.resolveModes(); err != nil {
		return done, err
	}
	for i, p := range d.pools {
		was, known := d.currentPools[p.key()]
		change := PoolChange{Region: p.Region, App: p.App, Version: p.Version, Change: "created"}
		if known {
			change.ChangedFields = changedFields(was.comparedFields(), p.comparedFields())
			change.Change = changeWord(change.ChangedFields)
		}
		if err := d.refusePool(i, p, was); err != nil {
			return done, err
		}
		for _, m := range p.Modes {
			d.modeOwners[poolMode{p.Region, m}] = p.key()
		}
		d.currentPools[p.key()] = p
		done.PoolChanges = append(done.PoolChanges, change)
	}
	if len(d.versionsByName) > maxAppCount || len(d.currentPools) > maxPoolCount {
		return done, fault.New(fault.TooMany, "too_many_pools",
			"there would be %d app versions and %d pools: at most %d and %d are allowed; delete pools that nobody uses",
			len(d.versionsByName), len(d.currentPools), maxAppCount, maxPoolCount)
	}
	return done, nil
}

func changeWord(fields []string) string {
	if len(fields) == 0 {
		return "unchanged"
	}
	return "changed"
}

// changedFields returns the names of the fields that differ, sorted.
func changedFields(was, now map[string]any) []string {
	var changed []string
	for _, field := range slices.Sorted(maps.Keys(now)) {
		// Deep, since values may be lists, maps and pointers.
		if !reflect.DeepEqual(was[field], now[field]) {
			changed = append(changed, field)
		}
	}
	return changed
}

// mutable are the fields of an app version that may change while servers of it run.
var mutable = map[string]bool{"start_within": true, "register_within": true, "grace": true, "max_lifetime": true,
	"drain_ahead": true, "fallback": true}

// refuseChange refuses a change of a version that would concern servers that run.
func refuseChange(i int, was AppVersion, fields []string) error {
	for _, field := range fields {
		// Only once a server was started: until then, nothing depends on it.
		if was.WasStarted && !mutable[field] {
			return problemError(fault.Conflict, "app_version_used", PoolProblem{
				Path: "apps[" + strconv.Itoa(i) + "]." + field,
				Text: "servers of app version " + was.Name() + " were started: " + field +
					" does not change any more. " +
					"Apply it as another version, and move the pool to that with 'director pools roll'",
			})
		}
	}
	return nil
}

// resolveModes fills in the modes of pools, and releases those that pools of the document have no more.
func (d *declared) resolveModes() error {
	for i, p := range d.pools {
		v, known := d.versionsByName[p.Name()]
		if !known {
			return problemError(fault.Invalid, "invalid", PoolProblem{
				Path: "pools[" + strconv.Itoa(i) + "].version",
				Text: "there is no app version " + p.Name() + ": declare it under apps",
			})
		}
		d.pools[i].Modes = p.modesOf(v)
		for _, m := range d.currentPools[p.key()].Modes {
			// Another pool of the document may take it, whatever their order.
			if !slices.Contains(d.pools[i].Modes, m) {
				delete(d.modeOwners, poolMode{p.Region, m})
			}
		}
	}
	return nil
}

// refusePool judges a pool against what the database holds.
func (d *declared) refusePool(i int, p, was Pool) error {
	var wrong []PoolProblem
	at := problems{&wrong, "pools[" + strconv.Itoa(i) + "]."}
	p.checkOffer(at, d.versionsByName[p.Name()].Modes)
	for _, m := range p.Modes {
		if owner, taken := d.modeOwners[poolMode{p.Region, m}]; taken && owner != p.key() {
			at.addf("modes", "mode %q of region %s belongs to pool %s: 'director pools roll' moves it to another version", m, p.Region, owner.name())
		}
	}
	// Servers that run keep the modes with which they have registered.
	for _, m := range was.Modes {
		if !slices.Contains(p.Modes, m) && was.Servers > 0 {
			at.addf("modes", "%d servers of the pool offer mode %q: 'director pools roll' moves it to another version, and drains them", was.Servers, m)
		}
	}
	if len(wrong) > 0 {
		return problemError(fault.Conflict, "mode_taken", wrong[0])
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
