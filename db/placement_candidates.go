package db

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/tx"
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
		parties[i] = party{shape{w.req.Mode, w.req.MaxPlayers}, len(w.req.Party), w.playedIn, w.fillOnly}
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

// decided is what to write for the seated wishes.
type decided struct {
	open  OpenSessionsParams
	fill  FillSessionsParams
	seats TakeSeatsParams
}

func (b *board) decided(seated []*wish, seatTTL time.Duration) decided {
	d := decided{OpenSessionsParams{Region: b.region}, FillSessionsParams{Region: b.region}, TakeSeatsParams{Region: b.region, SeatTtl: seatTTL}}
	for i, r := range b.packed {
		switch {
		case r.host != alreadyOpen:
			b.openRoom(&d.open, r)
		case r.players > b.rooms[i].players:
			d.fill.Ids = append(d.fill.Ids, r.id)
			d.fill.Players = append(d.fill.Players, int32(r.players-b.rooms[i].players))
		}
	}
	for _, w := range seated {
		key := partyKey(w.req.Party)
		for _, sub := range w.req.Party {
			d.seats.Sessions = append(d.seats.Sessions, b.packed[w.room].id)
			d.seats.Subs = append(d.seats.Subs, sub)
			d.seats.Modes = append(d.seats.Modes, w.req.Mode)
			d.seats.Parties = append(d.seats.Parties, key)
			d.seats.Callers = append(d.seats.Callers, w.req.Caller)
		}
	}
	return d
}

// write puts it into a pipeline, in the lock order.
func (d decided) write(out *tx.Pipeline) {
	if len(d.fill.Ids) > 0 {
		queueExec(out, (*Queries).FillSessions, d.fill)
	}
	queueExec(out, (*Queries).TakeSeats, d.seats)
	if len(d.open.Ids) > 0 {
		queueExec(out, (*Queries).OpenSessions, d.open)
	}
}

func (b *board) openRoom(p *OpenSessionsParams, r room) {
	on, handle := b.rows[r.host], newHandle(b.region)
	b.ways[r.id] = access{handle, on.Endpoint}
	p.Ids = append(p.Ids, r.id)
	p.Handles = append(p.Handles, handle)
	p.Modes = append(p.Modes, r.mode)
	p.Instances = append(p.Instances, on.ID)
	p.Incarnations = append(p.Incarnations, on.Incarnation)
	p.Players = append(p.Players, int32(r.players))
	p.MaxPlayers = append(p.MaxPlayers, int32(r.maxPlayers))
}

func (b *board) placement(at int) *Placement {
	r := b.packed[at]
	way := b.ways[r.id]
	return &Placement{
		SessionID: sessionID(b.region, r.id), SessionHandle: way.handle, Endpoint: way.endpoint, Region: b.region,
		Mode: r.mode, PlayerCount: r.players, MaxPlayers: r.maxPlayers,
	}
}
