package roster

import (
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// fleet is the mutable copy from which views are made. One goroutine changes it; Instance and AppendRoom of [Roster]
// read its indexes concurrently.
type fleet struct {
	agents       map[string]*agent // by id: all agents that have not left
	liveReplicas map[uuid.UUID]bool
	heardAt      map[uuid.UUID]int64
	totals       totals
	// the listed instances by joining; the slice is never changed in place, because views share it
	ordered []*Instance
	ranked  []*Instance // the same by rank, for [Roster.Near]
	changed uint64

	mu     sync.RWMutex // guards the indexes
	listed map[string]*Instance
	rooms  map[string]place
}

// agent is an instance, listed or not.
type agent struct {
	instance *Instance

	joinedElsewhere bool // its process has opened another connection
	listed          bool
}

// place is the location of a room in the copy.
type place struct {
	instance *Instance

	n int
}

func newFleet() *fleet {
	return &fleet{
		agents: map[string]*agent{}, liveReplicas: map[uuid.UUID]bool{}, heardAt: map[uuid.UUID]int64{},
		totals: newTotals(),
		listed: map[string]*Instance{}, rooms: map[string]place{},
	}
}

// apply applies the changes of a page, in order. It encodes only the instances of the page.
func (f *fleet) apply(page *db.RosterPage) {
	var d diff
	// An agent is listed only while its replica is live, and the rows of agents do not change when a replica ends.
	if flipped := f.setReplicas(page.Replicas); len(flipped) > 0 {
		for _, a := range f.agents {
			if flipped[a.instance.replica] {
				f.show(a, &d)
			}
		}
	}
	for i := range page.Agents {
		f.set(&page.Agents[i], &d)
	}
	if d.empty() {
		return
	}
	f.ordered = d.merge(f.ordered, (*Instance).compare)
	f.ranked = d.merge(f.ranked, (*Instance).compareRank)
	f.index(&d)
}

// setReplicas records when each replica last heard from its agents, and returns the replicas that became live or
// stopped being live.
func (f *fleet) setReplicas(all []db.RosterReplica) (flipped map[uuid.UUID]bool) {
	live, heard := make(map[uuid.UUID]bool, len(all)), make(map[uuid.UUID]int64, len(all))
	for _, r := range all {
		heard[r.ID] = r.HeardSince.UnixMilli()
		if r.IsLive {
			live[r.ID] = true
		}
	}
	if !maps.Equal(live, f.liveReplicas) {
		flipped = map[uuid.UUID]bool{}
		for _, ids := range []map[uuid.UUID]bool{live, f.liveReplicas} {
			for id := range ids {
				if live[id] != f.liveReplicas[id] {
					flipped[id] = true
				}
			}
		}
	}
	f.liveReplicas, f.heardAt = live, heard
	return flipped
}

// set stores the row of an agent.
func (f *fleet) set(row *db.RosterAgent, d *diff) {
	f.changed = max(f.changed, row.Tx)
	a := f.agents[row.Info.ID]
	if a != nil {
		f.hide(a, d)
	}
	if row.HasLeft {
		delete(f.agents, row.Info.ID)
		return
	}
	a = &agent{instance: newInstance(row), joinedElsewhere: row.JoinedElsewhere}
	f.agents[row.Info.ID] = a
	f.show(a, d)
}

// show lists or hides an agent, according to its row and its replica's row.
func (f *fleet) show(a *agent, d *diff) {
	if a.joinedElsewhere || !f.liveReplicas[a.instance.replica] {
		f.hide(a, d)
		return
	}
	if !a.listed {
		a.listed = true
		f.totals.count(a.instance, 1)
		d.add(a.instance)
	}
}

func (f *fleet) hide(a *agent, d *diff) {
	if a.listed {
		a.listed = false
		f.totals.count(a.instance, -1)
		d.remove(a.instance)
	}
}

// index updates the indexes after a change. A removed and an added instance may have the same rooms.
func (f *fleet) index(d *diff) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range d.removed {
		delete(f.listed, i.ID)
		for _, r := range i.Rooms {
			if f.rooms[r.ID].instance == i {
				delete(f.rooms, r.ID)
			}
		}
	}
	for i := range d.added {
		f.listed[i.ID] = i
		for n, r := range i.Rooms {
			f.rooms[r.ID] = place{i, n}
		}
	}
}

// view returns an immutable view of the current copy.
func (f *fleet) view() *View {
	return &View{stats: f.totals.snapshot(), instances: f.ordered, ranked: f.ranked, heardAt: f.heardAt,
		changed: f.changed}
}

func (f *fleet) instance(id string) (*Instance, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	i, ok := f.listed[id]
	return i, ok
}

func (f *fleet) room(id string) (place, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	p, ok := f.rooms[id]
	return p, ok
}

// diff collects the changes that a page makes to the list.
type diff struct {
	removed, added map[*Instance]struct{}
}

func (d *diff) empty() bool { return len(d.removed)+len(d.added) == 0 }

func (d *diff) add(i *Instance) {
	if d.added == nil {
		d.added = map[*Instance]struct{}{}
	}
	d.added[i] = struct{}{}
}

// remove removes an instance from the list, or from the additions of this diff.
func (d *diff) remove(i *Instance) {
	if _, ok := d.added[i]; ok {
		delete(d.added, i)
		return
	}
	if d.removed == nil {
		d.removed = map[*Instance]struct{}{}
	}
	d.removed[i] = struct{}{}
}

// merge returns a list in an order after the change. It copies pointers, and compares instances only to find the places
// of the added ones.
func (d *diff) merge(list []*Instance, order func(a, b *Instance) int) []*Instance {
	added := slices.SortedFunc(maps.Keys(d.added), order)
	gone := make([]int, 0, len(d.removed)+1)
	for i := range d.removed {
		at, _ := slices.BinarySearchFunc(list, i, order)
		gone = append(gone, at)
	}
	slices.Sort(gone)
	merged := make([]*Instance, 0, len(list)-len(gone)+len(added))
	from := 0
	for _, i := range added {
		at, _ := slices.BinarySearchFunc(list, i, order)
		merged = append(appendWithout(merged, list, gone, from, at), i)
		from = at
		passed, _ := slices.BinarySearch(gone, at)
		gone = gone[passed:]
	}
	return appendWithout(merged, list, gone, from, len(list))
}

// appendWithout appends list[from:to] without the removed indexes, which are sorted.
func appendWithout(merged, list []*Instance, gone []int, from, to int) []*Instance {
	for _, at := range gone {
		if at >= to {
			break
		}
		merged = append(merged, list[from:at]...)
		from = at + 1
	}
	return append(merged, list[from:to]...)
}
