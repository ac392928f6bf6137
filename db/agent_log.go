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

const actorDirector = "director"

// noteLeaving logs that an agent has left, with its current rooms.
func (l *eventLog) noteLeaving(a *agentRow, t *agentTx) {
	// The detail is made now, before the caller deletes the rooms.
	l.goneAgents = append(l.goneAgents, loggedEvent{kind: EventAgentLeft, actor: actorDirector, agentID: a.ref.ID,
		detail: a.info(t.sortedRooms(a.ref.ID))})
}

// noteAgent logs an event about an agent, with the agent's state after the transaction.
func (l *eventLog) noteAgent(kind string, a *agentRow) {
	actor := a.keyFingerprint
	// The agent did nothing: the director noticed its silence.
	if kind == EventAgentStale {
		actor = actorDirector
	}
	l.come = append(l.come, loggedEvent{kind: kind, actor: actor, agentID: a.ref.ID})
}

func (l *eventLog) noteCreated(r *roomRow) {
	l.come = append(l.come, loggedEvent{kind: EventRoomCreated, agentID: r.agentID, roomRow: r})
}

func (l *eventLog) noteDestroyed(a *agentRow, r *roomRow) {
	l.goneAgents = append(l.goneAgents, loggedEvent{kind: EventRoomDestroyed, actor: a.keyFingerprint,
		agentID: a.ref.ID,
		detail:  r.info(a.content.EndpointURL)})
}

// rename logs that a room gets another public id. It must be called while the room still has its former id.
func (l *eventLog) rename(a *agentRow, r *roomRow, id string) {
	before, after := r.info(a.content.EndpointURL), r.info(a.content.EndpointURL)
	after.ID = id
	l.renamedRooms = append(l.renamedRooms,
		loggedEvent{kind: EventRoomDestroyed, actor: actorDirector, agentID: a.ref.ID,
			detail: before},
		loggedEvent{kind: EventRoomCreated, actor: actorDirector, agentID: a.ref.ID, detail: after})
}

func (t *agentTx) writeEvents() error {
	p := query.LogAgentEventsParams{Region: t.region}
	// In this order a reader of the log sees an id become free before another room gets it.
	for i, e := range slices.Concat(t.agentEvents.goneAgents, t.agentEvents.renamedRooms, t.agentEvents.come) {
		detail, err := json.Marshal(t.detail(e))
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

// eventID returns the id of the nth event of a transaction, counted from 0. The ids order the events of one
// transaction.
func eventID(n int) (id uuid.UUID) {
	_, _ = rand.Read(id[4:]) // never fails, by its contract
	binary.BigEndian.PutUint32(id[:4], uint32(n))
	return id
}
