package db

import (
	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// ackTx is one transaction of acks: the rows that it has locked and read, and the changes to write.
type ackTx struct {
	q             *query.Queries
	region        string
	furtherAgents []string // to lock, besides those of the acks

	agentsByID   map[string]query.LockAgentStatesRow
	commandsByID map[uuid.UUID]query.AcknowledgedCommandsRow

	settleParams   query.SettleAcknowledgedParams
	confirmedRooms []string // public ids
	deletedRooms   []string // public ids
	lateRooms      []lateRoom
	roomRenames    query.RenameRoomsParams
	agentEvents    query.LogAgentEventsParams
	callerReplicas []uuid.UUID // replicas that wait for the answers to the commands
}

// ackChange holds the changes that an ack makes to the counters and the status of its agent.
type ackChange struct {
	roomsDelta, reservedDelta int32
	connectionsDelta          int64
	statusOverride            string // "": unchanged
	owesReply                 bool   // the agent's next reply shows whether the rooms exist
}

func roomInfoOfCommand(r query.AcknowledgedCommandsRow) RoomInfo {
	return RoomInfo{ID: r.RoomID, Type: r.RoomType, Connections: r.Connections, InstanceID: r.AgentID,
		EndpointURL: r.Endpoint, Local: r.Local}
}

// lateRoom is a room that an agent has created after its reservation had ended.
type lateRoom struct {
	ackedCommand query.AcknowledgedCommandsRow
	publicID     string // chosen by nameLateRooms
}
