package db

import (
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/pack"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// roomTimeout is the time in which an agent must create the room of a session, as for the commands of callers:
// orchestrator.CommandTimeout.
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

func (o *opening) add(s pack.Session, host query.LockHostsRow, handle string, match uuid.UUID) {
	p := &o.newSessions
	p.Ids = append(p.Ids, s.ID)
	p.Handles = append(p.Handles, handle)
	p.Modes = append(p.Modes, s.Shape.Mode)
	p.Instances = append(p.Instances, host.ID)
	p.Incarnations = append(p.Incarnations, host.Incarnation)
	p.Players = append(p.Players, int32(s.PlayerCount))
	p.MaxPlayers = append(p.MaxPlayers, int32(s.Shape.MaxPlayers))
	p.Matches = append(p.Matches, match)
	if host.CreatesRooms {
		addRoomToRequest(&o.roomRequests, s.ID, host.ID, s.Shape.Mode)
	}
}

func addRoomToRequest(p *query.RequestRoomsParams, session uuid.UUID, process, mode string) {
	p.Sessions = append(p.Sessions, session)
	p.Instances = append(p.Instances, process)
	p.Modes = append(p.Modes, mode)
}

// queue adds the statements to a pipeline, in the lock order. Once they have run, senders has the replicas that have
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

// notifySenders wakes the replicas that have commands to send, and those that request missing rooms. senders is what
// opening.queue has read. Call it after the commit.
func (s *Store) notifySenders(region string, senders []uuid.UUID) {
	for _, id := range senders {
		if id != uuid.Nil {
			s.Notify(TopicReplica(id), region)
		}
	}
	if len(senders) > 0 {
		s.Notify(TopicFleet, region)
	}
}
