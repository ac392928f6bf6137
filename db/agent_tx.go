package db

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// agentTx is one transaction on agents of a region: the rows that it has locked and read, and the changes to write.
type agentTx struct {
	store  *Store
	q      *query.Queries
	region string

	agentsByID      map[string]*agentRow
	roomsByKey      map[roomKey]*roomRow
	roomsByAgent    map[string][]*roomRow                 // also lists rooms that moved away: see moveRoom
	pendingCommands map[string][]query.PendingOfAgentsRow // by agent
	keptActors      map[keptKey]string                    // who began the kept drains
	endedReplicas   map[uuid.UUID]bool                    // they accept no agents any more
	predecessorsOf  map[string][]predecessor              // by joining agent

	now             time.Time // by the database's clock; each new agent advances it
	furtherAgents   []string  // to lock, besides those of the calls
	newRooms        []*roomRow
	drainsToSend    []drainToSend
	agentEvents     eventLog
	settledCommands []settledCommand
	wokenReplicas   map[uuid.UUID]bool // to notify after the commit
}

type roomKey struct{ agentID, baseID string }

// keptKey names the agents for which a drain is kept.
type keptKey struct{ agentName, endpoint string }

// predecessor is an agent on another replica that a joining agent may replace.
type predecessor struct {
	agentID string
	isGone  bool // its replica has ended
}

type settledCommand struct {
	id         uuid.UUID
	finalState CommandState
	agentID    string
}

// drainToSend is a drain command for an agent whose drain is kept.
type drainToSend struct {
	agent *agentRow
	actor string // who began the kept drain
}

func newAgentTx(s *Store, q *query.Queries, region string, further []string) *agentTx {
	return &agentTx{
		store: s, q: q, region: region, agentsByID: map[string]*agentRow{}, roomsByKey: map[roomKey]*roomRow{},
		roomsByAgent:    map[string][]*roomRow{},
		pendingCommands: map[string][]query.PendingOfAgentsRow{}, keptActors: map[keptKey]string{},
		endedReplicas: map[uuid.UUID]bool{}, predecessorsOf: map[string][]predecessor{},
		furtherAgents: further, wokenReplicas: map[uuid.UUID]bool{},
	}
}

// sortedRooms returns the rooms of an agent, by public id.
func (t *agentTx) sortedRooms(agentID string) []*roomRow {
	rooms := slices.Clone(t.roomsByAgent[agentID])
	rooms = slices.DeleteFunc(rooms, func(r *roomRow) bool { return r.agentID != agentID })
	slices.SortFunc(rooms, func(a, b *roomRow) int { return cmp.Compare(a.id, b.id) })
	return rooms
}
