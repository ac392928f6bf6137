package provision

import (
	"context"
	"maps"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// declared is what the database holds when a document is applied, and what the document says.
type declared struct {
	appVersions []AppVersion
	pools       []Pool

	versionsByName map[string]AppVersion // by AppVersion.Name, APP/VERSION
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

func problemError(kind fault.Kind, code string, p PoolProblem) *fault.Error {
	e := fault.New(kind, code, "%s", p.Text)
	e.Field = p.Path
	return e
}

// byName returns what is declared now.
func (d *declared) byName() Declared {
	all := Declared{Apps: maps.Clone(d.versionsByName), Pools: make(map[string]Pool, len(d.currentPools))}
	for key, p := range d.currentPools {
		all.Pools[key.withRegion()] = p
	}
	return all
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

// lockDeclarations locks pools and then their app versions, so that no server of them is started or deployed meanwhile.
// The order is that of the loops.
func lockDeclarations(ctx context.Context, q *query.Queries, keys ...poolKey) error {
	// Changes come one after the other, also those of other pools, whose modes and numbers are checked as well.
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
