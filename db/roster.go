package db

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// RosterAgent is an agent as it appears in lists. InstanceInfo.LastSyncAt is the time at which its last reply was
// recorded; see [RosterReplica] for later replies.
type RosterAgent struct {
	InstanceInfo InstanceInfo // Rooms are ordered by id, without reserved rooms
	ReplicaID    uuid.UUID    // the replica that holds its connection
	JoinedAt     time.Time
	ChangedTx    uint64 // the last transaction that changed the agent
	HasMissed    bool   // the agent has not answered since LastSyncAt
	IsDoubted    bool   // see [AgentState]: the agent is not listed until it answers
	HasLeft      bool   // the agent has left; InstanceInfo has only its ID
}

// RosterReplica is a replica that holds connections of agents, or held some recently.
type RosterReplica struct {
	ID     uuid.UUID
	IsLive bool // its agents are listed; false: its lease has expired
	// HeardSince is a time since which each of its agents without a miss has replied. It is recorded about every
	// second.
	HeardSince time.Time
}

// RosterPage is a part of a fleet, or of its changes.
type RosterPage struct {
	Agents        []RosterAgent
	Replicas      []RosterReplica // all, on each page
	NextPoint     FeedPoint       // where the next read of changes begins
	HasMore       bool            // there are more changes from before the start of this read
	ServerChanged bool            // Postgres was restarted or replaced: the whole fleet must be read again
}

// rosterPage is the number of agents after which a page ends. All agents of its last transaction are included.
const rosterPage = 500

// RosterAfter returns a page of the agents that have not left, ordered by id, behind the id after. A page that isFull,
// with 500 agents, may be followed by another one. Errors: TooMany, Unavailable.
func (s *Store) RosterAfter(ctx context.Context, region, after string) (page RosterPage, isFull bool, err error) {
	err = s.read(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.RosterAfter(ctx, query.RosterAfterParams{Region: region, After: after, Page: rosterPage})
		if err != nil {
			return err
		}
		isFull = len(rows) == rosterPage
		for i := range rows {
			page.Agents = append(page.Agents, rosterAgent((*query.RosterSinceRow)(&rows[i])))
		}
		replicas, err := q.RosterReplicas(ctx, region)
		page.Replicas = replicasOf(replicas)
		return err
	})
	return page, isFull, err
}

// RosterSince returns the agents that changed since a point, including agents that left. A caller that continues with
// the NextPoint of each page misses no change, in whatever order transactions commit; an agent may be returned twice.
// Errors: Unavailable.
func (s *Store) RosterSince(ctx context.Context, region string, since FeedPoint) (RosterPage, error) {
	var p tx.Pipeline
	var now query.CurrentSnapshotRow
	var changed []query.RosterSinceRow
	var replicas []query.RosterReplicasRow
	query.Queue(&p, &now, func(q *query.Queries, ctx context.Context, _ struct{}) (query.CurrentSnapshotRow, error) {
		return q.CurrentSnapshot(ctx)
	}, struct{}{})
	query.Queue(&p, &changed, (*query.Queries).RosterSince, query.RosterSinceParams{
		Region: region, Before: since.readSnapshot, After: since.afterTx,
		Since: max(snapshotEnd(since.readSnapshot), since.afterTx+1),
		Page:  rosterPage,
	})
	query.Queue(&p, &replicas, (*query.Queries).RosterReplicas, region)
	if err := s.q.Send(ctx, &p); err != nil {
		return RosterPage{NextPoint: since}, frame.Classify(err)
	}
	if !since.isOf(now) {
		return RosterPage{NextPoint: FeedPoint{serverStartedAt: now.Server, readSnapshot: now.Snapshot},
			ServerChanged: true}, nil
	}
	// The late rows come first: see the statement.
	lateCount := slices.IndexFunc(changed, func(r query.RosterSinceRow) bool { return !r.Late })
	if lateCount < 0 {
		lateCount = len(changed)
	}
	// A full slice expression, so that advanceFeed may append to the late rows.
	rows, next, more := advanceFeed(since, now, changed[:lateCount:lateCount], changed[lateCount:], rosterPage,
		func(r query.RosterSinceRow) uint64 { return r.Tx })
	page := RosterPage{Replicas: replicasOf(replicas), NextPoint: next, HasMore: more}
	for i := range rows {
		page.Agents = append(page.Agents, rosterAgent(&rows[i]))
	}
	return page, nil
}

func rosterAgent(r *query.RosterSinceRow) RosterAgent {
	a := RosterAgent{ReplicaID: r.Replica, JoinedAt: r.JoinedAt, ChangedTx: r.Tx, HasMissed: r.Misses > 0,
		IsDoubted: r.Doubted,
		HasLeft:   r.HasLeft}
	a.InstanceInfo.ID = r.AgentID
	if r.HasLeft {
		return a
	}
	a.InstanceInfo = InstanceInfo{
		ID: r.AgentID, Name: r.Name, ProcessUID: r.ProcessUid, EndpointURL: r.Endpoint, Labels: r.Labels,
		RoomTypes: r.RoomTypes,
		Rooms:     make([]RoomInfo, len(r.Ids)), Connections: r.Connections,
		Capacity:   AgentCapacity{r.MaxConnections, r.MaxRooms},
		AutoCreate: r.AutoCreate, Status: r.Status, LastSyncAt: r.SyncedAt.UnixMilli(), AgentVersion: r.AgentVersion,
		ProtocolVersion: r.ProtocolVersion,
	}
	for i, id := range r.Ids {
		a.InstanceInfo.Rooms[i] = RoomInfo{ID: id, Type: r.Types[i], Connections: r.Players[i], InstanceID: r.AgentID,
			EndpointURL: r.Endpoint, Local: r.Locals[i]}
	}
	slices.SortFunc(a.InstanceInfo.Rooms, func(x, y RoomInfo) int { return cmp.Compare(x.ID, y.ID) })
	return a
}

func replicasOf(rows []query.RosterReplicasRow) []RosterReplica {
	all := make([]RosterReplica, 0, len(rows))
	for _, r := range rows {
		all = append(all, RosterReplica{ID: r.ID, IsLive: r.Listed, HeardSince: r.HeardSince})
	}
	return all
}
