package roster

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/lattice-director/director/db"
)

// nearCount is how many instances a room is compared on.
const nearCount = 64

// Near returns the ids of the instances that look best for a room, for [db.NewRoom.Near]. It returns none if it cannot know: before the first
// read, for a room with a pin, or if some of the instances declare a maximum of connections and others do not, since how they are compared then
// depends on all of them.
func (r *Roster) Near(room db.NewRoom) []string {
	view := r.View()
	if view == nil || room.InstanceID != nil || room.ProcessUID != nil {
		return nil
	}
	return view.near(room)
}

func (v *View) near(room db.NewRoom) []string {
	best := &nearest{sign: signOf(room.Strategy)}
	undeclared, declared := false, false
	for _, i := range v.instances {
		if !i.mayHost(room) {
			continue
		}
		undeclared, declared = undeclared || i.capacity.MaxConnections == nil, declared || i.capacity.MaxConnections != nil
		best.add(i)
	}
	if undeclared && declared {
		return nil
	}
	return best.ids()
}

// mayHost reports whether an instance looks as if it could host a room.
func (i *Instance) mayHost(room db.NewRoom) bool {
	if !i.autoCreate || i.Status != db.AgentActive || !slices.Contains(i.RoomTypes, room.Type) {
		return false
	}
	if most := i.capacity.MaxRooms; most != nil && len(i.Rooms) >= int(*most) {
		return false
	}
	if most := i.capacity.MaxConnections; most != nil && i.connections >= int64(*most) {
		return false
	}
	for key, value := range room.Labels {
		if has, ok := i.Labels[key]; !ok || has != value {
			return false
		}
	}
	return true
}

// signOf returns 1 where the least loaded instances are the best, -1 for the most loaded, 0 for any. Unknown strategies are the default.
func signOf(strategy string) float64 {
	switch strategy {
	case "most-loaded":
		return -1
	case "random":
		return 0
	}
	return 1
}

// nearest keeps the best instances that were added, at most nearCount.
type nearest struct {
	sign float64
	list []scored // the best first
}

// scored is an instance with what it is compared by.
type scored struct {
	id          string
	load, rooms float64
	tie         uint64
}

func (s scored) compare(o scored) int {
	return cmp.Or(cmp.Compare(s.load, o.load), cmp.Compare(s.rooms, o.rooms), cmp.Compare(s.tie, o.tie))
}

func (n *nearest) add(i *Instance) {
	load := float64(i.connections)
	if most := i.capacity.MaxConnections; most != nil {
		load /= float64(*most)
	}
	one := scored{i.ID, n.sign * load, n.sign * n.sign * float64(len(i.Rooms)), rand.Uint64()}
	if len(n.list) == nearCount {
		if one.compare(n.list[nearCount-1]) >= 0 {
			return
		}
		n.list = n.list[:nearCount-1]
	}
	at, _ := slices.BinarySearchFunc(n.list, one, scored.compare)
	n.list = slices.Insert(n.list, at, one)
}

func (n *nearest) ids() []string {
	ids := make([]string, len(n.list))
	for i, one := range n.list {
		ids[i] = one.id
	}
	return ids
}
