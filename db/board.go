package db

import (
	"slices"

	"github.com/google/uuid"
)

// board is what one placement transaction has locked, and what it decided about it: the bridge between the rows and
// the pure packing.
type board struct {
	region string
	rooms  []room
	hosts  []host
	rows   []LockHostsRow       // of hosts, index by index
	ways   map[uuid.UUID]access // how players reach a room

	packed []room // rooms after pack, the new ones behind the others
}

type access struct{ handle, endpoint string }

func newBoard(region string) *board {
	return &board{region: region, ways: map[uuid.UUID]access{}}
}

func (b *board) addRoom(r room, handle, endpoint string) {
	b.rooms = append(b.rooms, r)
	b.ways[r.id] = access{handle, endpoint}
}

func (b *board) dropRooms(ids []uuid.UUID) {
	b.rooms = slices.DeleteFunc(b.rooms, func(r room) bool { return slices.Contains(ids, r.id) })
}

func (b *board) addHost(r LockHostsRow) {
	slots := int(r.Capacity) // no limit but the seats
	if r.MaxSessions != nil {
		slots = int(*r.MaxSessions - r.OpenSessions)
	}
	b.hosts = append(b.hosts, host{
		id: r.ID, modes: r.Modes, capacity: int(r.Capacity), reserved: int(r.ReservedSeats), freeSlots: slots, load: r.Load,
	})
	b.rows = append(b.rows, r)
}

// pack decides a room for each wish anew; it returns those that got one.
func (b *board) pack(wishes []*wish) (seated []*wish) {
	parties := make([]party, len(wishes))
	for i, w := range wishes {
		parties[i] = party{shape{w.req.Mode, w.req.MaxPlayers}, len(w.req.Party), w.playedIn}
	}
	at, rooms := pack(parties, b.rooms, b.hosts)
	b.packed = rooms
	for i, w := range wishes {
		if w.room = at[i]; w.room >= 0 {
			seated = append(seated, w)
		}
	}
	return seated
}

// placements are the rows to write for the seated wishes.
func (b *board) placements(seated []*wish) WritePlacementsParams {
	var p WritePlacementsParams
	for i, r := range b.packed {
		switch {
		case r.host != alreadyOpen:
			b.openRoom(&p, r)
		case r.players > b.rooms[i].players:
			p.FilledIds = append(p.FilledIds, r.id)
			p.FilledPlayers = append(p.FilledPlayers, int32(r.players-b.rooms[i].players))
		}
	}
	for _, w := range seated {
		key := partyKey(w.req.Party)
		for _, sub := range w.req.Party {
			p.SeatSessions = append(p.SeatSessions, b.packed[w.room].id)
			p.SeatSubs = append(p.SeatSubs, sub)
			p.SeatModes = append(p.SeatModes, w.req.Mode)
			p.SeatParties = append(p.SeatParties, key)
			p.SeatCallers = append(p.SeatCallers, w.req.Caller)
		}
	}
	return p
}

func (b *board) openRoom(p *WritePlacementsParams, r room) {
	on, handle := b.rows[r.host], newHandle(b.region)
	b.ways[r.id] = access{handle, on.Endpoint}
	p.OpenedIds = append(p.OpenedIds, r.id)
	p.OpenedHandles = append(p.OpenedHandles, handle)
	p.OpenedModes = append(p.OpenedModes, r.mode)
	p.OpenedInstances = append(p.OpenedInstances, on.ID)
	p.OpenedIncarnations = append(p.OpenedIncarnations, on.Incarnation)
	p.OpenedPlayers = append(p.OpenedPlayers, int32(r.players))
	p.OpenedMaxPlayers = append(p.OpenedMaxPlayers, int32(r.maxPlayers))
}

func (b *board) placement(at int) *Placement {
	r := b.packed[at]
	way := b.ways[r.id]
	return &Placement{
		SessionID: sessionID(b.region, r.id), SessionHandle: way.handle, Endpoint: way.endpoint, Region: b.region,
		Mode: r.mode, PlayerCount: r.players, MaxPlayers: r.maxPlayers,
	}
}
