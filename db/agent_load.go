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
	if err := t.loadUnlocked(ctx, calls); err != nil {
		return err
	}
	reading := agentReading{lockedIDs: t.idsToLock(calls), wholeIDs: t.predecessorIDs()}
	for _, c := range calls {
		id := c.Req.ref().ID
		if c.Req.snapshot != nil {
			reading.judgedIDs = append(reading.judgedIDs, id)
			addRoomsToRead(&reading.snapshotRooms, id, *c.Req.snapshot)
			continue
		}
		// A first miss changes a counter only. A second one, and the first reply after it, write an event that shows
		// all rooms.
		if c.Req.miss == nil || c.Req.miss.MissedPolls != 1 {
			reading.wholeIDs = append(reading.wholeIDs, id)
		}
	}
	return t.read(ctx, reading)
}

// agentReading says which agents read locks, and which of their rows it reads.
type agentReading struct {
	lockedIDs []string // in lock order
	wholeIDs  []string // agents whose rooms and pending commands are read
	// judgedIDs are agents with a snapshot. A snapshot changes only the rooms that it names, which are snapshotRooms.
	// All rooms are read of an agent that is stale, since an event then shows them, or whose reply decides about
	// commanded rooms: see RoomsOfAgents.
	judgedIDs     []string
	snapshotRooms query.ReadRoomsParams
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

// loadUnlocked reads what must be known before agents are locked: the agents that the joining agents replace, which
// replicas have ended, and the kept drains.
func (t *agentTx) loadUnlocked(ctx context.Context, calls []*agentCall) error {
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
	// A shared lock, held until the commit. KeepDrain takes the same lock exclusively: either it sees the agents of
	// this transaction, or this transaction sees its row.
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

// read locks agents, and reads them with their rooms and commands.
func (t *agentTx) read(ctx context.Context, reading agentReading) error {
	ids, ofSnapshots := reading.lockedIDs, reading.snapshotRooms
	var p tx.Pipeline
	var states []query.LockAgentStatesRow
	var agents []query.ReadAgentsRow
	var allRooms []query.RoomsOfAgentsRow
	var snapshotRooms []query.ReadRoomsRow
	var pending []query.PendingOfAgentsRow
	// The lock is taken first, so that the statements after it see what its last holders wrote.
	query.Queue(&p, &states, (*query.Queries).LockAgentStates, query.LockAgentStatesParams{Region: t.region, Ids: ids})
	query.Queue(&p, &t.now, func(q *query.Queries, ctx context.Context, _ struct{}) (time.Time, error) {
		return q.ClockReading(ctx)
	}, struct{}{})
	query.Queue(&p, &agents, (*query.Queries).ReadAgents, query.ReadAgentsParams{Region: t.region, Ids: ids})
	if len(reading.wholeIDs)+len(reading.judgedIDs) > 0 {
		query.Queue(&p, &allRooms, (*query.Queries).RoomsOfAgents,
			query.RoomsOfAgentsParams{Region: t.region, Agents: reading.wholeIDs, Judged: reading.judgedIDs})
	}
	if len(ofSnapshots.Agents) > 0 {
		ofSnapshots.Region = t.region
		query.Queue(&p, &snapshotRooms, (*query.Queries).ReadRooms, ofSnapshots)
	}
	if len(reading.wholeIDs) > 0 {
		query.Queue(&p, &pending, (*query.Queries).PendingOfAgents,
			query.PendingOfAgentsParams{Region: t.region, Ids: reading.wholeIDs})
	}
	if err := t.q.Send(ctx, &p); err != nil {
		return err
	}
	t.addAgents(states, agents)
	for _, r := range allRooms {
		t.addRoom(roomRow{id: r.ID, agentID: r.AgentID, baseID: r.Base, roomType: r.Type,
			connectionCount: r.Connections, isLocal: r.Local, state: r.State, commandID: r.Command,
			settledFor: r.SettledFor})
	}
	// After allRooms, whose rows win in addRoom: ReadRooms does not return how long ago a command timed out.
	for _, r := range snapshotRooms {
		t.addRoom(roomRow{id: r.ID, agentID: r.AgentID, baseID: r.Base, roomType: r.Type,
			connectionCount: r.Connections, isLocal: r.Local, state: r.State, commandID: r.Command,
			settledFor: -1})
	}
	for _, c := range pending {
		t.pendingCommands[c.AgentID] = append(t.pendingCommands[c.AgentID], c)
	}
	return nil
}

// addAgents keeps the locked states with the content of their agents.
func (t *agentTx) addAgents(states []query.LockAgentStatesRow, agents []query.ReadAgentsRow) {
	for _, s := range states {
		a := &agentRow{
			ref: AgentRef{t.region, s.AgentID, s.Replica}, isKept: s.Kept, missedPolls: s.Misses,
			connectionCount: s.Connections, roomCount: s.Rooms, reservedCount: s.Reserved, inFlight: s.InFlight,
			owesSnapshot: s.OwesReply, stateHash: s.Hash, replySeq: s.Seq, isDoubted: s.Doubted, hasLeft: s.HasLeft,
			// Below 0 until recordReplyTime sets it: no reply is applied yet.
			silentSeconds: -1,
		}
		if s.Override != nil {
			a.statusOverride = *s.Override
		}
		a.content.Status = s.Status
		t.agentsByID[s.AgentID] = a
	}
	for _, r := range agents {
		// An agent that was inserted after the states were locked has no state here, and is left out.
		if a := t.agentsByID[r.ID]; a != nil {
			a.keyFingerprint, a.joinedAt, a.lastSync = r.Key, r.JoinedAt, r.LastSync
			a.content = AgentContent{
				Name: r.Name, ProcessUID: r.ProcessUid, AgentVersion: r.AgentVersion,
				ProtocolVersion: r.ProtocolVersion, EndpointURL: r.Endpoint, Labels: r.Labels, RoomTypes: r.RoomTypes,
				MaxConnections: r.MaxConnections, MaxRooms: r.MaxRooms, AutoCreate: r.AutoCreate,
				// A column of agent_states, which the loop above has read.
				Status: a.content.Status,
			}
		}
	}
}

// addRoom adds a row, unless the transaction has the room already.
func (t *agentTx) addRoom(r roomRow) {
	key := roomKey{r.agentID, r.baseID}
	// Rooms that a snapshot names are read by themselves, and perhaps with all others of their agent as well.
	if t.roomsByKey[key] != nil {
		return
	}
	r.storedID = r.id
	t.roomsByKey[key] = &r
	t.roomsByAgent[r.agentID] = append(t.roomsByAgent[r.agentID], &r)
}

// addNewAgent adds the row of an agent that joins for the first time.
func (t *agentTx) addNewAgent(j AgentJoin) *agentRow {
	// Each agent of the transaction joins later than the one before.
	t.now = t.now.Add(time.Microsecond)
	a := &agentRow{ref: j.Ref, keyFingerprint: j.KeyFingerprint, keyID: j.KeyID, content: j.Content, joinedAt: t.now,
		isNew: true, hasNewState: true, hasNewContent: true}
	t.agentsByID[j.Ref.ID] = a
	return a
}

// idsToLock returns the agents that the calls change, their predecessors and the further agents, in lock order.
func (t *agentTx) idsToLock(calls []*agentCall) []string {
	ids := slices.Concat(t.furtherAgents, t.predecessorIDs())
	for _, c := range calls {
		ids = append(ids, c.Req.ref().ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (t *agentTx) predecessorIDs() (ids []string) {
	for _, predecessors := range t.predecessorsOf {
		for _, p := range predecessors {
			ids = append(ids, p.agentID)
		}
	}
	return ids
}
