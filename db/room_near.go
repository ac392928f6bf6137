package db

import (
	"slices"

	"github.com/lattice-director/director/db/query"
)

// The candidates of a room are all agents of the fleet that may host it, of which the best one gets it. To read them
// costs as much as the fleet is large. So a replica names the agents that look best in its copy of the fleet, in
// [NewRoom.NearestAgents], and this file decides by their rows alone if these have places enough. A copy is
// milliseconds old: the rows are read anew and checked again under their locks, so it decides only which agents are
// compared. Nothing is refused because of it: where the named agents do not suffice, the whole fleet is read.

// spareNear is how many agents more than rooms are compared, so that the best ones are among them although the copies
// of other replicas name the same ones.
const spareNear = 32

// nearby is the agents that the orders name, by group. The zero value names none: the whole fleet is read.
type nearby struct {
	agentIDs      []string
	ordersByGroup map[string][]*roomOrder // by group
	namedAgents   map[string]map[string]bool
}

// nearbyHosts returns the agents that orders without a pin name, each group as many as it has rooms and some more. It
// names none if an order names none.
func nearbyHosts(orders []*roomOrder) nearby {
	n := nearby{ordersByGroup: map[string][]*roomOrder{}, namedAgents: map[string]map[string]bool{}}
	for _, o := range orders {
		switch {
		case o.groupKey == "":
		// An order without named agents needs the whole fleet, and one that no agent matches must not get a named one.
		case len(o.newRoom.NearestAgents) == 0, o.newRoom.NoMatch:
			return nearby{}
		default:
			n.ordersByGroup[o.groupKey] = append(n.ordersByGroup[o.groupKey], o)
		}
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
// whole fleet.
func (n nearby) choose(rows []query.RoomHostsRow, candidates map[string][]query.RoomCandidatesRow) bool {
	for group, orders := range n.ordersByGroup {
		places, undeclared := 0, 0
		var found []query.RoomCandidatesRow
		for _, r := range rows {
			host := roomHost{r, agentLoad{int(r.Connections), r.MaxConnections, int(r.Rooms), r.MaxRooms,
				int(r.InFlight)}}
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
		if places < len(orders) || undeclared != 0 &&
			undeclared != len(found) { // how agents are compared depends on all of them
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
