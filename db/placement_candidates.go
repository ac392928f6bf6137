package db

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// candidates are the sessions and hosts that a placement transaction has locked, and the sessions that it chose for its
// requests. It translates between rows and the pure function pack.
type candidates struct {
	region   string
	sessions []packedSession
	hosts    []host
	rows     []query.LockHostsRow // of hosts, index by index
	access   map[uuid.UUID]sessionAccess

	packed []packedSession // sessions after pack, with the new ones behind the others
}

// sessionAccess is how players reach a session.
type sessionAccess struct{ handle, endpoint string }

func newCandidates(region string) *candidates {
	return &candidates{region: region, access: map[uuid.UUID]sessionAccess{}}
}

func (c *candidates) addSession(r packedSession, handle, endpoint string) {
	c.sessions = append(c.sessions, r)
	c.access[r.id] = sessionAccess{handle, endpoint}
}

func (c *candidates) dropSessions(ids []uuid.UUID) {
	c.sessions = slices.DeleteFunc(c.sessions, func(r packedSession) bool { return slices.Contains(ids, r.id) })
}

func (c *candidates) addHost(r query.LockHostsRow) {
	slots := int(r.Capacity) // without max_sessions, only the seats limit
	if r.MaxSessions != nil {
		slots = int(*r.MaxSessions - r.OpenSessions)
	}
	c.hosts = append(c.hosts, host{
		id: r.ID, modes: r.Modes, capacity: int(r.Capacity), reserved: int(r.ReservedSeats), freeSlots: slots, load: r.Load,
	})
	c.rows = append(c.rows, r)
}

// pack chooses a session for each request, whatever was chosen before, and returns the requests that got one.
func (c *candidates) pack(requests []*request) (seated []*request) {
	parties := make([]party, len(requests))
	for i, r := range requests {
		parties[i] = party{shape{r.req.Mode, r.req.MaxPlayers}, len(r.req.Party), r.playedIn, r.fillOnly}
	}
	at, sessions := pack(parties, c.sessions, c.hosts)
	c.packed = sessions
	for i, r := range requests {
		if r.session = at[i]; r.session >= 0 {
			seated = append(seated, r)
		}
	}
	return seated
}

// writes are the rows to write for the seated requests.
type writes struct {
	open  opening
	fill  query.FillSessionsParams
	seats query.TakeSeatsParams
}

func (c *candidates) writes(seated []*request, seatTTL time.Duration) writes {
	d := writes{newOpening(c.region), query.FillSessionsParams{Region: c.region}, query.TakeSeatsParams{Region: c.region, SeatTtl: seatTTL}}
	for i, r := range c.packed {
		switch {
		case r.host != alreadyOpen:
			c.openSession(&d.open, r, uuid.Nil)
		case r.players > c.sessions[i].players:
			d.fill.Ids = append(d.fill.Ids, r.id)
			d.fill.Players = append(d.fill.Players, int32(r.players-c.sessions[i].players))
		}
	}
	for _, r := range seated {
		key := partyKey(r.req.Party)
		for _, sub := range r.req.Party {
			d.seats.Sessions = append(d.seats.Sessions, c.packed[r.session].id)
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
	d.open.queue(out, senders)
}

// openSession adds a session to those to open; match is zero for one that is not a match's.
func (c *candidates) openSession(p *opening, r packedSession, match uuid.UUID) {
	on, handle := c.rows[r.host], newHandle(c.region)
	c.access[r.id] = sessionAccess{handle, on.Endpoint}
	p.add(r, on, handle, match)
}

func (c *candidates) placement(at int) *Placement {
	r := c.packed[at]
	way := c.access[r.id]
	return &Placement{
		SessionID: sessionID(c.region, r.id), SessionHandle: way.handle, Endpoint: way.endpoint, Region: c.region,
		Mode: r.mode, PlayerCount: r.players, MaxPlayers: r.maxPlayers,
	}
}

// keys are the shapes and party sizes that requests ask for, with the number of parties of each.
type keys struct {
	modes      []string
	maxPlayers []int32
	sizes      []int32
	parties    []int32
}

// add counts n parties like that of the request.
func (k *keys) add(r PlaceRequest, n int) {
	for i := range k.modes {
		if k.modes[i] == r.Mode && int(k.maxPlayers[i]) == r.MaxPlayers && int(k.sizes[i]) == len(r.Party) {
			k.parties[i] += int32(n)
			return
		}
	}
	k.modes = append(k.modes, r.Mode)
	k.maxPlayers = append(k.maxPlayers, int32(r.MaxPlayers))
	k.sizes = append(k.sizes, int32(len(r.Party)))
	k.parties = append(k.parties, int32(n))
}

func wanted(requests []*request) (k keys) {
	for _, r := range requests {
		k.add(r.req, 1+len(r.playedIn)) // a session that the party may not join may be among those found: read one more for each
	}
	return k
}

// sessions is how many sessions the parties need at most, row by row.
func (k *keys) sessions() []int32 {
	n := make([]int32, len(k.modes))
	for i := range n {
		together := max(1, k.maxPlayers[i]/k.sizes[i])
		n[i] = (k.parties[i] + together - 1) / together
	}
	return n
}
