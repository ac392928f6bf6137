package db

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// namedRoom is one of the rooms of a fleet that have the same base. An agent has at most one of them, but each agent
// may have one: many games name a room "lobby".
type namedRoom struct {
	agentID    string    // the connection, 16 hex digits
	processUID string    // as the process reports it: any text, and two connections may report the same
	joinedAt   time.Time // when the agent joined
	isLocal    bool      // the game's own code made the room
	isNew      bool      // the room is seen for the first time, and has no publicID yet
	publicID   string    // empty if the raw id is empty
}

// choosePublicIDs returns the public ids of rooms of one base, in their order. Besides new rooms the caller passes
// those that have an id which could be chosen: the base, or one that begins with the process of a given room.
//
// A room keeps its id while it exists, even if the base becomes free. Of the new rooms one gets the base if no room has
// it: one that the fleet made before a local one, then that of the agent that joined first. A new room of the fleet
// also takes the base from a local room, because callers use the id that they gave it. All other rooms are named after
// their process. It is pure.
func choosePublicIDs(base string, rooms []namedRoom) []string {
	ids, taken := make([]string, len(rooms)), make(map[string]bool, len(rooms))
	for i, r := range rooms {
		if !r.isNew {
			ids[i], taken[r.publicID] = r.publicID, true
		}
	}
	unnamed := newRoomsByClaim(rooms)
	holder := slices.IndexFunc(rooms, func(r namedRoom) bool { return !r.isNew && r.publicID == base })
	if len(unnamed) > 0 && (holder < 0 || rooms[holder].isLocal && !rooms[unnamed[0]].isLocal) {
		ids[unnamed[0]] = base
		unnamed = unnamed[1:]
		if holder >= 0 {
			// A local room that has lost the base is the first to get a name of its own.
			unnamed = slices.Insert(unnamed, 0, holder)
		}
	}
	for _, i := range unnamed {
		ids[i] = rooms[i].ownName(base, taken)
		taken[ids[i]] = true
	}
	return ids
}

// newRoomsByClaim returns the indexes of the new rooms, the one with the best claim to the base first.
func newRoomsByClaim(rooms []namedRoom) []int {
	var unnamed []int
	for i, r := range rooms {
		if r.isNew {
			unnamed = append(unnamed, i)
		}
	}
	slices.SortFunc(unnamed, func(i, j int) int { return rooms[i].compareClaim(rooms[j]) })
	return unnamed
}

// compareClaim returns -1 if the room has a better claim to the base than another one, and 1 if a worse one.
func (r namedRoom) compareClaim(other namedRoom) int {
	if r.isLocal != other.isLocal {
		if r.isLocal {
			return 1
		}
		return -1
	}
	return cmp.Or(r.joinedAt.Compare(other.joinedAt), cmp.Compare(r.agentID, other.agentID))
}

// maxProcessInID bounds an id, which is part of an index. Agents of @rivalis/fleet make process ids of 26 characters.
const maxProcessInID = 64

// ownName returns the first of ownNames that is not taken, and the last one if all are.
func (r namedRoom) ownName(base string, taken map[string]bool) string {
	names := r.ownNames(base)
	for _, name := range names {
		if !taken[name] {
			return name
		}
	}
	return names[len(names)-1]
}

// moreOwnNames limits how often a connection may lose a room of one base to a newer connection of its process and
// report the room again.
const moreOwnNames = 4

// ownNames returns <process>~<base>; then <process>~<agent>~<base>, for the case that another connection of the process
// has the first form; then forms with a number, for the case that a room with the second form has moved to a newer
// connection of the process. No base equals such an id, because a base contains no ~ and process ids are encoded like
// bases.
func (r namedRoom) ownNames(base string) []string {
	process := roomBase(r.processUID)
	if len(process) > maxProcessInID {
		process = r.agentID
	}
	names := []string{process + "~" + base, process + "~" + r.agentID + "~" + base}
	// Numbered from 2, since the name without a number is the first of these.
	for n := range moreOwnNames {
		names = append(names, fmt.Sprintf("%s~%s~%d~%s", process, r.agentID, n+2, base))
	}
	return names
}
