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
	takenIDs   []string // ids of rooms
	pinned     []query.RoomHostsRow
	candidates map[string][]query.RoomCandidatesRow // by group
}

// refuse refuses the orders for which the snapshot has no agent. It checks the reasons in the documented order.
func (l hostLook) refuse(orders []*roomOrder) {
	for _, o := range orders {
		switch {
		case slices.Contains(l.takenIDs, o.room.RoomID):
			o.err = roomExists(o.room.RoomID)
		case o.room.InstanceID != nil && o.room.ProcessUID != nil:
			o.err = fault.New(fault.Invalid, CodeValidation,
				"a room is pinned to an instance or to a process, not to both")
		case o.group == "":
			o.agent, o.err = l.pin(o)
		case len(l.candidates[o.group]) == 0:
			o.err = fault.New(fault.NoCapacity, CodeNoCandidate,
				"no instance takes a room of type %q with these labels now", o.room.Type)
		// There are candidates, and each of them has as many commands in flight as an agent may.
		case !slices.ContainsFunc(l.candidates[o.group],
			func(c query.RoomCandidatesRow) bool { return c.InFlight < maxInFlight }):
			o.err = agentBusy()
		}
	}
}

// pin returns the agent that an order is pinned to.
func (l hostLook) pin(o *roomOrder) (agent string, err error) {
	var host *query.RoomHostsRow
	for i, r := range l.pinned {
		named := o.room.InstanceID != nil && *o.room.InstanceID == r.ID ||
			o.room.ProcessUID != nil && *o.room.ProcessUID == r.ProcessUid
		if named && (host == nil || isNewerHost(r, host)) {
			host = &l.pinned[i]
		}
	}
	if host == nil {
		return "", agentNotFound(o.pinText())
	}
	return host.ID, pinRefusal(*host, o)
}

func (o *roomOrder) pinText() string {
	if o.room.InstanceID != nil {
		return *o.room.InstanceID
	}
	return *o.room.ProcessUID
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
	case r.Status == AgentDraining && !o.room.Force:
		return fault.New(fault.Conflict, CodeInstanceDraining, "the instance %s is draining", r.ID)
	case r.Stale && !o.room.Force:
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
	d := roomDeal{index: map[string]int{}, positions: map[string]int{}}
	for _, o := range orders {
		if o.group != "" && o.err == nil {
			d.add(o, l.candidates[o.group])
		}
	}
	for g, dealt := range spread(d.groups, d.agents, draw) {
		for i, agent := range dealt {
			if agent >= 0 {
				d.orders[g][i].agent = d.ids[agent]
			}
		}
	}
}

// draw returns a number in [0, n).
func draw(n int) int {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return int(binary.LittleEndian.Uint64(b[:]) % uint64(n))
}

// roomDeal converts orders and candidates to the input of spread.
type roomDeal struct {
	agents []agentLoad
	ids    []string // of agents
	groups []roomGroup
	orders [][]*roomOrder // of groups

	index, positions map[string]int // of agents, of groups
}

func (d *roomDeal) add(o *roomOrder, candidates []query.RoomCandidatesRow) {
	g, known := d.positions[o.group]
	if !known {
		g = len(d.groups)
		d.positions[o.group], d.orders = g, append(d.orders, nil)
		d.groups = append(d.groups, d.newGroup(o.room.Strategy, candidates))
	}
	d.groups[g].rooms++
	d.orders[g] = append(d.orders[g], o)
}

func (d *roomDeal) newGroup(strategy string, candidates []query.RoomCandidatesRow) roomGroup {
	g := roomGroup{strategy: strategy}
	for _, c := range candidates {
		i, known := d.index[c.ID]
		if !known {
			i = len(d.agents)
			d.index[c.ID], d.ids, d.agents = i, append(d.ids, c.ID), append(d.agents, candidateLoad(c))
		}
		g.agents = append(g.agents, i)
		// spread counts the ones among the rows itself.
		if c.MaxConnections == nil {
			g.undeclared--
		}
	}
	if len(candidates) > 0 {
		// the same in all rows; it may be larger than the number of rows read
		g.undeclared += int(candidates[0].Undeclared)
	}
	return g
}

func candidateLoad(c query.RoomCandidatesRow) agentLoad {
	return agentLoad{int(c.Connections), c.MaxConnections, int(c.Rooms), c.MaxRooms, int(c.InFlight)}
}
