package db

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// nameLateRooms chooses public ids for the late rooms, because other rooms may have got their ids in the meantime, and
// logs that the rooms were created. A late room takes its id from a local room, whose agent must be locked for that:
// see lockMore.
func (t *ackTx) nameLateRooms(ctx context.Context) error {
	if len(t.lateRooms) == 0 {
		return nil
	}
	holders, err := t.holders(ctx)
	if err != nil {
		return err
	}
	var more lockMore
	for i := range t.lateRooms {
		r := &t.lateRooms[i]
		t.nameLateRoom(r, holders, &more)
		// The next late room must not choose the same id.
		holders = append(holders, query.RoomHoldersRow{ID: r.publicID, AgentID: r.ackedCommand.AgentID,
			Base: r.ackedCommand.Base, ProcessUid: r.ackedCommand.ProcessUid, JoinedAt: r.ackedCommand.JoinedAt})
		info := roomInfoOfCommand(r.ackedCommand)
		info.ID, info.Type = r.publicID, r.ackedCommand.Type
		t.logEvent(EventRoomCreated, r.ackedCommand, info)
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
	for _, r := range t.lateRooms {
		ids = append(ids, r.toNamedRoom().possibleIDs(r.ackedCommand.Base)...)
	}
	holders, err := t.q.RoomHolders(ctx, query.RoomHoldersParams{Region: t.region, Ids: ids})
	if err != nil {
		return nil, err
	}
	// A room that loses its id takes one of its own names, which a third room may hold.
	ids = nil
	for _, h := range holders {
		ids = append(ids, namedRoomOf(h).possibleIDs(h.Base)...)
	}
	others, err := t.q.RoomHolders(ctx, query.RoomHoldersParams{Region: t.region, Ids: ids})
	if err != nil {
		return nil, err
	}
	for _, o := range others {
		if !slices.ContainsFunc(holders, func(h query.RoomHoldersRow) bool { return h.ID == o.ID }) {
			holders = append(holders, o)
		}
	}
	return holders, nil
}

func (r *lateRoom) toNamedRoom() namedRoom {
	return namedRoom{agentID: r.ackedCommand.AgentID, processUID: r.ackedCommand.ProcessUid,
		joinedAt: r.ackedCommand.JoinedAt, isNew: true}
}

func namedRoomOf(r query.RoomHoldersRow) namedRoom {
	return namedRoom{agentID: r.AgentID, processUID: r.ProcessUid, joinedAt: r.JoinedAt, isLocal: r.Local,
		publicID: r.ID}
}

// possibleIDs returns the public ids that choosePublicIDs may choose for the room.
func (r namedRoom) possibleIDs(base string) []string { return append(r.ownNames(base), base) }

// nameLateRoom chooses the public id of a late room, and renames the holder that loses that id. It adds the agents of
// renamed rooms that are not locked to more.
func (t *ackTx) nameLateRoom(late *lateRoom, holders []query.RoomHoldersRow, more *lockMore) {
	named := []namedRoom{late.toNamedRoom()}
	var rivals []*query.RoomHoldersRow
	for i, h := range holders {
		if h.Base == late.ackedCommand.Base {
			named = append(named, namedRoomOf(h))
			rivals = append(rivals, &holders[i])
		}
	}
	ids := choosePublicIDs(late.ackedCommand.Base, named)
	idsOfRivals := ids[1:]
	late.publicID = ids[0]
	for i, h := range rivals {
		if h.ID == idsOfRivals[i] {
			continue
		}
		// The rooms of an agent may be written under its lock only, and locks are taken in the order of the ids: begin
		// again with this agent locked.
		if _, locked := t.agentsByID[h.AgentID]; !locked {
			more.agentIDs = append(more.agentIDs, h.AgentID)
		}
		t.renameHolder(h, idsOfRivals[i])
	}
}

func (t *ackTx) renameHolder(h *query.RoomHoldersRow, id string) {
	room := RoomInfo{ID: h.ID, Type: h.Type, Connections: h.Connections, InstanceID: h.AgentID, EndpointURL: h.Endpoint,
		Local: h.Local}
	byDirector := query.AcknowledgedCommandsRow{AgentID: h.AgentID, Actor: actorDirector}
	t.logEvent(EventRoomDestroyed, byDirector, room)
	room.ID = id
	t.logEvent(EventRoomCreated, byDirector, room)
	p := &t.roomRenames
	p.Was = append(p.Was, h.ID)
	p.Ids = append(p.Ids, id)
	p.Agents = append(p.Agents, h.AgentID)
	h.ID = id
}

func (t *ackTx) lateRoomParams() (p query.InsertLateRoomsParams) {
	p.Region = t.region
	for _, r := range t.lateRooms {
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

// logEvent logs an event about the agent of a command.
func (t *ackTx) logEvent(kind string, cmd query.AcknowledgedCommandsRow, detail any) {
	text, _ := json.Marshal(detail) // cannot fail: every detail has a JSON form
	l := &t.agentEvents
	l.Ids = append(l.Ids, eventID(len(l.Ids)))
	l.Kinds = append(l.Kinds, kind)
	l.Actors = append(l.Actors, cmd.Actor)
	l.Agents = append(l.Agents, cmd.AgentID)
	l.Details = append(l.Details, string(text))
}
