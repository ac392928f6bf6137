package db

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// nameLateRooms chooses public ids for the late rooms, because other rooms may have got their ids in the meantime. A
// late room takes its id from a local room, whose agent must be locked for that: see lockMore.
func (t *ackTx) nameLateRooms(ctx context.Context) error {
	if len(t.lateArrivals) == 0 {
		return nil
	}
	holders, err := t.holders(ctx)
	if err != nil {
		return err
	}
	var more lockMore
	for i := range t.lateArrivals {
		r := &t.lateArrivals[i]
		r.name(t, holders, &more)
		// The next late room must not choose the same id.
		holders = append(holders, query.RoomHoldersRow{ID: r.publicID, AgentID: r.ackedCommand.AgentID,
			Base:       r.ackedCommand.Base,
			ProcessUid: r.ackedCommand.ProcessUid, JoinedAt: r.ackedCommand.JoinedAt})
		info := roomInfoOfCommand(r.ackedCommand)
		info.ID, info.Type = r.publicID, r.ackedCommand.Type
		t.event(EventRoomCreated, r.ackedCommand, info)
	}
	// All of them at once: the transaction begins again only so many times.
	if len(more.agentIDs) > 0 {
		return &more
	}
	return nil
}

// holders returns the rooms whose public id could be chosen for a late room, or for the room that loses its id to a
// late room.
func (t *ackTx) holders(ctx context.Context) ([]query.RoomHoldersRow, error) {
	var ids []string
	for _, r := range t.lateArrivals {
		ids = append(ids, r.toNamedRoom().ids(r.ackedCommand.Base)...)
	}
	holders, err := t.q.RoomHolders(ctx, query.RoomHoldersParams{Region: t.region, Ids: ids})
	if err != nil {
		return nil, err
	}
	// A room that loses its id takes one of its own names, which a third room may hold.
	ids = nil
	for _, h := range holders {
		ids = append(ids, namedRoomOf(h).ids(h.Base)...)
	}
	others, err := t.q.RoomHolders(ctx, query.RoomHoldersParams{Region: t.region, Ids: ids})
	for _, o := range others {
		if !slices.ContainsFunc(holders, func(h query.RoomHoldersRow) bool { return h.ID == o.ID }) {
			holders = append(holders, o)
		}
	}
	return holders, err
}

func (r *lateRoom) toNamedRoom() namedRoom {
	return namedRoom{agentID: r.ackedCommand.AgentID, processUID: r.ackedCommand.ProcessUid,
		joinedAt: r.ackedCommand.JoinedAt,
		isNew:    true}
}

func namedRoomOf(r query.RoomHoldersRow) namedRoom {
	return namedRoom{agentID: r.AgentID, processUID: r.ProcessUid, joinedAt: r.JoinedAt, isLocal: r.Local,
		publicID: r.ID}
}

// ids returns the public ids that choosePublicIDs may choose for the room.
func (r namedRoom) ids(base string) []string { return append(r.ownNames(base), base) }

// name chooses the public id of a late room, and renames the room that loses that id. It adds the agents of renamed
// rooms that are not locked to more.
func (r *lateRoom) name(t *ackTx, holders []query.RoomHoldersRow, more *lockMore) {
	rooms, rows := []namedRoom{r.toNamedRoom()}, []*query.RoomHoldersRow{nil}
	for i, h := range holders {
		if h.Base == r.ackedCommand.Base {
			rooms = append(rooms, namedRoomOf(h))
			rows = append(rows, &holders[i])
		}
	}
	ids := choosePublicIDs(r.ackedCommand.Base, rooms)
	r.publicID = ids[0]
	for i, h := range rows {
		if h == nil || h.ID == ids[i] {
			continue
		}
		// The rooms of an agent may be written under its lock only, and locks are taken in the order of the ids: begin
		// again with this agent locked.
		if _, locked := t.agentsByID[h.AgentID]; !locked {
			more.agentIDs = append(more.agentIDs, h.AgentID)
		}
		t.rename(h, ids[i])
	}
}

func (t *ackTx) rename(h *query.RoomHoldersRow, id string) {
	room := RoomInfo{ID: h.ID, Type: h.Type, Connections: h.Connections, InstanceID: h.AgentID, EndpointURL: h.Endpoint,
		Local: h.Local}
	of := query.AcknowledgedCommandsRow{AgentID: h.AgentID, Actor: actorDirector}
	t.event(EventRoomDestroyed, of, room)
	room.ID = id
	t.event(EventRoomCreated, of, room)
	p := &t.roomRenames
	p.Was = append(p.Was, h.ID)
	p.Ids = append(p.Ids, id)
	p.Agents = append(p.Agents, h.AgentID)
	h.ID = id
}

func (t *ackTx) lateRooms() (p query.InsertLateRoomsParams) {
	p.Region = t.region
	for _, r := range t.lateArrivals {
		p.Ids = append(p.Ids, r.publicID)
		p.Agents = append(p.Agents, r.ackedCommand.AgentID)
		p.Bases = append(p.Bases, r.ackedCommand.Base)
		p.Types = append(p.Types, r.ackedCommand.Type)
		p.Commands = append(p.Commands, r.ackedCommand.ID)
	}
	return p
}

// commandDetail is the detail of events about commands.
type commandDetail struct {
	Command uuid.UUID `json:"command"`
	Op      string    `json:"op"`
	Room    string    `json:"room,omitempty"`
}

// event logs an event about the agent of a command.
func (t *ackTx) event(kind string, cmd query.AcknowledgedCommandsRow, detail any) {
	text, _ := json.Marshal(detail) // cannot fail: every detail has a JSON form
	l := &t.agentEvents
	l.Ids, l.Kinds, l.Actors = append(l.Ids, eventID(len(l.Ids))), append(l.Kinds, kind), append(l.Actors, cmd.Actor)
	l.Agents = append(l.Agents, cmd.AgentID)
	l.Details = append(l.Details, string(text))
}

// effectiveState returns the effective status; it must agree with agent_status in SQL.
func effectiveState(r query.LockAgentStatesRow) string {
	switch {
	case r.Kept:
		return AgentDraining
	case r.Override != nil:
		return *r.Override
	}
	return r.Status
}
