package realtimetest

import (
	"maps"
	"slices"
)

// Room is what a client knows of a room.
type Room struct {
	Seq     int64
	State   map[string]any // by the snapshots and patches
	Members []string       // by the last room.members
	Gap     bool           // a patch is missing, and no snapshot has come since

	Snapshots, Patches int
}

func (r *Room) clone() Room {
	copied := *r
	copied.State, copied.Members = maps.Clone(r.State), slices.Clone(r.Members)
	return copied
}
