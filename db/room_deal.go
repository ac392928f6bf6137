package db

import (
	"crypto/rand"
	"encoding/binary"

	"github.com/lattice-director/director/db/query"
)

// deal chooses agents for the orders without a pin. An order gets no agent if other orders of this transaction got the
// last place.
func (s hostSnapshot) deal(orders []*roomOrder) {
	d := roomDeal{indexOfAgent: map[string]int{}, indexOfGroup: map[string]int{}}
	for _, o := range orders {
		if o.groupKey != "" && o.err == nil {
			d.add(o, s.candidatesByGroup[o.groupKey])
		}
	}
	for g, dealt := range spreadRooms(d.groups, d.agentLoads, drawIndex) {
		for i, agent := range dealt {
			// Otherwise it is noCandidate or allBusy.
			if agent >= 0 {
				d.ordersByGroup[g][i].agentID = d.agentIDs[agent]
			}
		}
	}
}

// drawIndex returns a number in [0, n).
func drawIndex(n int) int {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return int(binary.LittleEndian.Uint64(b[:]) % uint64(n))
}

// roomDeal converts orders and candidates to the input of spreadRooms, which knows agents and groups by their index.
type roomDeal struct {
	agentLoads   []agentLoad
	agentIDs     []string       // by the index of the agent
	indexOfAgent map[string]int // by the id of the agent

	groups        []roomGroup
	ordersByGroup [][]*roomOrder // by the index of the group
	indexOfGroup  map[string]int // by the key of the group
}

func (d *roomDeal) add(o *roomOrder, candidates []query.RoomCandidatesRow) {
	g, known := d.indexOfGroup[o.groupKey]
	if !known {
		g = len(d.groups)
		d.indexOfGroup[o.groupKey] = g
		d.groups = append(d.groups, d.newGroup(o.newRoom.SpreadStrategy, candidates))
		d.ordersByGroup = append(d.ordersByGroup, nil)
	}
	d.groups[g].roomCount++
	d.ordersByGroup[g] = append(d.ordersByGroup[g], o)
}

func (d *roomDeal) newGroup(strategy string, candidates []query.RoomCandidatesRow) roomGroup {
	g := roomGroup{strategy: strategy}
	undeclaredCandidates := 0
	for _, c := range candidates {
		i, known := d.indexOfAgent[c.ID]
		if !known {
			i = len(d.agentLoads)
			d.indexOfAgent[c.ID] = i
			d.agentIDs = append(d.agentIDs, c.ID)
			d.agentLoads = append(d.agentLoads, candidateLoad(c))
		}
		g.agentIndexes = append(g.agentIndexes, i)
		if c.MaxConnections == nil {
			undeclaredCandidates++
		}
	}
	if len(candidates) > 0 {
		// Each row has the number of the whole fleet. The rows may be only the best agents.
		g.otherUndeclared = int(candidates[0].Undeclared) - undeclaredCandidates
	}
	return g
}

func candidateLoad(c query.RoomCandidatesRow) agentLoad {
	return agentLoad{connectionCount: int(c.Connections), maxConnections: c.MaxConnections, roomCount: int(c.Rooms),
		maxRooms: c.MaxRooms, inFlight: int(c.InFlight)}
}
