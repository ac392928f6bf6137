package db

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// A session on the process of an agent is a room with the session's id. The transaction that opens such a session
// requests the room (placement_opening.go). This file has the later steps, which internal/rivalis/roomhost calls for
// the agents whose connections its replica holds. Until the room exists, room_wait.go holds the calls of players.

// HostProcess is the process of an agent with the label matchmaking=true, which therefore hosts sessions, and the
// instance as which it is registered.
type HostProcess struct {
	ProcessUID      string // process_uid of the agent, and id of the instance
	Endpoint        string
	RoomTypes       []string
	MaxConnections  *int32 // nil is unlimited
	MaxRooms        *int32 // nil is unlimited
	ConnectionCount int
	OtherRooms      int  // rooms that belong to no session, reserved ones included
	Draining        bool // the agent takes no rooms
	IsSilent        bool // the agent has not answered the last poll

	IsReplaced bool // another game server is registered under ProcessUID
	Instance   HostInstance
}

// HostInstance is the registration of a process.
type HostInstance struct {
	IsLive       bool // registered, with a running lease
	Incarnation  uuid.UUID
	DrainsItself bool // drained because its agent drained, and not only because an operator keeps it drained
	Endpoint     string
	Modes        []string
	Capacity     int
	MaxSessions  *int32 // nil is unlimited
}

// maxHosts limits the processes that one replica registers. It equals the default limit of its agents.
const maxHosts = 20_000

// HostProcesses returns the processes that host sessions and whose newest connection the replica holds, ordered by id,
// at most 20,000. Errors: Unavailable.
func (s *Store) HostProcesses(ctx context.Context, region string, replica uuid.UUID) ([]HostProcess, error) {
	rows, err := s.q.HostProcesses(ctx, query.HostProcessesParams{Region: region, Replica: replica, Most: maxHosts})
	hosts := make([]HostProcess, 0, len(rows))
	for _, r := range rows {
		hosts = append(hosts, hostProcessOf(r))
	}
	return hosts, frame.Classify(err)
}

func hostProcessOf(r query.HostProcessesRow) HostProcess {
	return HostProcess{
		ProcessUID: r.ProcessUid, Endpoint: r.Endpoint, RoomTypes: r.RoomTypes, MaxConnections: r.MaxConnections,
		MaxRooms:        r.MaxRooms,
		ConnectionCount: int(r.Connections), OtherRooms: int(r.Others),
		Draining: r.Status != AgentActive || !r.AutoCreate,
		IsSilent: r.Silent, IsReplaced: r.Taken,
		Instance: HostInstance{
			IsLive: r.Alive && r.InstanceStatus != "gone", Incarnation: r.Incarnation,
			DrainsItself: r.InstanceDrainsItself,
			Endpoint:     r.InstanceEndpoint, Modes: r.InstanceModes, Capacity: int(r.InstanceCapacity),
			MaxSessions: r.InstanceMaxSessions,
		},
	}
}

// LimitSessions sets the maximum number of sessions of instances, by instance id. Errors: Unavailable.
func (s *Store) LimitSessions(ctx context.Context, region string, maxSessions map[string]int) error {
	p := query.LimitSessionsParams{Region: region}
	for _, id := range slices.Sorted(maps.Keys(maxSessions)) {
		p.Ids = append(p.Ids, id)
		p.Most = append(p.Most, int32(maxSessions[id]))
	}
	return frame.Classify(s.frame.InTx(ctx, func(q *query.Queries) error {
		if err := q.LockInstances(ctx, query.LockInstancesParams{Region: region, Ids: p.Ids}); err != nil {
			return err
		}
		if err := q.LimitSessions(ctx, p); err != nil {
			return err
		}
		return q.RefreshShares(ctx, query.RefreshSharesParams{Region: region, InstanceIds: p.Ids})
	}))
}

const (
	// roomOverdueAfter is the time after its opening during which a session may be without a room: the timeout of the
	// command, and a second in which the command may be sent again.
	roomOverdueAfter = roomTimeout + time.Second
	// maxSettled limits the sessions of one call of SettleRooms, and the rooms of one call of OrphanedRooms.
	maxSettled = 1000
)

// SettledRooms counts the changes of [Store.SettleRooms].
type SettledRooms struct {
	SessionsWithRoom int  // sessions whose room exists now
	ClosedSessions   int  // sessions whose room is gone or could not be created
	HasMore          bool // the limit was reached: call again
}

