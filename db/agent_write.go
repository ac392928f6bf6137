package db

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// write stores the changes in lock order. The statements are sent together with COMMIT.
func (t *agentTx) write() error {
	if err := t.writeAgents(); err != nil {
		return err
	}
	t.writeRooms()
	t.writeCommands()
	return t.writeEvents()
}

func (t *agentTx) writeAgents() error {
	wide := query.PutAgentsParams{Region: t.region, Unlimited: unlimited}
	states := query.PutAgentStatesParams{Region: t.region}
	for _, id := range slices.Sorted(maps.Keys(t.agentsByID)) {
		a := t.agentsByID[id]
		if a.hasNewContent {
			if err := addAgentToPut(&wide, a); err != nil {
				return err
			}
		}
		// PutAgents inserts the row of a new agent, which needs a state as well.
		if a.hasNewContent || a.hasNewState {
			addAgentStateToPut(&states, a)
		}
	}
	if len(wide.Ids) > 0 {
		query.QueueExec(t.q.Deferred(), (*query.Queries).PutAgents, wide)
	}
	if len(states.Ids) > 0 {
		query.QueueExec(t.q.Deferred(), (*query.Queries).PutAgentStates, states)
	}
	return nil
}

// unlimited stands for "no maximum" in parameters; no agent can report this number.
const unlimited = int64(1) << 40

func limitOf(n *int32) int64 {
	if n == nil {
		return unlimited
	}
	return int64(*n)
}

// addAgentToPut adds the row of the content, which changes rarely and is wide.
func addAgentToPut(p *query.PutAgentsParams, a *agentRow) error {
	c := a.content
	labels, err := json.Marshal(c.Labels)
	if err != nil {
		return err
	}
	// JSON's null is no object of labels.
	if c.Labels == nil {
		labels = []byte("{}")
	}
	p.Ids, p.Replicas, p.ProcessUids = append(p.Ids, a.ref.ID), append(p.Replicas,
		a.ref.ReplicaID), append(p.ProcessUids,
		c.ProcessUID)
	p.Names, p.Endpoints, p.Labels = append(p.Names, c.Name), append(p.Endpoints, c.EndpointURL), append(p.Labels,
		string(labels))
	p.RoomTypes = append(p.RoomTypes, textArray(c.RoomTypes))
	p.MaxConnections, p.MaxRooms = append(p.MaxConnections, limitOf(c.MaxConnections)), append(p.MaxRooms,
		limitOf(c.MaxRooms))
	p.AutoCreates, p.AgentVersions = append(p.AutoCreates, c.AutoCreate), append(p.AgentVersions, c.AgentVersion)
	p.ProtocolVersions, p.Keys = append(p.ProtocolVersions, c.ProtocolVersion), append(p.Keys, a.keyFingerprint)
	p.KeyIds, p.Joined = append(p.KeyIds, *cmp.Or(a.keyID, &uuid.Nil)), append(p.Joined, a.joinedAt)
	return nil
}

// addAgentStateToPut adds the row of the state, which changes with most replies and is narrow.
func addAgentStateToPut(p *query.PutAgentStatesParams, a *agentRow) {
	p.Ids, p.Replicas = append(p.Ids, a.ref.ID), append(p.Replicas, a.ref.ReplicaID)
	p.Statuses, p.Overrides, p.Kept = append(p.Statuses, a.content.Status), append(p.Overrides,
		a.statusOverride), append(p.Kept, a.isKept)
	p.Misses, p.Connections = append(p.Misses, a.missedPolls), append(p.Connections, a.connectionCount)
	p.Rooms, p.Reserved, p.InFlight = append(p.Rooms, a.roomCount), append(p.Reserved,
		a.reservedCount), append(p.InFlight,
		a.inFlight)
	p.OwesReply, p.Hashes, p.Seqs = append(p.OwesReply, a.owesSnapshot), append(p.Hashes, a.stateHash), append(p.Seqs,
		a.replySeq)
	p.Silences, p.Doubted, p.HasLeft = append(p.Silences, a.silentSeconds), append(p.Doubted,
		a.joinedElsewhere), append(p.HasLeft, a.hasLeft)
}

// writeRooms frees public ids before it gives them to other rooms.
func (t *agentTx) writeRooms() {
	remove := query.DeleteRoomsParams{Region: t.region}
	put := query.PutRoomsParams{Region: t.region}
	insert := query.InsertRoomsParams{Region: t.region}
	for agent, rooms := range t.ofID {
		for _, r := range rooms {
			switch {
			case r.agentID != agent: // the room has moved to another agent, whose list contains it
			case r.isDeleted && !r.isNew:
				remove.Ids = append(remove.Ids, r.storedID)
			case r.isDeleted:
			case r.isNew:
				addRoomToInsert(&insert, r)
			case r.hasChanged:
				addRoomToPut(&put, r)
			}
		}
	}
	if len(remove.Ids) > 0 {
		query.QueueExec(t.q.Deferred(), (*query.Queries).DeleteRooms, remove)
	}
	if len(put.Ids) > 0 {
		query.QueueExec(t.q.Deferred(), (*query.Queries).PutRooms, put)
	}
	if len(insert.Ids) > 0 {
		query.QueueExec(t.q.Deferred(), (*query.Queries).InsertRooms, insert)
	}
}

func addRoomToPut(p *query.PutRoomsParams, r *roomRow) {
	p.Was, p.Ids, p.Agents, p.Types = append(p.Was, r.storedID), append(p.Ids, r.id), append(p.Agents,
		r.agentID), append(p.Types, r.roomType)
	p.Connections, p.Locals, p.States = append(p.Connections, r.connectionCount), append(p.Locals,
		r.isLocal), append(p.States, r.state)
}

func addRoomToInsert(p *query.InsertRoomsParams, r *roomRow) {
	p.Ids, p.Agents, p.Bases, p.Types = append(p.Ids, r.id), append(p.Agents, r.agentID), append(p.Bases,
		r.baseID), append(p.Types, r.roomType)
	p.Connections, p.Locals = append(p.Connections, r.connectionCount), append(p.Locals, r.isLocal)
}

// writeCommands defers the ends of commands, and the drains that operators keep, which are commands as well.
func (t *agentTx) writeCommands() {
	if len(t.settledCommands) > 0 {
		p := query.SettleCommandsOfAgentsParams{Region: t.region}
		for _, c := range t.settledCommands {
			p.Ids, p.States, p.Agents = append(p.Ids, c.id), append(p.States, string(c.finalState)), append(p.Agents,
				c.agentID)
		}
		query.QueueExec(t.q.Deferred(), (*query.Queries).SettleCommandsOfAgents, p)
	}
	if len(t.keptDrains) > 0 {
		p := query.InsertDrainsParams{Region: t.region}
		for _, d := range t.keptDrains {
			p.Ids, p.Agents = append(p.Ids, uuid.New()), append(p.Agents, d.agent.ref.ID)
			p.Replicas, p.Actors = append(p.Replicas, d.agent.ref.ReplicaID), append(p.Actors, d.actor)
		}
		query.QueueExec(t.q.Deferred(), (*query.Queries).InsertDrains, p)
	}
}
