package db

import (
	"context"
	"slices"

	"github.com/lattice-director/director/db/query"
)

// nameRooms gives the new rooms of the transaction their public ids.
func (t *agentTx) nameRooms(ctx context.Context) error {
	if len(t.fresh) == 0 {
		return nil
	}
	byBase := map[string][]*roomRow{}
	var bases []string
	for _, r := range t.fresh {
		if len(byBase[r.base]) == 0 {
			bases = append(bases, r.base)
		}
		byBase[r.base] = append(byBase[r.base], r)
	}
	held, err := t.holders(ctx, bases)
	if err != nil {
		return err
	}
	if err := t.addOwnNames(ctx, byBase, held); err != nil {
		return err
	}
	var more lockMore
	for _, base := range bases {
		t.nameBase(base, held[base], byBase[base], &more)
	}
	// The rooms that have to give their ids up belong to agents that are not locked. Nothing was written yet.
	if len(more.agents) > 0 {
		return &more
	}
	return nil
}

// heldRoom is a room whose public id nameRooms could choose for another room.
type heldRoom struct {
	name namedRoom
	row  *roomRow
}

// holders returns the rooms that have the public ids, by base. It ignores rooms that the transaction deletes.
func (t *agentTx) holders(ctx context.Context, ids []string) (map[string][]heldRoom, error) {
	held := map[string][]heldRoom{}
	if len(ids) == 0 {
		return held, nil
	}
	rows, err := t.q.RoomHolders(ctx, query.RoomHoldersParams{Region: t.region, Ids: ids})
	if err != nil {
		return nil, err
	}
	known := t.roomsByStoredID()
	for _, h := range rows {
		n := namedRoom{agentID: h.AgentID, processUID: h.ProcessUid, joined: h.JoinedAt, local: h.Local, publicID: h.ID}
		r := known[h.ID]
		switch {
		// A room that the transaction has not read.
		case r == nil:
			r = &roomRow{id: h.ID, agent: h.AgentID, base: h.Base, kind: h.Type, connections: h.Connections,
				local: h.Local, state: h.State, command: h.Command,
				settledFor: -1, storedID: h.ID}
		// Its id is free.
		case r.deleted:
			continue
		// As the transaction has changed it, not as it is stored.
		default:
			n = t.namedRoomOf(r)
			n.publicID = r.id
		}
		held[r.base] = append(held[r.base], heldRoom{n, r})
	}
	return held, nil
}

func (t *agentTx) roomsByStoredID() map[string]*roomRow {
	known := make(map[string]*roomRow, len(t.rooms))
	for _, rooms := range t.ofID {
		for _, r := range rooms {
			if !r.isNew {
				known[r.storedID] = r
			}
		}
	}
	return known
}

// addOwnNames adds the rooms that have one of the other possible ids: of new rooms whose base is taken, or of rooms
// that lose their base.
func (t *agentTx) addOwnNames(ctx context.Context, byBase map[string][]*roomRow, held map[string][]heldRoom) error {
	var ids []string
	for base, fresh := range byBase {
		// One new room, and nobody has its base: it gets the base.
		if len(held[base]) == 0 && len(fresh) == 1 {
			continue
		}
		for _, r := range fresh {
			ids = append(ids, t.namedRoomOf(r).ownNames(base)...)
		}
		for _, h := range held[base] {
			ids = append(ids, h.name.ownNames(base)...)
		}
	}
	slices.Sort(ids)
	others, err := t.holders(ctx, slices.Compact(ids))
	for base, rooms := range others {
		held[base] = append(held[base], rooms...)
	}
	return err
}

// namedRoomOf holds the properties of a locked agent's room on which its public id depends.
func (t *agentTx) namedRoomOf(r *roomRow) namedRoom {
	a := t.agents[r.agent]
	return namedRoom{agentID: r.agent, processUID: a.content.ProcessUID, joined: a.joined, local: r.local,
		isNew: r.isNew}
}

// nameBase chooses the public ids of the new rooms of one base. If this renames a room of an unlocked agent, it adds
// the agent to more.
func (t *agentTx) nameBase(base string, held []heldRoom, fresh []*roomRow, more *lockMore) {
	var named []namedRoom
	for _, h := range held {
		named = append(named, h.name)
	}
	for _, r := range fresh {
		named = append(named, t.namedRoomOf(r))
	}
	ids := nameRooms(base, named)
	for i, h := range held {
		if ids[i] == h.name.publicID {
			continue
		}
		// Its rooms may be written under its lock only: the transaction begins again with it.
		a := t.agents[h.row.agent]
		if a == nil {
			more.agents = append(more.agents, h.row.agent)
			continue
		}
		t.renameRoom(a, h.row, ids[i])
	}
	for i, r := range fresh {
		r.id = ids[len(held)+i]
	}
}

func (t *agentTx) renameRoom(a *agentRow, r *roomRow, id string) {
	if t.rooms[roomKey{r.agent, r.base}] == nil {
		t.rooms[roomKey{r.agent, r.base}] = r
		t.ofID[r.agent] = append(t.ofID[r.agent], r)
	}
	if r.listed() && a.listed() {
		t.log.rename(a, r, id)
	}
	r.id, r.changed, a.changed = id, true, true
}
