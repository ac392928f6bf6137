package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/query"
)

// FindAgent reads an agent with its rooms from the database. The id is compared unchanged. Errors, with the code:
// NotFound, INSTANCE_NOT_FOUND; Unavailable.
func (s *Store) FindAgent(ctx context.Context, region, id string) (InstanceInfo, error) {
	return s.batchGroups.agentReads.Do(ctx, region, id)
}

// FindRoom reads a room from the database. A room that is only reserved is not found. The public id is compared
// unchanged. Errors, with the code: NotFound, ROOM_NOT_FOUND; Unavailable.
func (s *Store) FindRoom(ctx context.Context, region, publicID string) (RoomInfo, error) {
	return s.batchGroups.roomReads.Do(ctx, region, publicID)
}

// findRooms decides a batch of reads by public ids, in one statement.
func (s *Store) findRooms(ctx context.Context, region string, calls []*batch.Call[string, RoomInfo]) error {
	rows, err := s.q.FindRooms(ctx, query.FindRoomsParams{Region: region, Ids: storableIDs(calls)})
	if err != nil {
		return err
	}
	found := make(map[string]RoomInfo, len(rows))
	for _, r := range rows {
		found[r.ID] = RoomInfo{ID: r.ID, Type: r.Type, Connections: r.Connections, InstanceID: r.AgentID,
			EndpointURL: r.Endpoint, Local: r.Local}
	}
	for _, c := range calls {
		// Also of an id that was not asked for, since storableIDs left it out: the answer is the same.
		room, ok := found[c.Req]
		if !ok {
			c.Answer(RoomInfo{}, roomNotFound(c.Req))
			continue
		}
		c.Answer(room, nil)
	}
	return nil
}

// storableIDs drops ids that Postgres cannot store, which no row can have.
func storableIDs[Res any](calls []*batch.Call[string, Res]) (ids []string) {
	for _, c := range calls {
		if isStorable(c.Req) {
			ids = append(ids, c.Req)
		}
	}
	return ids
}

// maxRoomsRead limits the rooms that are read at a time. One agent may exceed it, with up to 50,000 rooms.
const maxRoomsRead = 50_000

// findAgents reads agents, and then the rooms of the first of them, up to maxRoomsRead rooms. The other agents stay for
// the next batch.
func (s *Store) findAgents(ctx context.Context, region string, calls []*batch.Call[string, InstanceInfo]) error {
	rows, err := s.q.FindAgents(ctx, query.FindAgentsParams{Region: region, Ids: storableIDs(calls)})
	if err != nil {
		return err
	}
	agents, ids, rooms := make(map[string]query.FindAgentsRow, len(rows)), []string{}, int32(0)
	known := make(map[string]bool, len(rows))
	for _, r := range rows {
		known[r.ID] = true
		rooms += r.Rooms
		// At least one agent, however many rooms it has.
		if len(ids) == 0 || rooms <= maxRoomsRead {
			agents[r.ID], ids = r, append(ids, r.ID)
		}
	}
	of, err := s.roomsOf(ctx, region, ids)
	if err != nil {
		return err
	}
	for _, c := range calls {
		r, ok := agents[c.Req]
		switch {
		case ok:
			c.Answer(instanceInfoOf(r, of[r.ID]), nil)
		// An agent that is known but exceeds maxRoomsRead gets no answer now, which leaves its call in the queue of the
		// group.
		case !known[c.Req]:
			c.Answer(InstanceInfo{}, agentNotFound(c.Req))
		}
	}
	return nil
}

func (s *Store) roomsOf(ctx context.Context, region string, agents []string) (map[string][]RoomInfo, error) {
	of := map[string][]RoomInfo{}
	if len(agents) == 0 {
		return of, nil
	}
	var rows []query.RoomsOfFoundAgentsRow
	err := s.read(ctx, func(ctx context.Context, q *query.Queries) (err error) {
		rows, err = q.RoomsOfFoundAgents(ctx, query.RoomsOfFoundAgentsParams{Region: region, Agents: agents})
		return err
	})
	for _, r := range rows {
		of[r.AgentID] = append(of[r.AgentID],
			RoomInfo{ID: r.ID, Type: r.Type, Connections: r.Connections, InstanceID: r.AgentID, Local: r.Local})
	}
	return of, err
}

// instanceInfoOf returns an agent with its rooms as the API shows it. The connections are those of the rooms.
func instanceInfoOf(r query.FindAgentsRow, rooms []RoomInfo) InstanceInfo {
	if rooms == nil {
		rooms = []RoomInfo{}
	}
	connections := int64(0)
	for i := range rooms {
		rooms[i].EndpointURL = r.Endpoint
		connections += int64(rooms[i].Connections)
	}
	return InstanceInfo{
		ID: r.ID, Name: r.Name, ProcessUID: r.ProcessUid, EndpointURL: r.Endpoint, Labels: r.Labels,
		RoomTypes: r.RoomTypes, Rooms: rooms,
		Connections: connections, Capacity: AgentCapacity{MaxConnections: r.MaxConnections, MaxRooms: r.MaxRooms},
		AutoCreate: r.AutoCreate,
		Status:     r.Status, LastSyncAt: r.LastSync.UnixMilli(), AgentVersion: r.AgentVersion,
		ProtocolVersion: r.ProtocolVersion,
	}
}
