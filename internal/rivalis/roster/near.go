package roster

import (
	"cmp"
	"iter"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/lattice-director/director/db"
)

// nearCount is how many instances a room is compared on.
const nearCount = 64

// NearestAgents returns the ids of the instances that look best for a room, for [db.NewRoom.NearestAgents]. It returns
// none if it cannot know: before the first read, for a room with a pin, or if some of the instances declare a maximum
// of connections and others do not, since how they are compared then depends on all of them.
func (r *Roster) NearestAgents(room db.NewRoom) []string {
	view := r.View()
	// A pin names the instance or the process.
	if view == nil || room.InstanceID != nil || room.ProcessUID != nil {
		return nil
	}
	return view.nearestAgents(room)
}

func (v *View) nearestAgents(room db.NewRoom) []string {
	// By rank, instances without a maximum of connections come first.
	firstWithMax := sort.Search(len(v.byRank),
		func(n int) bool { return v.byRank[n].declaredCapacity.MaxConnections != nil })
	withoutMax, withMax := bestHosts(v.byRank[:firstWithMax], room), bestHosts(v.byRank[firstWithMax:], room)
	if len(withoutMax) > 0 && len(withMax) > 0 {
		return nil
	}
	return append(withoutMax, withMax...)
}

// bestHosts returns the ids of the instances that look best for a room, the best first, at most nearCount. It walks the
// ranked instances only until it has as many, so that its cost does not grow with the fleet. Instances that look
// equally good begin at a random one of them, so that rooms that are created at the same time spread.
func bestHosts(ranked []*Instance, room db.NewRoom) (ids []string) {
	for equal := range equallyGood(ranked, room.SpreadStrategy) {
		// No group is empty: see equallyGood.
		first := rand.IntN(len(equal))
		for n := range equal {
			if i := equal[(first+n)%len(equal)]; i.mayHost(room) {
				ids = append(ids, i.ID)
			}
			if len(ids) == nearCount {
				return ids
			}
		}
	}
	return ids
}

// mayHost reports whether an instance looks as if it could host a room.
func (i *Instance) mayHost(room db.NewRoom) bool {
	if !i.autoCreate || i.Status != db.AgentActive || !slices.Contains(i.RoomTypes, room.Type) {
		return false
	}
	if most := i.declaredCapacity.MaxRooms; most != nil && len(i.Rooms) >= int(*most) {
		return false
	}
	if most := i.declaredCapacity.MaxConnections; most != nil && i.connectionCount >= int64(*most) {
		return false
	}
	for key, value := range room.RequiredLabels {
		if has, ok := i.Labels[key]; !ok || has != value {
			return false
		}
	}
	return true
}

// compareRank orders instances by whether they declare a maximum of connections, then by load, by rooms and by id.
func (i *Instance) compareRank(other *Instance) int {
	if declared := i.declaredCapacity.MaxConnections != nil; declared != (other.declaredCapacity.MaxConnections != nil) {
		if declared {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(i.connectionLoad, other.connectionLoad), cmp.Compare(len(i.Rooms), len(other.Rooms)),
		cmp.Compare(i.ID, other.ID))
}

// equallyGood yields the ranked instances in groups that a strategy does not distinguish, the best group first: those
// of the same load and number of rooms. The strategy "most-loaded" begins with the highest load, and with the fewest
// rooms within a load. Unknown strategies are the default.
func equallyGood(ranked []*Instance, strategy string) iter.Seq[[]*Instance] {
	return func(yield func([]*Instance) bool) {
		switch strategy {
		case "random":
			if len(ranked) > 0 {
				yield(ranked)
			}
		case "most-loaded":
			for len(ranked) > 0 {
				highest := ranked[len(ranked)-1].connectionLoad
				from := sort.Search(len(ranked), func(n int) bool { return ranked[n].connectionLoad >= highest })
				if !yieldEqual(ranked[from:], yield) {
					return
				}
				ranked = ranked[:from]
			}
		default:
			yieldEqual(ranked, yield)
		}
	}
}

// yieldEqual yields ranked instances in groups of the same load and number of rooms. It returns false if yield did.
func yieldEqual(ranked []*Instance, yield func([]*Instance) bool) bool {
	for len(ranked) > 0 {
		load, rooms := ranked[0].connectionLoad, len(ranked[0].Rooms)
		to := sort.Search(len(ranked), func(n int) bool {
			return ranked[n].connectionLoad != load || len(ranked[n].Rooms) != rooms
		})
		if !yield(ranked[:to]) {
			return false
		}
		ranked = ranked[to:]
	}
	return true
}
