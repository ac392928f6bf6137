package db

import (
	"slices"

	"github.com/lattice-director/director/db/query"
)

// roomHost is an agent that the transaction has locked, with counts of the rooms that the transaction gives it.
type roomHost struct {
	row query.RoomHostsRow

	agentLoad agentLoad
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
