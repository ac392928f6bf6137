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
	ofID            map[string][]*roomRow // rooms by agent
	keptDrains      []keptDrain
	pendingCommands map[string][]query.PendingOfAgentsRow // by agent
	keptActors      map[keptKey]string                    // who began the kept drains
	endedReplicas   map[uuid.UUID]bool                    // they accept no agents any more
	predecessorsOf  map[string][]predecessor              // by joining agent

	latestJoin      time.Time // of the database; each joining agent gets a later time than the one before
	furtherAgents   []string  // to lock, besides those of the calls
	newRooms        []*roomRow
	agentEvents     eventLog
	settledCommands []settledCommand
	wokenReplicas   map[uuid.UUID]bool // after the commit
}

type roomKey struct{ agentID, baseID string }

type keptKey struct{ agentName, endpoint string }

type predecessor struct {
	agentID string
	isGone  bool
}

type settledCommand struct {
	id         uuid.UUID
	finalState CommandState
	agentID    string
}

type keptDrain struct {
	agent *agentRow
	actor string
}

func newAgentTx(s *Store, q *query.Queries, region string, further []string) *agentTx {
	return &agentTx{
		store: s, q: q, region: region, agentsByID: map[string]*agentRow{}, roomsByKey: map[roomKey]*roomRow{},
		ofID:            map[string][]*roomRow{},
		pendingCommands: map[string][]query.PendingOfAgentsRow{}, keptActors: map[keptKey]string{},
		endedReplicas: map[uuid.UUID]bool{}, predecessorsOf: map[string][]predecessor{},
		furtherAgents: further, wokenReplicas: map[uuid.UUID]bool{},
	}
}

// lockMore is the error of a transaction that must lock further agents.
type lockMore struct{ agentIDs []string }

func (t *agentTx) sortedRooms(agent string) []*roomRow {
	rooms := slices.Clone(t.ofID[agent])
	// A room that moved to another agent stays in the list of its former one: see moveRoom.
	rooms = slices.DeleteFunc(rooms, func(r *roomRow) bool { return r.agentID != agent })
	slices.SortFunc(rooms, func(a, b *roomRow) int { return cmp.Compare(a.id, b.id) })
	return rooms
}

func (t *agentTx) detail(e loggedEvent) any {
	switch {
	case e.detail != nil:
		return e.detail
	case e.roomRow != nil:
		return e.roomRow.info(t.agentsByID[e.agentID].content.EndpointURL)
	}
	return t.agentsByID[e.agentID].info(t.sortedRooms(e.agentID))
}

// eventLog collects the events of a transaction on agents. Events about deleted agents and rooms come first, so that an
// id that moves to another room is destroyed before it is created again.
type eventLog struct {
	goneAgents, renamedRooms, come []loggedEvent
}

// loggedEvent is an event. Its detail is computed when it is written, unless it is set before.
type loggedEvent struct {
	kind, actor, agentID string
	detail               any // InstanceInfo, RoomInfo, or nil
	roomRow              *roomRow
}
