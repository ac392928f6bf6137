package db

import (
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/pack"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// roomTimeout is the time in which an agent must create the room of a session. It equals the default timeout of the
// orchestrator's commands.
const roomTimeout = 10 * time.Second

// opening holds the sessions that a transaction opens. On instances that are agents' processes, it also requests the
// sessions' rooms.
type opening struct {
	newSessions  query.OpenSessionsParams
	roomRequests query.RequestRoomsParams
}

func newOpening(region string) opening {
	return opening{query.OpenSessionsParams{Region: region},
		query.RequestRoomsParams{Region: region, Timeout: roomTimeout}}
}

func (o *opening) add(r pack.Session, on query.LockHostsRow, handle string, match uuid.UUID) {
	s := &o.newSessions
	s.Ids = append(s.Ids, r.ID)
	s.Handles = append(s.Handles, handle)
	s.Modes = append(s.Modes, r.Shape.Mode)
	s.Instances = append(s.Instances, on.ID)
	s.Incarnations = append(s.Incarnations, on.Incarnation)
	s.Players = append(s.Players, int32(r.PlayerCount))
	s.MaxPlayers = append(s.MaxPlayers, int32(r.Shape.MaxPlayers))
	s.Matches = append(s.Matches, match)
	if on.CreatesRooms {
		addRoomToRequest(&o.roomRequests, r.ID, on.ID, r.Shape.Mode)
	}
}

func addRoomToRequest(p *query.RequestRoomsParams, session uuid.UUID, process, mode string) {
	p.Sessions = append(p.Sessions, session)
	p.Instances = append(p.Instances, process)
	p.Modes = append(p.Modes, mode)
}

// queue adds the statements to a pipeline, in lock order. After they have run, senders are the replicas that have
// commands to send; the zero id among them stands for sessions that got no room yet.
func (o *opening) queue(out *tx.Pipeline, senders *[]uuid.UUID) {
	if len(o.newSessions.Ids) == 0 {
		return
	}
	query.QueueExec(out, (*query.Queries).OpenSessions, o.newSessions)
	if len(o.roomRequests.Sessions) > 0 {
		query.Queue(out, senders, (*query.Queries).RequestRooms, o.roomRequests)
	}
}

// notifySenders wakes the replicas that have commands to send, and those that request missing rooms. Call it after the
// commit.
func (s *Store) notifySenders(region string, replicas []uuid.UUID) {
	for _, id := range replicas {
		if id != uuid.Nil {
			s.Notify(TopicReplica(id), region)
		}
	}
	if len(replicas) > 0 {
		s.Notify(TopicFleet, region)
	}
}
