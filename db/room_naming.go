package db

import (
	"context"
	"slices"

	"github.com/lattice-director/director/db/query"
)

// nameRooms gives the new rooms of the transaction their public ids. Errors: lockMore, before anything is written, if
// rooms of agents that are not locked must give up their id.
func (t *agentTx) nameRooms(ctx context.Context) error {
	if len(t.newRooms) == 0 {
		return nil
	}
	byBase := map[string][]*roomRow{}
	var bases []string
	for _, r := range t.newRooms {
		if len(byBase[r.baseID]) == 0 {
			bases = append(bases, r.baseID)
		}
		byBase[r.baseID] = append(byBase[r.baseID], r)
	}
	held, err := t.holders(ctx, bases)
	if err != nil {
		return err
	}
	if err := t.addOwnNameHolders(ctx, byBase, held); err != nil {
		return err
	}
	var more lockMore
	for _, base := range bases {
		t.nameBase(base, held[base], byBase[base], &more)
	}
	if len(more.agentIDs) > 0 {
		return &more
	}
	return nil
}

// heldRoom is a room whose public id choosePublicIDs could choose for another room.
type heldRoom struct {
	name namedRoom
	row  *roomRow
}

// holders returns the rooms that have the public ids, by base, as the transaction has changed them. It leaves out rooms
// that the transaction deletes.
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
		r, isKnown := known[h.ID]
		switch {
		case !isKnown:
			held[h.Base] = append(held[h.Base], newHeldRoom(h))
		case !r.isDeleted:
			n := t.namedRoomOf(r)
			n.publicID = r.id
			held[r.baseID] = append(held[r.baseID], heldRoom{n, r})
		}
	}
	return held, nil
}

// newHeldRoom returns a room that the transaction has not read otherwise.
func newHeldRoom(h query.RoomHoldersRow) heldRoom {
	return heldRoom{
		name: namedRoom{agentID: h.AgentID, processUID: h.ProcessUid, joinedAt: h.JoinedAt, isLocal: h.Local,
			publicID: h.ID},
		row: &roomRow{id: h.ID, agentID: h.AgentID, baseID: h.Base, roomType: h.Type, connectionCount: h.Connections,
			isLocal: h.Local, state: h.State, commandID: h.Command, settledFor: -1, storedID: h.ID},
	}
}

func (t *agentTx) roomsByStoredID() map[string]*roomRow {
	known := make(map[string]*roomRow, len(t.roomsByKey))
	for _, rooms := range t.roomsByAgent {
		for _, r := range rooms {
			if !r.isNew {
				known[r.storedID] = r
			}
		}
	}
	return known
}

// addOwnNameHolders adds to held the rooms that have one of the own names of new rooms whose base is taken, or of rooms
// that lose their base.
func (t *agentTx) addOwnNameHolders(ctx context.Context, byBase map[string][]*roomRow,
	held map[string][]heldRoom) error {
	var ids []string
	for base, fresh := range byBase {
		// A single new room whose base no other room has gets the base.
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

// namedRoomOf returns the properties of a locked agent's room on which its public id depends, without the id.
func (t *agentTx) namedRoomOf(r *roomRow) namedRoom {
	a := t.agentsByID[r.agentID]
	return namedRoom{agentID: r.agentID, processUID: a.content.ProcessUID, joinedAt: a.joinedAt, isLocal: r.isLocal,
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
	ids := choosePublicIDs(base, named)
	for i, h := range held {
		if ids[i] == h.name.publicID {
			continue
		}
		a := t.agentsByID[h.row.agentID]
		// The rooms of an agent may be written under its lock only: the transaction begins again with this agent.
		if a == nil {
			more.agentIDs = append(more.agentIDs, h.row.agentID)
			continue
		}
		t.renameRoom(a, h.row, ids[i])
	}
	for i, r := range fresh {
		r.id = ids[len(held)+i]
	}
}

func (t *agentTx) renameRoom(a *agentRow, r *roomRow, id string) {
	// writeRooms writes the rooms in these two maps. One that newHeldRoom has made is in neither.
	if t.roomsByKey[roomKey{r.agentID, r.baseID}] == nil {
		t.roomsByKey[roomKey{r.agentID, r.baseID}] = r
		t.roomsByAgent[r.agentID] = append(t.roomsByAgent[r.agentID], r)
	}
	// Events are logged of listed rooms only.
	if r.isListed() && a.isListed() {
		t.agentEvents.noteRenamed(a, r, id)
	}
	r.id, r.hasChanged, a.hasNewState = id, true, true
}
