package db

import (
	"slices"

	"github.com/lattice-director/director/db/query"
)

// roomHost is an agent that may host rooms. agentLoad counts also those that the transaction gives it.
type roomHost struct {
	row query.RoomHostsRow

	agentLoad agentLoad
}

func newRoomHost(r query.RoomHostsRow) *roomHost {
	return &roomHost{row: r, agentLoad: agentLoad{connectionCount: int(r.Connections), maxConnections: r.MaxConnections,
		roomCount: int(r.Rooms), maxRooms: r.MaxRooms, inFlight: int(r.InFlight)}}
}

// takes reports whether the agent may host the order in addition to the orders that it already got.
func (r *roomHost) takes(o *roomOrder) bool {
	if r.agentLoad.inFlight >= maxInFlight {
		return false
	}
	if o.groupKey == "" {
		return pinRefusal(r.row, o) == nil
	}
	for k, v := range o.newRoom.RequiredLabels {
		if has, ok := r.row.Labels[k]; !ok || has != v {
			return false
		}
	}
	return r.row.Status == AgentActive && !r.row.Stale && r.row.AutoCreate && r.agentLoad.hasPlace() &&
		slices.Contains(r.row.RoomTypes, o.newRoom.Type)
}
