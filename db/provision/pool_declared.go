package provision

import (
	"context"
	"maps"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// declared is what a document declares, and the state of the database that the document changes step by step.
type declared struct {
	appVersions []AppVersion // of the document
	pools       []Pool       // of the document

	versionsByName map[string]AppVersion // the state, by AppVersion.Name, APP/VERSION
	currentPools   map[poolKey]Pool      // the state
	modeOwners     map[poolMode]poolKey  // the state: which pool of a region has a mode
}

type (
	poolKey  struct{ region, app, version string }
	poolMode struct{ region, mode string }
)

func (k poolKey) name() string { return k.app + "/" + k.version }

func (k poolKey) withRegion() string { return k.region + "/" + k.name() }

func (p *Pool) key() poolKey { return poolKey{p.Region, p.App, p.Version} }

func problemError(kind fault.Kind, code string, p PoolProblem) *fault.Error {
	e := fault.New(kind, code, "%s", p.Text)
	e.Field = p.Path
	return e
}

// byName returns a copy of the state.
func (d *declared) byName() Declared {
	all := Declared{Apps: maps.Clone(d.versionsByName), Pools: make(map[string]Pool, len(d.currentPools))}
	for key, p := range d.currentPools {
		all.Pools[key.withRegion()] = p
	}
	return all
}

// poolKeys returns the keys of the pools of the document and of its app versions, which have no region.
func (d *declared) poolKeys() []poolKey {
	keys := make([]poolKey, 0, len(d.pools)+len(d.appVersions))
	for i := range d.pools {
		keys = append(keys, d.pools[i].key())
	}
	for _, v := range d.appVersions {
		keys = append(keys, poolKey{app: v.App, version: v.Version})
	}
	return keys
}

// Declaration is app versions and pools that belong together.
type Declaration struct {
	Apps  []AppVersion
	Pools []Pool
	// PruneApps and PrunePools delete what the declaration does not name, unless servers run in it.
	PruneApps, PrunePools bool
}

// Declared is a set of app versions and pools, by their names.
type Declared struct {
	Apps  map[string]AppVersion // by APP/VERSION
	Pools map[string]Pool       // by REGION/APP/VERSION
}

// PoolChange is what a declaration changed.
type PoolChange struct {
	Region        string // "" for an app version
	App           string
	Version       string
	Change        string   // created, changed, unchanged, deleted or kept
	ChangedFields []string // named as in documents
	Reason        string   // why a pool or app version that is not declared was kept
}

// PoolChanges are the changes by a whole declaration: of what it declares, in its order, then what was pruned or kept.
type PoolChanges struct {
	AppChanges  []PoolChange
	PoolChanges []PoolChange

	// FormerState and NewState are all app versions and pools before and after the changes.
	FormerState, NewState Declared
}

// lockDeclarations locks pools and then their app versions, as the loops do, so that no server of them is started or
// deployed meanwhile.
func lockDeclarations(ctx context.Context, q *query.Queries, keys ...poolKey) error {
	// One change at a time, since it is also checked against the modes of other pools, and against their number.
	if err := q.LockDeclarations(ctx); err != nil {
		return err
	}
	var regions, apps, versions []string
	for _, k := range keys {
		regions = append(regions, k.region)
		apps = append(apps, k.app)
		versions = append(versions, k.version)
	}
	if err := q.LockPools(ctx, query.LockPoolsParams{Regions: regions, Apps: apps, Versions: versions}); err != nil {
		return err
	}
	return q.LockAppVersions(ctx, query.LockAppVersionsParams{Apps: apps, Versions: versions})
}
