package db

import (
	"crypto/rand"
	"encoding/binary"
	"slices"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// hostLook is the part of a snapshot that concerns the orders.
type hostLook struct {
	takenIDs          []string // ids of rooms
	pinnedHosts       []query.RoomHostsRow
	candidatesByGroup map[string][]query.RoomCandidatesRow // by group
}

// refuse refuses the orders for which the snapshot has no agent. It checks the reasons in the documented order.
func (l hostLook) refuse(orders []*roomOrder) {
	for _, o := range orders {
		switch {
		case slices.Contains(l.takenIDs, o.newRoom.RoomID):
			o.err = roomExists(o.newRoom.RoomID)
		case o.newRoom.InstanceID != nil && o.newRoom.ProcessUID != nil:
			o.err = fault.New(fault.Invalid, CodeValidation,
				"a room is pinned to an instance or to a process, not to both")
		case o.groupKey == "":
			o.agentID, o.err = l.pin(o)
		case len(l.candidatesByGroup[o.groupKey]) == 0:
			o.err = fault.New(fault.NoCapacity, CodeNoCandidate,
				"no instance takes a room of type %q with these labels now", o.newRoom.Type)
		// There are candidates, and each of them has as many commands in flight as an agent may.
		case !slices.ContainsFunc(l.candidatesByGroup[o.groupKey],
			func(c query.RoomCandidatesRow) bool { return c.InFlight < maxInFlight }):
			o.err = agentBusy()
		}
	}
}

// pin returns the agent that an order is pinned to.
func (l hostLook) pin(o *roomOrder) (agent string, err error) {
	var host *query.RoomHostsRow
	for i, r := range l.pinnedHosts {
		named := o.newRoom.InstanceID != nil && *o.newRoom.InstanceID == r.ID ||
			o.newRoom.ProcessUID != nil && *o.newRoom.ProcessUID == r.ProcessUid
		if named && (host == nil || isNewerHost(r, host)) {
			host = &l.pinnedHosts[i]
		}
	}
	if host == nil {
		return "", agentNotFound(o.pinText())
	}
	return host.ID, pinRefusal(*host, o)
}

func (o *roomOrder) pinText() string {
	if o.newRoom.InstanceID != nil {
		return *o.newRoom.InstanceID
	}
	return *o.newRoom.ProcessUID
}

func isNewerHost(r query.RoomHostsRow, other *query.RoomHostsRow) bool {
	if !r.JoinedAt.Equal(other.JoinedAt) {
		return r.JoinedAt.After(other.JoinedAt)
	}
	return r.ID > other.ID
}

// pinRefusal returns the reason why an order may not go to the agent that it is pinned to; nil: it may.
func pinRefusal(r query.RoomHostsRow, o *roomOrder) error {
	switch {
	case r.Status == AgentDraining && !o.newRoom.IsForced:
		return fault.New(fault.Conflict, CodeInstanceDraining, "the instance %s is draining", r.ID)
	case r.Stale && !o.newRoom.IsForced:
		return fault.New(fault.Gone, CodeInstanceDisconnected, "the instance %s has not answered lately", r.ID)
	case !r.AutoCreate:
		return fault.New(fault.NoCapacity, CodeNoCandidate, "the instance %s creates no rooms on request", r.ID)
	case r.InFlight >= maxInFlight:
		return agentBusy()
	}
	return nil
}

// deal chooses agents for the orders without a pin. An order gets no agent if other orders of this transaction got the
// last place.
func (l hostLook) deal(orders []*roomOrder) {
	d := roomDeal{indexOfAgent: map[string]int{}, positionOfGroup: map[string]int{}}
	for _, o := range orders {
		if o.groupKey != "" && o.err == nil {
			d.add(o, l.candidatesByGroup[o.groupKey])
		}
	}
	for g, dealt := range spreadRooms(d.groups, d.agentLoads, drawIndex) {
		for i, agent := range dealt {
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

// roomDeal converts orders and candidates to the input of spread.
type roomDeal struct {
	agentLoads    []agentLoad
	agentIDs      []string // of agents
	groups        []roomGroup
	ordersByGroup [][]*roomOrder // of groups

	indexOfAgent, positionOfGroup map[string]int // of agents, of groups
}

func (d *roomDeal) add(o *roomOrder, candidates []query.RoomCandidatesRow) {
	g, known := d.positionOfGroup[o.groupKey]
	if !known {
		g = len(d.groups)
		d.positionOfGroup[o.groupKey], d.ordersByGroup = g, append(d.ordersByGroup, nil)
		d.groups = append(d.groups, d.newGroup(o.newRoom.SpreadStrategy, candidates))
	}
	d.groups[g].roomCount++
	d.ordersByGroup[g] = append(d.ordersByGroup[g], o)
}

func (d *roomDeal) newGroup(strategy string, candidates []query.RoomCandidatesRow) roomGroup {
	g := roomGroup{strategy: strategy}
	for _, c := range candidates {
		i, known := d.indexOfAgent[c.ID]
		if !known {
			i = len(d.agentLoads)
			d.indexOfAgent[c.ID], d.agentIDs, d.agentLoads = i, append(d.agentIDs, c.ID), append(d.agentLoads,
				candidateLoad(c))
		}
		g.agentIndexes = append(g.agentIndexes, i)
		// spread counts the ones among the rows itself.
		if c.MaxConnections == nil {
			g.undeclaredAgents--
		}
	}
	if len(candidates) > 0 {
		// the same in all rows; it may be larger than the number of rows read
		g.undeclaredAgents += int(candidates[0].Undeclared)
	}
	return g
}

func candidateLoad(c query.RoomCandidatesRow) agentLoad {
	return agentLoad{int(c.Connections), c.MaxConnections, int(c.Rooms), c.MaxRooms, int(c.InFlight)}
}
