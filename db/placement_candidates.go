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
	region   string
	sessions []pack.Session
	hosts    []pack.Host
	rows     []query.LockHostsRow // of hosts, index by index
	access   map[uuid.UUID]sessionAccess

	packed []pack.Session // sessions after pack, with the new ones behind the others
}

// sessionAccess is how players reach a session.
type sessionAccess struct{ handle, endpoint string }

func newCandidates(region string) *candidates {
	return &candidates{region: region, access: map[uuid.UUID]sessionAccess{}}
}

func (c *candidates) addSession(r pack.Session, handle, endpoint string) {
	c.sessions = append(c.sessions, r)
	c.access[r.ID] = sessionAccess{handle, endpoint}
}

func (c *candidates) dropSessions(ids []uuid.UUID) {
	c.sessions = slices.DeleteFunc(c.sessions, func(r pack.Session) bool { return slices.Contains(ids, r.ID) })
}

func (c *candidates) addHost(r query.LockHostsRow) {
	slots := int(r.Capacity) // without max_sessions, only the seats limit
	if r.MaxSessions != nil {
		slots = int(*r.MaxSessions - r.OpenSessions)
	}
	c.hosts = append(c.hosts, pack.Host{
		ID: r.ID, Modes: r.Modes, Capacity: int(r.Capacity), Reserved: int(r.ReservedSeats), FreeSlots: slots,
		Load: r.Load,
	})
	c.rows = append(c.rows, r)
}

// pack chooses a session for each request, whatever was chosen before, and returns the requests that got one.
func (c *candidates) pack(requests []*request) (seated []*request) {
	parties := make([]pack.Party, len(requests))
	for i, r := range requests {
		parties[i] = pack.Party{Shape: pack.Shape{Mode: r.req.Mode, MaxPlayers: r.req.MaxPlayers},
			Size: len(r.req.Party), PlayedIn: r.verdict.excluded, FillOnly: r.fillOnly}
	}
	at, sessions := pack.Seat(parties, c.sessions, c.hosts)
	c.packed = sessions
	for i, r := range requests {
		r.session = at[i]
		if r.session >= 0 {
			seated = append(seated, r)
		}
	}
	return seated
}

// writes are the rows to write for the seated requests.
type writes struct {
	opening opening
	fill    query.FillSessionsParams
	seats   query.TakeSeatsParams
}

func (c *candidates) writes(seated []*request, seatTTL time.Duration) writes {
	d := writes{newOpening(c.region), query.FillSessionsParams{Region: c.region},
		query.TakeSeatsParams{Region: c.region, SeatTtl: seatTTL}}
	for i, r := range c.packed {
		switch {
		// The packed sessions begin with the locked ones, in their order; new ones follow.
		case r.Host != pack.AlreadyOpen:
			c.openSession(&d.opening, r, uuid.Nil)
		case r.Players > c.sessions[i].Players:
			d.fill.Ids = append(d.fill.Ids, r.ID)
			d.fill.Players = append(d.fill.Players, int32(r.Players-c.sessions[i].Players))
		}
	}
	for _, r := range seated {
		key := partyKey(r.req.Party)
		for _, sub := range r.req.Party {
			d.seats.Sessions = append(d.seats.Sessions, c.packed[r.session].ID)
			d.seats.Subs = append(d.seats.Subs, sub)
			d.seats.Modes = append(d.seats.Modes, r.req.Mode)
			d.seats.Parties = append(d.seats.Parties, key)
			d.seats.Callers = append(d.seats.Callers, r.req.Caller)
		}
	}
	return d
}

// queue adds the statements to a pipeline, in the lock order. For senders see opening.
func (d writes) queue(out *tx.Pipeline, senders *[]uuid.UUID) {
	if len(d.fill.Ids) > 0 {
		query.QueueExec(out, (*query.Queries).FillSessions, d.fill)
	}
	query.QueueExec(out, (*query.Queries).TakeSeats, d.seats)
	d.opening.queue(out, senders)
}

// openSession adds a session to those to open; match is zero for one that is not a match's.
func (c *candidates) openSession(p *opening, r pack.Session, match uuid.UUID) {
	on, handle := c.rows[r.Host], newHandle(c.region)
	c.access[r.ID] = sessionAccess{handle, on.Endpoint}
	p.add(r, on, handle, match)
}

func (c *candidates) placement(at int) *Placement {
	r := c.packed[at]
	way := c.access[r.ID]
	return &Placement{
		SessionID: sessionID(c.region, r.ID), SessionHandle: way.handle, Endpoint: way.endpoint, Region: c.region,
		Mode: r.Mode, PlayerCount: r.Players, MaxPlayers: r.MaxPlayers,
	}
}

// maxExcluded bounds the sessions that are read, and locked, beside those that a party needs: somebody whom thousands
// avoid gets a new session rather than all of theirs.
const maxExcluded = 32

func keysWanted(requests []*request) (k pack.Needs) {
	for _, r := range requests {
		// A session that the party may not join may be among those found: read one more for each.
		k.Add(pack.Shape{Mode: r.req.Mode, MaxPlayers: r.req.MaxPlayers}, len(r.req.Party), 1+min(len(r.verdict.excluded), maxExcluded))
	}
	return k
}
