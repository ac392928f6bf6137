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
	contents := query.PutAgentsParams{Region: t.region, Unlimited: unlimited}
	states := query.PutAgentStatesParams{Region: t.region}
	// New agents have no row to lock: inserting them in the order of their ids keeps two transactions from a deadlock.
	for _, id := range slices.Sorted(maps.Keys(t.agentsByID)) {
		a := t.agentsByID[id]
		if a.hasNewContent {
			if err := addAgentToPut(&contents, a); err != nil {
				return err
			}
		}
		// PutAgents inserts the row of a new agent, which needs a state as well.
		if a.hasNewContent || a.hasNewState {
			addAgentStateToPut(&states, a)
		}
	}
	if len(contents.Ids) > 0 {
		query.QueueExec(t.q.Deferred(), (*query.Queries).PutAgents, contents)
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
	// JSON's null is no object of labels.
	if c.Labels == nil {
		c.Labels = map[string]string{}
	}
	labels, err := json.Marshal(c.Labels)
	if err != nil {
		return err
	}
	p.Ids = append(p.Ids, a.ref.ID)
	p.Replicas = append(p.Replicas, a.ref.ReplicaID)
	p.ProcessUids = append(p.ProcessUids, c.ProcessUID)
	p.Names = append(p.Names, c.Name)
	p.Endpoints = append(p.Endpoints, c.EndpointURL)
	p.Labels = append(p.Labels, string(labels))
	p.RoomTypes = append(p.RoomTypes, textArray(c.RoomTypes))
	p.MaxConnections = append(p.MaxConnections, limitOf(c.MaxConnections))
	p.MaxRooms = append(p.MaxRooms, limitOf(c.MaxRooms))
	p.AutoCreates = append(p.AutoCreates, c.AutoCreate)
	p.AgentVersions = append(p.AgentVersions, c.AgentVersion)
	p.ProtocolVersions = append(p.ProtocolVersions, c.ProtocolVersion)
	p.Keys = append(p.Keys, a.keyFingerprint)
	// PutAgents turns the zero id into NULL: the key comes from the configuration.
	p.KeyIds = append(p.KeyIds, *cmp.Or(a.keyID, &uuid.Nil))
	p.Joined = append(p.Joined, a.joinedAt)
	return nil
}

// addAgentStateToPut adds the row of the state, which changes with most replies and is narrow.
func addAgentStateToPut(p *query.PutAgentStatesParams, a *agentRow) {
	p.Ids = append(p.Ids, a.ref.ID)
	p.Replicas = append(p.Replicas, a.ref.ReplicaID)
	p.Statuses = append(p.Statuses, a.content.Status)
	p.Overrides = append(p.Overrides, a.statusOverride)
	p.Kept = append(p.Kept, a.isKept)
	p.Misses = append(p.Misses, a.missedPolls)
	p.Connections = append(p.Connections, a.connectionCount)
	p.Rooms = append(p.Rooms, a.roomCount)
	p.Reserved = append(p.Reserved, a.reservedCount)
	p.InFlight = append(p.InFlight, a.inFlight)
	p.OwesReply = append(p.OwesReply, a.owesSnapshot)
	p.Hashes = append(p.Hashes, a.stateHash)
	p.Seqs = append(p.Seqs, a.replySeq)
	p.Silences = append(p.Silences, a.silentSeconds)
	p.Doubted = append(p.Doubted, a.isDoubted)
	p.HasLeft = append(p.HasLeft, a.hasLeft)
}

// writeRooms frees public ids before it gives them to other rooms.
func (t *agentTx) writeRooms() {
	remove := query.DeleteRoomsParams{Region: t.region}
	put := query.PutRoomsParams{Region: t.region}
	insert := query.InsertRoomsParams{Region: t.region}
	for agent, rooms := range t.roomsByAgent {
		for _, r := range rooms {
			hasMoved := r.agentID != agent // to an agent whose list contains it as well
			needsNoRow := r.isNew && r.isDeleted
			if hasMoved || needsNoRow {
				continue
			}
			switch {
			case r.isDeleted:
				remove.Ids = append(remove.Ids, r.storedID)
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
	// The id is a part of the row's key: a room that is renamed is found by the id that it had.
	p.Was = append(p.Was, r.storedID)
	p.Ids = append(p.Ids, r.id)
	p.Agents = append(p.Agents, r.agentID)
	p.Types = append(p.Types, r.roomType)
	p.Connections = append(p.Connections, r.connectionCount)
	p.Locals = append(p.Locals, r.isLocal)
	p.States = append(p.States, r.state)
}

func addRoomToInsert(p *query.InsertRoomsParams, r *roomRow) {
	p.Ids = append(p.Ids, r.id)
	p.Agents = append(p.Agents, r.agentID)
	p.Bases = append(p.Bases, r.baseID)
	p.Types = append(p.Types, r.roomType)
	p.Connections = append(p.Connections, r.connectionCount)
	p.Locals = append(p.Locals, r.isLocal)
}

// writeCommands defers the statements that end commands, and those that send drain commands.
func (t *agentTx) writeCommands() {
	if len(t.settledCommands) > 0 {
		p := query.SettleCommandsOfAgentsParams{Region: t.region}
		for _, c := range t.settledCommands {
			p.Ids = append(p.Ids, c.id)
			p.States = append(p.States, string(c.finalState))
			p.Agents = append(p.Agents, c.agentID)
		}
		query.QueueExec(t.q.Deferred(), (*query.Queries).SettleCommandsOfAgents, p)
	}
	if len(t.drainsToSend) > 0 {
		p := query.InsertDrainsParams{Region: t.region}
		for _, d := range t.drainsToSend {
			p.Ids = append(p.Ids, uuid.New())
			p.Agents = append(p.Agents, d.agent.ref.ID)
			p.Replicas = append(p.Replicas, d.agent.ref.ReplicaID)
			p.Actors = append(p.Actors, d.actor)
		}
		query.QueueExec(t.q.Deferred(), (*query.Queries).InsertDrains, p)
	}
}
