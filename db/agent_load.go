package db

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// load locks the agents of the calls, and reads the rows on which the changes depend.
func (t *agentTx) load(ctx context.Context, calls []*agentCall) error {
	if err := t.loadJoins(ctx, calls); err != nil {
		return err
	}
	var whole, judged []string
	var rooms query.ReadRoomsParams
	for _, c := range calls {
		id := c.Req.ref().ID
		// A snapshot changes the rooms that it names. All rooms are read only of an agent that is stale, since an event
		// then shows them, or whose reply decides about commanded rooms: see RoomsOfAgents.
		if c.Req.snapshot != nil {
			judged = append(judged, id)
			addRoomsToRead(&rooms, id, *c.Req.snapshot)
			continue
		}
		// A first miss changes a counter only. A second one, and the first reply after it, write an event that shows
		// all rooms.
		if c.Req.miss == nil || c.Req.miss.MissedPolls != 1 {
			whole = append(whole, id)
		}
	}
	for _, all := range t.predecessorsOf {
		for _, p := range all {
			whole = append(whole, p.agentID)
		}
	}
	return t.read(ctx, t.lockedIDs(calls), whole, judged, rooms)
}

func addRoomsToRead(p *query.ReadRoomsParams, agent string, s AgentSnapshot) {
	for _, r := range s.ChangedRooms {
		p.Agents = append(p.Agents, agent)
		p.Bases = append(p.Bases, roomBase(r.RawID))
	}
	for _, raw := range s.RemovedRawIDs {
		p.Agents = append(p.Agents, agent)
		p.Bases = append(p.Bases, roomBase(raw))
	}
}

// loadJoins reads what must be known before the locks: the agents that the joining agents replace, and the kept drains.
func (t *agentTx) loadJoins(ctx context.Context, calls []*agentCall) error {
	var kept query.ReadKeptDrainsParams
	var find query.FindPredecessorsParams
	var replicas []uuid.UUID
	for _, c := range calls {
		if r := c.Req; r.join != nil {
			addPredecessorToFind(&find, *r.join)
			addDrainToRead(&kept, r.join.Content)
			replicas = append(replicas, r.join.Ref.ReplicaID)
		} else if r.snapshot != nil && r.snapshot.Content != nil {
			addDrainToRead(&kept, *r.snapshot.Content)
		}
	}
	// Neither a join nor new content: no call of the batch can meet a kept drain.
	if len(kept.Names) == 0 {
		return nil
	}
	var p tx.Pipeline
	var found []query.FindPredecessorsRow
	var drains []query.ReadKeptDrainsRow
	var ended []uuid.UUID
	find.Region, kept.Region = t.region, t.region
	// Held until the commit. KeepDrain takes this lock alone: either it sees the agents of this transaction, or they
	// see its row.
	query.QueueExec(&p, (*query.Queries).ShareKeptDrains, t.region)
	query.Queue(&p, &drains, (*query.Queries).ReadKeptDrains, kept)
	if len(replicas) > 0 {
		query.Queue(&p, &found, (*query.Queries).FindPredecessors, find)
		query.Queue(&p, &ended, (*query.Queries).EndedReplicas,
			query.EndedReplicasParams{Region: t.region, Ids: replicas})
	}
	if err := t.q.Send(ctx, &p); err != nil {
		return err
	}
	for _, k := range drains {
		t.keptActors[keptKey{k.Name, k.Endpoint}] = k.Actor
	}
	for _, f := range found {
		t.predecessorsOf[f.Joining] = append(t.predecessorsOf[f.Joining], predecessor{f.ID, f.Gone})
	}
	for _, id := range ended {
		t.endedReplicas[id] = true
	}
	return nil
}

func addPredecessorToFind(p *query.FindPredecessorsParams, j AgentJoin) {
	p.Joining = append(p.Joining, j.Ref.ID)
	p.Processes = append(p.Processes, j.Content.ProcessUID)
	p.Names = append(p.Names, j.Content.Name)
	p.Endpoints = append(p.Endpoints, j.Content.EndpointURL)
	p.Replicas = append(p.Replicas, j.Ref.ReplicaID)
}

func addDrainToRead(p *query.ReadKeptDrainsParams, c AgentContent) {
	p.Names = append(p.Names, c.Name)
	p.Endpoints = append(p.Endpoints, c.EndpointURL)
}

