package db

import (
	"slices"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// hostSnapshot is what the database had for some orders.
type hostSnapshot struct {
	takenIDs          []string             // those ids of the orders that rooms have
	pinnedHosts       []query.RoomHostsRow // to which orders are pinned, and those that orders name as nearest
	candidatesByGroup map[string][]query.RoomCandidatesRow
}

// refuse refuses the orders for which the snapshot has no agent, and gives pinned orders their agent. It checks the
// reasons in the order that CreateRoom documents.
func (s hostSnapshot) refuse(orders []*roomOrder) {
	for _, o := range orders {
		switch {
		case slices.Contains(s.takenIDs, o.newRoom.RoomID):
			o.err = roomExists(o.newRoom.RoomID)
		case o.newRoom.InstanceID != nil && o.newRoom.ProcessUID != nil:
			o.err = fault.New(fault.Invalid, CodeValidation,
				"a room is pinned to an instance or to a process, not to both")
		case o.groupKey == "":
			o.agentID, o.err = s.pin(o)
		case len(s.candidatesByGroup[o.groupKey]) == 0:
			o.err = fault.New(fault.NoCapacity, CodeNoCandidate,
				"no instance takes a room of type %q with these labels now", o.newRoom.Type)
		// There are candidates, and each of them has as many commands in flight as an agent may.
		case !slices.ContainsFunc(s.candidatesByGroup[o.groupKey],
			func(c query.RoomCandidatesRow) bool { return c.InFlight < maxInFlight }):
			o.err = agentBusy()
		}
	}
}

// pin returns the agent that an order is pinned to: the connection with the id, or the newest one of the process.
func (s hostSnapshot) pin(o *roomOrder) (agent string, err error) {
	var host *query.RoomHostsRow
	for i, r := range s.pinnedHosts {
		named := o.newRoom.InstanceID != nil && *o.newRoom.InstanceID == r.ID ||
			o.newRoom.ProcessUID != nil && *o.newRoom.ProcessUID == r.ProcessUid
		if named && (host == nil || isNewerHost(r, host)) {
			host = &s.pinnedHosts[i]
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
