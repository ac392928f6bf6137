package provision

import (
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/lattice-director/director/internal/base/fault"
)

// planChanges decides what changes, or refuses. Errors: Invalid, Conflict, TooMany.
func (d *declared) planChanges() (done PoolChanges, err error) {
	if done.AppChanges, err = d.planVersions(); err != nil {
		return done, err
	}
	// Before planPools: all pools of the document release the modes that they lose, so that others of it may take them.
	if err := d.resolveModes(); err != nil {
		return done, err
	}
	if done.PoolChanges, err = d.planPools(); err != nil {
		return done, err
	}
	if len(d.versionsByName) > maxAppCount || len(d.currentPools) > maxPoolCount {
		return done, fault.New(fault.TooMany, "too_many_pools",
			"there would be %d app versions and %d pools: at most %d and %d are allowed; delete pools that nobody uses",
			len(d.versionsByName), len(d.currentPools), maxAppCount, maxPoolCount)
	}
	return done, nil
}

// planVersions decides what changes of the app versions, and changes the state. The list is never nil, so that JSON
// writes an empty one as [].
func (d *declared) planVersions() ([]PoolChange, error) {
	changes := []PoolChange{}
	for i, v := range d.appVersions {
		was, known := d.versionsByName[v.Name()]
		change := PoolChange{App: v.App, Version: v.Version, Change: "created"}
		if known {
			change.ChangedFields = changedFields(was.comparedFields(), v.comparedFields())
			change.Change = changeWord(change.ChangedFields)
			if err := refuseChange(i, was, change.ChangedFields); err != nil {
				return nil, err
			}
		}
		d.versionsByName[v.Name()] = v
		changes = append(changes, change)
	}
	return changes, nil
}

// planPools decides what changes of the pools and which modes they own, and changes the state. The list is never nil.
func (d *declared) planPools() ([]PoolChange, error) {
	changes := []PoolChange{}
	for i, p := range d.pools {
		was, known := d.currentPools[p.key()]
		change := PoolChange{Region: p.Region, App: p.App, Version: p.Version, Change: "created"}
		if known {
			change.ChangedFields = changedFields(was.comparedFields(), p.comparedFields())
			change.Change = changeWord(change.ChangedFields)
		}
		if err := d.refusePool(i, p, was); err != nil {
			return nil, err
		}
		for _, m := range p.Modes {
			d.modeOwners[poolMode{p.Region, m}] = p.key()
		}
		d.currentPools[p.key()] = p
		changes = append(changes, change)
	}
	return changes, nil
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
		// The values may be lists, maps and pointers.
		if !reflect.DeepEqual(was[field], now[field]) {
			changed = append(changed, field)
		}
	}
	return changed
}

// changeableFields are the fields of an app version that may change once a server of it was started: the durations,
// which the director reads, and what only further starts read.
var changeableFields = map[string]bool{"start_within": true, "register_within": true, "grace": true,
	"max_lifetime": true, "drain_ahead": true, "fallback": true}

// refuseChange refuses a change of fields of an app version on which servers depend that were started. index is that of
// the app version in the document.
func refuseChange(index int, was AppVersion, fields []string) error {
	for _, field := range fields {
		if was.WasStarted && !changeableFields[field] {
			return problemError(fault.Conflict, "app_version_used", PoolProblem{
				Path: "apps[" + strconv.Itoa(index) + "]." + field,
				Text: "servers of app version " + was.Name() + " were started: " + field +
					" does not change any more. " +
					"Apply it as another version, and move the pool to that with 'director pools roll'",
			})
		}
	}
	return nil
}

// resolveModes fills in the modes of pools of the document, and releases the modes that these pools have no more.
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
			if !slices.Contains(d.pools[i].Modes, m) {
				delete(d.modeOwners, poolMode{p.Region, m})
			}
		}
	}
	return nil
}

// refusePool refuses a pool whose modes its app version does not offer, other pools have, or running servers still
// have. index is that of the pool in the document, and was the stored pool; zero: it is new.
func (d *declared) refusePool(index int, p, was Pool) error {
	var wrong []PoolProblem
	at := problems{&wrong, "pools[" + strconv.Itoa(index) + "]."}
	p.checkOffer(at, d.versionsByName[p.Name()].Modes)
	for _, m := range p.Modes {
		if owner, taken := d.modeOwners[poolMode{p.Region, m}]; taken && owner != p.key() {
			at.addf("modes", "mode %q of region %s belongs to pool %s: 'director pools roll' moves it to another version",
				m, p.Region, owner.name())
		}
	}
	// Servers that run keep the modes with which they have registered.
	for _, m := range was.Modes {
		if !slices.Contains(p.Modes, m) && was.Servers > 0 {
			at.addf("modes", "%d servers of the pool offer mode %q: 'director pools roll' moves it to another version, "+
				"and drains them", was.Servers, m)
		}
	}
	if len(wrong) > 0 {
		return problemError(fault.Conflict, "mode_taken", wrong[0])
	}
	return nil
}
