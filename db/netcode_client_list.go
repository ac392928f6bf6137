package db

import "github.com/lattice-director/director/db/internal/batch"

// ClientList is the report of a netcode server about its connections: the client ids of all connected clients.
type ClientList struct {
	InstanceRef InstanceRef
	Seq         int64    // the number of the list, which grows with each list of a process
	ClientIDs   []uint64 // each once, 1 to 2^63 - 1
}

// RefusedClient is a connected client whom the server has to disconnect.
type RefusedClient struct {
	ClientID uint64
	// SeatResult is SeatUnknown if no token with this id was made for the server, SeatReplay if the client has left
	// before or a newer connection of its player replaced it, SeatGone if its seat was freed and the session is full or
	// over.
	SeatResult SeatResult
}

// ClientListResult is the answer to a list.
type ClientListResult struct {
	IsApplied      bool // false: a list with a higher number came first, so that this one says nothing
	RefusedClients []RefusedClient
}

type clientsCall = batch.Call[ClientList, ClientListResult]

func (l ClientList) weight() int { return 1 + len(l.ClientIDs) }

func (l ClientList) bytes() int { return textBytes(l.InstanceRef.InstanceID) + 8*len(l.ClientIDs) }
