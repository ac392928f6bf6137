package db

import (
	"context"
	"slices"

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

// findRooms answers a batch of FindRoom, with one statement.
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
		if room, ok := found[c.Req]; ok {
			c.Answer(room, nil)
		} else {
			c.Answer(RoomInfo{}, roomNotFound(c.Req))
		}
	}
	return nil
}

// storableIDs returns the ids that the calls ask for, without those that Postgres cannot store: no row has them.
func storableIDs[Res any](calls []*batch.Call[string, Res]) (ids []string) {
	for _, c := range calls {
		if isStorable(c.Req) {
			ids = append(ids, c.Req)
		}
	}
	return ids
}

// maxRoomsRead limits the rooms that a batch of FindAgent reads. It is the number that one agent may report.
const maxRoomsRead = 50_000

// findAgents answers a batch of FindAgent: it reads the agents, and then the rooms of the first of them, up to
// maxRoomsRead rooms. The calls for the other agents stay for the next batch.
func (s *Store) findAgents(ctx context.Context, region string, calls []*batch.Call[string, InstanceInfo]) error {
	rows, err := s.q.FindAgents(ctx, query.FindAgentsParams{Region: region, Ids: storableIDs(calls)})
	if err != nil {
		return err
	}
	agents := make(map[string]query.FindAgentsRow, len(rows))
	var idsToRead []string
	roomCount := int32(0)
	for _, r := range rows {
		agents[r.ID] = r
		roomCount += r.Rooms
		// At least one agent, however many rooms it has.
		if len(idsToRead) == 0 || roomCount <= maxRoomsRead {
			idsToRead = append(idsToRead, r.ID)
		}
	}
	rooms, err := s.roomsOfAgents(ctx, region, idsToRead)
	if err != nil {
		return err
	}
	for _, c := range calls {
		r, isKnown := agents[c.Req]
		if !isKnown {
			c.Answer(InstanceInfo{}, agentNotFound(c.Req))
			continue
		}
		if slices.Contains(idsToRead, c.Req) {
			c.Answer(instanceInfoOf(r, rooms[r.ID]), nil)
		}
	}
	return nil
}

// roomsOfAgents returns the listed rooms of agents, by agent, without the URL of the endpoint.
func (s *Store) roomsOfAgents(ctx context.Context, region string, agentIDs []string) (map[string][]RoomInfo, error) {
	if len(agentIDs) == 0 {
		return map[string][]RoomInfo{}, nil
	}
	var rows []query.RoomsOfFoundAgentsRow
	err := s.read(ctx, func(ctx context.Context, q *query.Queries) (err error) {
		rows, err = q.RoomsOfFoundAgents(ctx, query.RoomsOfFoundAgentsParams{Region: region, Agents: agentIDs})
		return err
	})
	if err != nil {
		return nil, err
	}
	rooms := map[string][]RoomInfo{}
	for _, r := range rows {
		rooms[r.AgentID] = append(rooms[r.AgentID],
			RoomInfo{ID: r.ID, Type: r.Type, Connections: r.Connections, InstanceID: r.AgentID, Local: r.Local})
	}
	return rooms, nil
}

// instanceInfoOf returns an agent with its rooms as the API shows it, and completes the rooms by the endpoint of the
// agent. The connections are those of the rooms.
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
		RoomTypes: r.RoomTypes, Rooms: rooms, Connections: connections,
		Capacity:   AgentCapacity{MaxConnections: r.MaxConnections, MaxRooms: r.MaxRooms},
		AutoCreate: r.AutoCreate, Status: r.Status, LastSyncAt: r.LastSync.UnixMilli(), AgentVersion: r.AgentVersion,
		ProtocolVersion: r.ProtocolVersion,
	}
}
