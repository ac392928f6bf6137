package db

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// actorDirector is the actor of events that the director causes by itself.
const actorDirector = "director"

// eventLog collects the events of a transaction on agents, in the order in which a reader of the log must see them: an
// id becomes free before another room gets it.
type eventLog struct {
	removals  []loggedEvent // agents that left, and destroyed rooms
	renames   []loggedEvent // of rooms: destroyed and created
	additions []loggedEvent // the others
}

// loggedEvent is an event about an agent, or about a room of it.
type loggedEvent struct {
	kind    string
	actor   string // "": the agent itself, by the fingerprint of its key
	agentID string
	detail  any      // an InstanceInfo or RoomInfo; nil: made of the rows when the event is written
	roomRow *roomRow // of an event about a room without detail
}

// noteLeft logs that an agent has left, with the rooms that it has before the caller deletes them.
func (l *eventLog) noteLeft(a *agentRow, rooms []*roomRow) {
	l.removals = append(l.removals, loggedEvent{kind: EventAgentLeft, actor: actorDirector, agentID: a.ref.ID,
		detail: a.info(rooms)})
}

// noteAgent logs an event about an agent, with the agent's state after the transaction.
func (l *eventLog) noteAgent(kind string, a *agentRow) {
	actor := a.keyFingerprint
	// The agent did nothing: the director noticed its silence.
	if kind == EventAgentStale {
		actor = actorDirector
	}
	l.additions = append(l.additions, loggedEvent{kind: kind, actor: actor, agentID: a.ref.ID})
}

func (l *eventLog) noteCreated(r *roomRow) {
	l.additions = append(l.additions, loggedEvent{kind: EventRoomCreated, agentID: r.agentID, roomRow: r})
}

func (l *eventLog) noteDestroyed(a *agentRow, r *roomRow) {
	l.removals = append(l.removals, loggedEvent{kind: EventRoomDestroyed, actor: a.keyFingerprint, agentID: a.ref.ID,
		detail: r.info(a.content.EndpointURL)})
}

// noteRenamed logs that a room gets another public id. It must be called while the room still has its former id.
func (l *eventLog) noteRenamed(a *agentRow, r *roomRow, id string) {
	before, after := r.info(a.content.EndpointURL), r.info(a.content.EndpointURL)
	after.ID = id
	l.renames = append(l.renames,
		loggedEvent{kind: EventRoomDestroyed, actor: actorDirector, agentID: a.ref.ID, detail: before},
		loggedEvent{kind: EventRoomCreated, actor: actorDirector, agentID: a.ref.ID, detail: after})
}

func (t *agentTx) writeEvents() error {
	p := query.LogAgentEventsParams{Region: t.region}
	for i, e := range slices.Concat(t.agentEvents.removals, t.agentEvents.renames, t.agentEvents.additions) {
		detail, err := json.Marshal(t.detailOf(e))
		if err != nil {
			return err
		}
		p.Ids = append(p.Ids, eventID(i))
		p.Kinds = append(p.Kinds, e.kind)
		p.Actors = append(p.Actors, cmp.Or(e.actor, t.agentsByID[e.agentID].keyFingerprint))
		p.Agents = append(p.Agents, e.agentID)
		p.Details = append(p.Details, string(detail))
	}
	if len(p.Ids) > 0 {
		query.QueueExec(t.q.Deferred(), (*query.Queries).LogAgentEvents, p)
	}
	return nil
}

func (t *agentTx) detailOf(e loggedEvent) any {
	switch {
	case e.detail != nil:
		return e.detail
	case e.roomRow != nil:
		return e.roomRow.info(t.agentsByID[e.agentID].content.EndpointURL)
	}
	return t.agentsByID[e.agentID].info(t.sortedRooms(e.agentID))
}

// eventID returns the id of the nth event of a transaction, counted from 0. The ids order the events of one
// transaction.
func eventID(n int) (id uuid.UUID) {
	_, _ = rand.Read(id[4:]) // never fails, by its contract
	binary.BigEndian.PutUint32(id[:4], uint32(n))
	return id
}