// read locks agents and reads them: with all rooms and commands for the agents in whole, with their rooms if needed for
// the agents in judged, and with single rooms.
func (t *agentTx) read(ctx context.Context, ids, whole, judged []string, some query.ReadRoomsParams) error {
	var p tx.Pipeline
	var states []query.LockAgentStatesRow
	var agents []query.ReadAgentsRow
	var rooms []query.RoomsOfAgentsRow
	var single []query.ReadRoomsRow
	var pending []query.PendingOfAgentsRow
	// first: later statements then see the last holders' writes
	query.Queue(&p, &states, (*query.Queries).LockAgentStates, query.LockAgentStatesParams{Region: t.region, Ids: ids})
	query.Queue(&p, &t.latestJoin, func(q *query.Queries, ctx context.Context,
		_ struct{}) (time.Time, error) {
		return q.ClockReading(ctx)
	}, struct{}{})
	query.Queue(&p, &agents, (*query.Queries).ReadAgents, query.ReadAgentsParams{Region: t.region, Ids: ids})
	if len(whole)+len(judged) > 0 {
		query.Queue(&p, &rooms, (*query.Queries).RoomsOfAgents,
			query.RoomsOfAgentsParams{Region: t.region, Agents: whole, Judged: judged})
	}
	if len(some.Agents) > 0 {
		some.Region = t.region
		query.Queue(&p, &single, (*query.Queries).ReadRooms, some)
	}
	if len(whole) > 0 {
		query.Queue(&p, &pending, (*query.Queries).PendingOfAgents,
			query.PendingOfAgentsParams{Region: t.region, Ids: whole})
	}
	if err := t.q.Send(ctx, &p); err != nil {
		return err
	}
	t.addAgents(states, agents)
	for _, r := range rooms {
		t.addRoom(roomRow{id: r.ID, agentID: r.AgentID, baseID: r.Base, roomType: r.Type,
			connectionCount: r.Connections,
			isLocal:         r.Local, state: r.State, commandID: r.Command,
			settledFor: r.SettledFor})
	}
	// Behind the whole lists, whose rows win in addRoom: ReadRooms does not return how long ago a command timed out.
	for _, r := range single {
		t.addRoom(roomRow{id: r.ID, agentID: r.AgentID, baseID: r.Base, roomType: r.Type,
			connectionCount: r.Connections,
			isLocal:         r.Local, state: r.State, commandID: r.Command,
			settledFor: -1})
	}
	for _, c := range pending {
		t.pendingCommands[c.AgentID] = append(t.pendingCommands[c.AgentID], c)
	}
	return nil
}

// addAgents keeps the locked states, with the content of those agents of which it was read. Of the others only the
// state may change.
func (t *agentTx) addAgents(states []query.LockAgentStatesRow, agents []query.ReadAgentsRow) {
	for _, s := range states {
		// The silence is below 0 until replied sets it: no reply is applied yet.
		a := &agentRow{
			ref: AgentRef{t.region, s.AgentID, s.Replica}, isKept: s.Kept, missedPolls: s.Misses,
			connectionCount: s.Connections,
			roomCount:       s.Rooms,
			reservedCount:   s.Reserved, inFlight: s.InFlight, owesSnapshot: s.OwesReply, stateHash: s.Hash,
			replySeq:        s.Seq,
			joinedElsewhere: s.Doubted, hasLeft: s.HasLeft, silentSeconds: -1,
		}
		// NULL in the table is the empty text here: no override.
		if s.Override != nil {
			a.statusOverride = *s.Override
		}
		a.content.Status = s.Status
		t.agentsByID[s.AgentID] = a
	}
	for _, r := range agents {
		if a := t.agentsByID[r.ID]; a != nil {
			a.keyFingerprint, a.joinedAt, a.lastSync = r.Key, r.JoinedAt, r.LastSync
			a.content = AgentContent{
				Name: r.Name, ProcessUID: r.ProcessUid, AgentVersion: r.AgentVersion,
				ProtocolVersion: r.ProtocolVersion, EndpointURL: r.Endpoint,
				Labels: r.Labels, RoomTypes: r.RoomTypes, MaxConnections: r.MaxConnections, MaxRooms: r.MaxRooms,
				AutoCreate: r.AutoCreate,
				// A part of the state, which comes from the other statement.
				Status: a.content.Status,
			}
		}
	}
}

// addRoom adds a row, unless the transaction has already read it.
func (t *agentTx) addRoom(r roomRow) {
	key := roomKey{r.agentID, r.baseID}
	// Rooms that a snapshot names are read one by one, and perhaps with all others of their agent, too. The first row
	// may be changed already.
	if t.roomsByKey[key] != nil {
		return
	}
	r.storedID = r.id
	t.roomsByKey[key] = &r
	t.ofID[r.agentID] = append(t.ofID[r.agentID], &r)
}

// newAgent returns the row of an agent that joins for the first time.
func (t *agentTx) newAgent(j AgentJoin) *agentRow {
	a := &agentRow{ref: j.Ref, keyFingerprint: j.KeyFingerprint, keyID: j.KeyID, content: j.Content,
		joinedAt: t.joinTime(), isNew: true,
		hasNewState: true, hasNewContent: true}
	t.agentsByID[j.Ref.ID] = a
	return a
}

// joinTime returns the database's time. It returns a later time for each agent of the transaction.
func (t *agentTx) joinTime() time.Time {
	t.latestJoin = t.latestJoin.Add(time.Microsecond)
	return t.latestJoin
}

// lockedIDs returns the agents that the calls change and the further agents, in lock order.
func (t *agentTx) lockedIDs(calls []*agentCall) []string {
	ids := slices.Clone(t.furtherAgents)
	for _, c := range calls {
		ids = append(ids, c.Req.ref().ID)
	}
	for _, all := range t.predecessorsOf {
		for _, p := range all {
			ids = append(ids, p.agentID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