// SettleRooms compares the sessions on processes with their rooms, for the processes of which the replica holds a
// connection. It requests missing rooms, closes sessions whose room the game has closed (reason room_gone), and closes
// sessions without a room after 11 seconds (reason room_failed). Errors: Unavailable.
func (s *Store) SettleRooms(ctx context.Context, region string, replica uuid.UUID,
	processes []string) (SettledRooms, error) {
	rows, err := s.q.UnsettledRooms(ctx,
		query.UnsettledRoomsParams{Region: region, Replica: replica, Processes: processes, Most: maxSettled})
	if err != nil || len(rows) == 0 {
		return SettledRooms{}, frame.Classify(err)
	}
	w := judgeRooms(rows)
	done := SettledRooms{SessionsWithRoom: len(w.withRoom), ClosedSessions: len(w.roomGone) + len(w.roomFailed),
		HasMore: len(rows) == maxSettled}
	if len(w.withRoom) > 0 {
		if err := s.q.MarkRooms(ctx, query.MarkRoomsParams{Region: region, Ids: w.withRoom}); err != nil {
			return SettledRooms{}, frame.Classify(err)
		}
	}
	if err := s.closeRoomless(ctx, region, "room_gone", w.roomGone); err != nil {
		return SettledRooms{}, frame.Classify(err)
	}
	if err := s.closeRoomless(ctx, region, "room_failed", w.roomFailed); err != nil {
		return SettledRooms{}, frame.Classify(err)
	}
	return done, s.requestRooms(ctx, region, w.roomRequests)
}

func (s *Store) closeRoomless(ctx context.Context, region, reason string, sessions []uuid.UUID) error {
	if len(sessions) == 0 {
		return nil
	}
	err := s.frame.InTx(ctx, func(q *query.Queries) error {
		_, err := q.CloseSessions(ctx, query.CloseSessionsParams{Region: region, Ids: sessions, Reason: reason})
		return err
	})
	if err != nil {
		return err
	}
	s.Notify(TopicCapacity, "")
	return nil
}

// requestRooms reserves rooms for sessions without a room, and inserts the commands.
func (s *Store) requestRooms(ctx context.Context, region string, p query.RequestRoomsParams) error {
	if len(p.Sessions) == 0 {
		return nil
	}
	p.Region, p.Timeout = region, roomTimeout
	var senders []uuid.UUID
	err := s.frame.InTx(ctx, func(q *query.Queries) (err error) {
		senders, err = q.RequestRooms(ctx, p)
		return err
	})
	if err != nil {
		return frame.Classify(err)
	}
	// The zero id is of a session that got no room: the next call of SettleRooms requests that room again.
	s.notifySenders(region, slices.DeleteFunc(senders, func(id uuid.UUID) bool { return id == uuid.Nil }))
	return nil
}

// roomWork is what SettleRooms has to change.
type roomWork struct {
	withRoom, roomGone, roomFailed []uuid.UUID // sessions: whose room exists now, is gone, or could not be created
	roomRequests                   query.RequestRoomsParams
}

// judgeRooms judges sessions without a known room. It is pure.
func judgeRooms(rows []query.UnsettledRoomsRow) (w roomWork) {
	for _, r := range rows {
		// The command decides, which the agent has not answered yet, or which is about to time out.
		if r.Room == "reserved" {
			continue
		}
		switch {
		case r.Room != "":
			w.withRoom = append(w.withRoom, r.ID)
		case r.HadRoom:
			w.roomGone = append(w.roomGone, r.ID)
		case r.Age > roomOverdueAfter:
			w.roomFailed = append(w.roomFailed, r.ID)
		default:
			addRoomToRequest(&w.roomRequests, r.ID, r.InstanceID, r.Mode)
		}
	}
	return w
}

// OrphanedRooms returns the public ids of rooms whose session has ended, at most 1,000, on those of the processes of
// which the replica holds a connection. Errors: Unavailable.
func (s *Store) OrphanedRooms(ctx context.Context, region string, replica uuid.UUID,
	processes []string) ([]string, error) {
	ids, err := s.q.OrphanedRooms(ctx, query.OrphanedRoomsParams{
		Region: region, Replica: replica, Processes: processes, Memory: s.cfg.Timing.ClosedMemory, Most: maxSettled,
	})
	return slices.Clip(ids), frame.Classify(err)
}
