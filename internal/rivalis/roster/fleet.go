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
	agentByID     map[string]*agent // all agents that have not left
	liveReplicas  map[uuid.UUID]bool
	heardAt       map[uuid.UUID]int64 // as of View
	runningTotals totals
	byJoining     []*Instance // the listed instances by joining; never changed in place, because views share the slice
	byRank        []*Instance // the same by rank, for [Roster.NearestAgents]
	changedTx     uint64      // the latest transaction whose change the copy includes

	mu         sync.RWMutex // guards the two indexes below
	listedByID map[string]*Instance
	roomByID   map[string]place
}

// agent is an instance, listed or not.
type agent struct {
	instance *Instance

	isDoubted bool // another connection of its process may have replaced it
	isListed  bool
}

// place is the location of a room in the copy.
type place struct {
	instance *Instance

	roomIndex int
}

func newFleet() *fleet {
	return &fleet{
		agentByID: map[string]*agent{}, liveReplicas: map[uuid.UUID]bool{}, heardAt: map[uuid.UUID]int64{},
		runningTotals: newTotals(),
		listedByID:    map[string]*Instance{}, roomByID: map[string]place{},
	}
}

// applyPage applies the changes of a page, in order. It encodes only the instances of the page.
func (f *fleet) applyPage(page *db.RosterPage) {
	var d diff
	// An agent is listed only while its replica is live, and the rows of agents do not change when a replica ends.
	if flipped := f.setReplicas(page.Replicas); len(flipped) > 0 {
		for _, a := range f.agentByID {
			if flipped[a.instance.replicaID] {
				f.updateListing(a, &d)
			}
		}
	}
	// The replicas come before the agents, because they decide whether the agents of the page are listed.
	for i := range page.Agents {
		f.setAgent(&page.Agents[i], &d)
	}
	if d.isEmpty() {
		return
	}
	f.byJoining = d.mergeInto(f.byJoining, (*Instance).compareJoining)
	f.byRank = d.mergeInto(f.byRank, (*Instance).compareRank)
	f.updateIndexes(&d)
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
		// The first has the replicas that became live, the second those that stopped.
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

// setAgent stores the row of an agent.
func (f *fleet) setAgent(row *db.RosterAgent, d *diff) {
	f.changedTx = max(f.changedTx, row.ChangedTx)
	a := f.agentByID[row.InstanceInfo.ID]
	// The instance is replaced however little of the row has changed: views share instances, which are immutable.
	if a != nil {
		f.hideAgent(a, d)
	}
	if row.HasLeft {
		delete(f.agentByID, row.InstanceInfo.ID)
		return
	}
	a = &agent{instance: newInstance(row), isDoubted: row.IsDoubted}
	f.agentByID[row.InstanceInfo.ID] = a
	f.updateListing(a, d)
}

// updateListing lists or hides an agent, according to its row and its replica's row.
func (f *fleet) updateListing(a *agent, d *diff) {
	if a.isDoubted || !f.liveReplicas[a.instance.replicaID] {
		f.hideAgent(a, d)
		return
	}
	if !a.isListed {
		a.isListed = true
		f.runningTotals.countInstance(a.instance, 1)
		d.addInstance(a.instance)
	}
}

func (f *fleet) hideAgent(a *agent, d *diff) {
	if a.isListed {
		a.isListed = false
		f.runningTotals.countInstance(a.instance, -1)
		d.removeInstance(a.instance)
	}
}

// updateIndexes updates the indexes after a change. A removed and an added instance may have the same rooms.
func (f *fleet) updateIndexes(d *diff) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range d.removedOnes {
		delete(f.listedByID, i.ID)
		for _, r := range i.Rooms {
			// The room may already be on another instance, by an earlier page.
			if f.roomByID[r.ID].instance == i {
				delete(f.roomByID, r.ID)
			}
		}
	}
	for i := range d.addedOnes {
		f.listedByID[i.ID] = i
		for n, r := range i.Rooms {
			f.roomByID[r.ID] = place{i, n}
		}
	}
}

// currentView returns an immutable view of the current copy.
func (f *fleet) currentView() *View {
	return &View{fleetStats: f.runningTotals.currentStats(), byJoining: f.byJoining, byRank: f.byRank,
		heardAt:   f.heardAt,
		changedTx: f.changedTx}
}

func (f *fleet) listedInstance(id string) (*Instance, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	i, ok := f.listedByID[id]
	return i, ok
}

func (f *fleet) listedRoom(id string) (place, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	p, ok := f.roomByID[id]
	return p, ok
}

// diff collects the changes that a page makes to the list.
type diff struct {
	removedOnes, addedOnes map[*Instance]struct{}
}

func (d *diff) isEmpty() bool { return len(d.removedOnes)+len(d.addedOnes) == 0 }

func (d *diff) addInstance(i *Instance) {
	if d.addedOnes == nil {
		d.addedOnes = map[*Instance]struct{}{}
	}
	d.addedOnes[i] = struct{}{}
}

// removeInstance removes an instance from the list, or from the additions of this diff.
func (d *diff) removeInstance(i *Instance) {
	if _, ok := d.addedOnes[i]; ok {
		delete(d.addedOnes, i)
		return
	}
	if d.removedOnes == nil {
		d.removedOnes = map[*Instance]struct{}{}
	}
	d.removedOnes[i] = struct{}{}
}

// mergeInto returns a list in an order after the change. It copies pointers, and compares instances only to find the
// places of the added ones.
func (d *diff) mergeInto(list []*Instance, order func(a, b *Instance) int) []*Instance {
	added := slices.SortedFunc(maps.Keys(d.addedOnes), order)
	gone := make([]int, 0, len(d.removedOnes)) // the indexes of the removed instances in list
	for i := range d.removedOnes {
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
		// The indexes before at were applied: the next appendWithout begins with the first one that is left.
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
