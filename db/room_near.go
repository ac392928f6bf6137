package db

import (
	"slices"

	"github.com/lattice-director/director/db/query"
)

// The candidates of a room are all agents of the fleet that may host the room, of which the best one gets it. Reading
// them costs the more the larger the fleet is. So a replica names the agents that look best in its copy of the fleet,
// in [NewRoom.NearestAgents], and this file decides by the rows of these agents alone if they have places enough. A
// copy is milliseconds old, but decides only which agents are compared: their rows are read anew, and checked again
// under their locks. Nothing is refused because of a copy: where the named agents do not suffice, the whole fleet is
// read.

// spareNear is how many agents more than rooms are compared, so that the best ones are among them although the copies
// of other replicas name the same ones.
const spareNear = 32

// nearby is the agents that the orders name, by group. The zero value names none: the whole fleet is read.
type nearby struct {
	agentIDs      []string // of all groups
	ordersByGroup map[string][]*roomOrder
	namedAgents   map[string]map[string]bool // by group and id
}

// nearbyHosts returns the agents that orders without a pin name, in each group spareNear more than it has rooms. It
// returns the zero value if such an order names none.
func nearbyHosts(orders []*roomOrder) nearby {
	n := nearby{ordersByGroup: map[string][]*roomOrder{}, namedAgents: map[string]map[string]bool{}}
	for _, o := range orders {
		if o.groupKey == "" {
			continue
		}
		// An order without named agents needs the whole fleet, and one that no agent matches must not get a named one.
		if len(o.newRoom.NearestAgents) == 0 || o.newRoom.NoMatch {
			return nearby{}
		}
		n.ordersByGroup[o.groupKey] = append(n.ordersByGroup[o.groupKey], o)
	}
	for group, all := range n.ordersByGroup {
		n.namedAgents[group] = map[string]bool{}
		// By rank first, so that each order of the group has its best agents among the ones that are read.
		for rank := range spareNear {
			for _, o := range all {
				if rank < len(o.newRoom.NearestAgents) && len(n.namedAgents[group]) < len(all)+spareNear {
					n.namedAgents[group][o.newRoom.NearestAgents[rank]] = true
				}
			}
		}
		for id := range n.namedAgents[group] {
			n.agentIDs = append(n.agentIDs, id)
		}
	}
	slices.Sort(n.agentIDs)
	n.agentIDs = slices.Compact(n.agentIDs)
	return n
}

// choose adds the candidates of each group among the rows of the named agents. It returns false if a group needs the
// whole fleet; the candidates are then incomplete.
func (n nearby) choose(rows []query.RoomHostsRow, candidates map[string][]query.RoomCandidatesRow) bool {
	for group, orders := range n.ordersByGroup {
		places, undeclared := 0, 0
		var found []query.RoomCandidatesRow
		for _, r := range rows {
			host := newRoomHost(r)
			if !n.namedAgents[group][r.ID] || !r.Fresh || !host.takes(orders[0]) {
				continue
			}
			if r.MaxConnections == nil {
				undeclared++
			}
			places += host.freePlaces()
			found = append(found, query.RoomCandidatesRow{
				ID: r.ID, MaxConnections: r.MaxConnections, MaxRooms: r.MaxRooms, Connections: r.Connections,
				Rooms: r.Rooms, InFlight: r.InFlight,
			})
		}
		if places < len(orders) {
			return false
		}
		// Where only some declare a maximum of connections, the rest of the fleet decides how agents are compared.
		if undeclared != 0 && undeclared != len(found) {
			return false
		}
		for i := range found {
			found[i].Undeclared = int32(undeclared)
		}
		candidates[group] = found
	}
	return true
}

// freePlaces returns how many more rooms the agent can be ordered to make.
func (r *roomHost) freePlaces() int {
	places := maxInFlight - r.agentLoad.inFlight
	if r.agentLoad.maxRooms != nil {
		places = min(places, int(*r.agentLoad.maxRooms)-r.agentLoad.roomCount)
	}
	return places
}
