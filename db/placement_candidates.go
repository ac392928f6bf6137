package db

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/pack"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// candidates are the sessions and hosts that a placement transaction has locked, and the sessions that it chose for its
// requests. It translates between rows and the pure function pack.
type candidates struct {
	region          string
	openSessions    []pack.Session
	packHosts       []pack.Host
	hostRows        []query.LockHostsRow // of hosts, index by index
	accessBySession map[uuid.UUID]sessionAccess

	packedSessions []pack.Session // sessions after pack, with the new ones behind the others
}

// sessionAccess is how players reach a session.
type sessionAccess struct{ handle, endpoint string }

func newCandidates(region string) *candidates {
	return &candidates{region: region, accessBySession: map[uuid.UUID]sessionAccess{}}
}

func (c *candidates) addSession(r pack.Session, handle, endpoint string) {
	c.openSessions = append(c.openSessions, r)
	c.accessBySession[r.ID] = sessionAccess{handle, endpoint}
}

func (c *candidates) dropSessions(ids []uuid.UUID) {
	c.openSessions = slices.DeleteFunc(c.openSessions, func(r pack.Session) bool { return slices.Contains(ids, r.ID) })
}

func (c *candidates) addHost(r query.LockHostsRow) {
	slots := int(r.Capacity) // without max_sessions, only the seats limit
	if r.MaxSessions != nil {
		slots = int(*r.MaxSessions - r.OpenSessions)
	}
	c.packHosts = append(c.packHosts, pack.Host{
		ID: r.ID, Modes: r.Modes, Capacity: int(r.Capacity), ReservedSeats: int(r.ReservedSeats), FreeSlots: slots,
		Load: r.Load,
	})
	c.hostRows = append(c.hostRows, r)
}

// pack chooses a session for each request, whatever was chosen before, and returns the requests that got one.
func (c *candidates) pack(requests []*request) (seated []*request) {
	parties := make([]pack.Party, len(requests))
	for i, r := range requests {
		parties[i] = pack.Party{Shape: pack.Shape{Mode: r.placeRequest.Mode, MaxPlayers: r.placeRequest.MaxPlayers},
			Size: len(r.placeRequest.Party), PlayedIn: r.verdict.excludedSessions, FillOnly: r.fillOnly}
	}
	at, sessions := pack.SeatParties(parties, c.openSessions, c.packHosts)
	c.packedSessions = sessions
	for i, r := range requests {
		r.packedIndex = at[i]
		if r.packedIndex >= 0 {
			seated = append(seated, r)
		}
	}
	return seated
}

// writes are the rows to write for the seated requests.
type writes struct {
	newSessions    opening
	filledSessions query.FillSessionsParams
	takenSeats     query.TakeSeatsParams
}

func (c *candidates) makeWrites(seated []*request, seatTTL time.Duration) writes {
	d := writes{newOpening(c.region), query.FillSessionsParams{Region: c.region},
		query.TakeSeatsParams{Region: c.region, SeatTtl: seatTTL}}
	for i, r := range c.packedSessions {
		switch {
		// The packed sessions begin with the locked ones, in their order; new ones follow.
		case r.HostIndex != pack.AlreadyOpen:
			c.openSession(&d.newSessions, r, uuid.Nil)
		case r.PlayerCount > c.openSessions[i].PlayerCount:
			d.filledSessions.Ids = append(d.filledSessions.Ids, r.ID)
			d.filledSessions.Players = append(d.filledSessions.Players,
				int32(r.PlayerCount-c.openSessions[i].PlayerCount))
		}
	}
	for _, r := range seated {
		key := partyKey(r.placeRequest.Party)
		for _, sub := range r.placeRequest.Party {
			d.takenSeats.Sessions = append(d.takenSeats.Sessions, c.packedSessions[r.packedIndex].ID)
			d.takenSeats.Subs = append(d.takenSeats.Subs, sub)
			d.takenSeats.Modes = append(d.takenSeats.Modes, r.placeRequest.Mode)
			d.takenSeats.Parties = append(d.takenSeats.Parties, key)
			d.takenSeats.Callers = append(d.takenSeats.Callers, r.placeRequest.Caller)
		}
	}
	return d
}

// queue adds the statements to a pipeline, in the lock order. For senders see opening.
func (d writes) queue(out *tx.Pipeline, senders *[]uuid.UUID) {
	if len(d.filledSessions.Ids) > 0 {
		query.QueueExec(out, (*query.Queries).FillSessions, d.filledSessions)
	}
	query.QueueExec(out, (*query.Queries).TakeSeats, d.takenSeats)
	d.newSessions.queue(out, senders)
}

// openSession adds a session to those to open; match is zero for one that is not a match's.
func (c *candidates) openSession(p *opening, r pack.Session, match uuid.UUID) {
	on, handle := c.hostRows[r.HostIndex], newHandle(c.region)
	c.accessBySession[r.ID] = sessionAccess{handle, on.Endpoint}
	p.add(r, on, handle, match)
}

func (c *candidates) placementOf(packedIndex int) *Placement {
	r := c.packedSessions[packedIndex]
	way := c.accessBySession[r.ID]
	return &Placement{
		SessionID: sessionID(c.region, r.ID), SessionHandle: way.handle, Endpoint: way.endpoint, Region: c.region,
		Mode: r.Shape.Mode, PlayerCount: r.PlayerCount, MaxPlayers: r.Shape.MaxPlayers,
	}
}

// maxExcluded bounds the sessions that are read, and locked, beside those that a party needs: somebody whom thousands
// avoid gets a new session rather than all of theirs.
const maxExcluded = 32

func keysWanted(requests []*request) (k pack.Needs) {
	for _, r := range requests {
		// A session that the party may not join may be among those found: read one more for each.
		k.AddParties(pack.Shape{Mode: r.placeRequest.Mode, MaxPlayers: r.placeRequest.MaxPlayers},
			len(r.placeRequest.Party), 1+min(len(r.verdict.excludedSessions), maxExcluded))
	}
	return k
}
