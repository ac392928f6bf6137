package provision

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lattice-director/director/db/query"
)

// pruning is what becomes of pools and app versions that a declaration does not name: deleted or kept.
type pruning struct{ prunedApps, prunedPools []PoolChange }

// prune decides what is deleted, and removes it from the state, so that pools of the declaration may have the modes. A
// pool with servers is kept: only a command ends servers, and not a file that is gone.
func (d Declaration) prune(ctx context.Context, q *query.Queries, now *declared) (pruned pruning, err error) {
	if d.PrunePools {
		pruned.prunedPools = now.prunePools()
	}
	if d.PruneApps {
		servers, err := q.CountServersOfAppVersions(ctx)
		if err != nil {
			return pruned, err
		}
		left := map[string]int{} // by the name APP/VERSION
		for _, n := range servers {
			left[poolKey{app: n.App, version: n.Version}.name()] = int(n.Servers)
		}
		pruned.prunedApps = now.pruneApps(left)
	}
	return pruned, nil
}

// prunePools returns a change for each pool that the document does not name, and removes the deleted ones from the
// state.
func (d *declared) prunePools() (changes []PoolChange) {
	named := map[poolKey]bool{}
	for i := range d.pools {
		named[d.pools[i].key()] = true
	}
	// Sorted, since people compare these lists.
	for _, key := range slices.SortedFunc(maps.Keys(d.currentPools), poolKey.compare) {
		if named[key] {
			continue
		}
		p := d.currentPools[key]
		c := PoolChange{Region: key.region, App: key.app, Version: key.version, Change: "deleted"}
		if p.Servers > 0 {
			c.Change = "kept"
			c.Reason = fmt.Sprintf("it has servers (%d): 'director pools delete %s' drains them", p.Servers,
				key.withRegion())
		} else {
			d.forgetPool(p)
		}
		changes = append(changes, c)
	}
	return changes
}

// forgetPool removes a pool from the state, with its modes.
func (d *declared) forgetPool(p Pool) {
	delete(d.currentPools, p.key())
	for _, m := range p.Modes {
		delete(d.modeOwners, poolMode{p.Region, m})
	}
}

// pruneApps returns a change for each app version that the document does not name, by the number of servers that are
// left of each, and removes the deleted ones from the state.
func (d *declared) pruneApps(servers map[string]int) (changes []PoolChange) {
	named := map[string]bool{}
	needed := map[string]string{} // by a pool
	for i := range d.appVersions {
		named[d.appVersions[i].Name()] = true
	}
	for _, pools := range [][]Pool{slices.Collect(maps.Values(d.currentPools)), d.pools} {
		for i := range pools {
			name := pools[i].Name()
			// Of several pools the message names the last one, so that it is the same each time.
			needed[name] = max(needed[name], pools[i].key().withRegion())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.versionsByName)) {
		if named[name] {
			continue
		}
		v := d.versionsByName[name]
		c := PoolChange{App: v.App, Version: v.Version, Change: "deleted"}
		pool, isNeeded := needed[name]
		switch {
		case isNeeded:
			c.Change, c.Reason = "kept", "pool "+pool+" starts servers of it"
		case servers[name] > 0:
			c.Change, c.Reason = "kept", fmt.Sprintf("servers of it have not ended (%d)", servers[name])
		default:
			delete(d.versionsByName, name)
		}
		changes = append(changes, c)
	}
	return changes
}

// deletePruned deletes the rows of what is pruned: first the pools, since DeleteUnusedAppVersion keeps app versions
// that a pool uses.
func (p pruning) deletePruned(ctx context.Context, q *query.Queries, edit PoolEdit) error {
	for _, c := range p.prunedPools {
		if c.Change != "deleted" {
			continue
		}
		edit.Region, edit.App, edit.Version = c.Region, c.App, c.Version
		if _, err := deletePool(ctx, q, edit); err != nil {
			return err
		}
	}
	for _, c := range p.prunedApps {
		if c.Change != "deleted" {
			continue
		}
		if err := q.DeleteUnusedAppVersion(ctx, query.DeleteUnusedAppVersionParams{App: c.App,
			Version: c.Version}); err != nil {
			return err
		}
		edit.log(q.Deferred(), "app_version.deleted", c, nil)
	}
	return nil
}

// compare sorts keys by their text.
func (k poolKey) compare(other poolKey) int {
	return strings.Compare(k.withRegion(), other.withRegion())
}
