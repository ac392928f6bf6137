package orchestrator

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/ws"
)

// Replicas is the part of db.Store that a replica needs for its lease and its agents.
type Replicas interface {
	BeginReplica(ctx context.Context, region string) (uuid.UUID, error)
	RenewReplica(ctx context.Context, region string, id uuid.UUID, silence time.Duration) error
	EndReplica(ctx context.Context, region string, id uuid.UUID, keep time.Duration) error
	OwnAgents(ctx context.Context, region string, replica uuid.UUID, since uint64) (db.OwnAgentChanges, error)
	PendingCommands(ctx context.Context, region string, replica, after uuid.UUID) ([]db.Command, error)
	Subscribe(topic, region string) (wake <-chan struct{}, stop func())
	Timing() db.Timing
}

const (
	lookEvery   = time.Second     // fallback for lost notifications
	callTimeout = 3 * time.Second // timeout of a call that is repeated each second
	// time over which a stopping replica closes its sockets, so that agents do not all reconnect at once
	closeSpread = 2 * time.Second
	// time for acks and snapshots that still wait for the database when the sockets are closed
	laneGrace = 5 * time.Second
	// heartbeats for which the agents of a stopping replica stay listed, so that they can reconnect elsewhere
	keptBeats = 3
)

// replica is one id of this replica, from BeginReplica until the server stops or others end the id, with the sockets
// that it owns.
type replica struct {
	server *Server

	id          uuid.UUID
	sockets     *ws.Set[string, *socket] // by the agent's id; closed when other replicas may take over the agents' rows
	laneContext context.Context          // ends when the lanes must stop writing
	stopLanes   context.CancelFunc
	lastMoment  atomic.Int64
	readFrom    uint64 // position from which agents are read next
}

func (s *Server) newReplica(id uuid.UUID) *replica {
	r := &replica{server: s, id: id, sockets: ws.NewSet[string, *socket]()}
	r.laneContext, r.stopLanes = context.WithCancel(context.Background())
	return r
}

// nextMoment returns a greater value with each call.
func (r *replica) nextMoment() moment { return moment(r.lastMoment.Add(1)) }
