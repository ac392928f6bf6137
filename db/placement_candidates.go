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
// requests. It translates between rows and package pack, which chooses.
type candidates struct {
	region          string
	openSessions    []pack.Session
	packHosts       []pack.Host
	hostRows        []query.LockHostsRow // of packHosts, index by index
	accessBySession map[uuid.UUID]sessionAccess

	packedSessions []pack.Session // openSessions as they are after chooseSessions, with the new ones behind them
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

// chooseSessions chooses a session for each request, open or new, and sets the packedIndex of the request. It returns
// the requests that got one. A second call chooses anew for all requests.
func (c *candidates) chooseSessions(requests []*request) (seated []*request) {
	parties := make([]pack.Party, len(requests))
	for i, r := range requests {
		parties[i] = pack.Party{Shape: r.placeRequest.shape(), Size: len(r.placeRequest.Party),
			PlayedIn: r.verdict.excludedSessions, FillOnly: r.fillOnly}
	}
	sessionIndexes, sessions := pack.SeatParties(parties, c.openSessions, c.packHosts)
	c.packedSessions = sessions
	for i, r := range requests {
		r.packedIndex = sessionIndexes[i]
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
	w := writes{newOpening(c.region), query.FillSessionsParams{Region: c.region},
		query.TakeSeatsParams{Region: c.region, SeatTtl: seatTTL}}
	for i, s := range c.packedSessions {
		if s.HostIndex != pack.AlreadyOpen {
			c.openSession(&w.newSessions, s, uuid.Nil)
			continue
		}
		// The packed sessions begin with the open ones, in the same order.
		if added := s.PlayerCount - c.openSessions[i].PlayerCount; added > 0 {
			w.filledSessions.Ids = append(w.filledSessions.Ids, s.ID)
			w.filledSessions.Players = append(w.filledSessions.Players, int32(added))
		}
	}
	for _, r := range seated {
		key := partyKey(r.placeRequest.Party)
		for _, sub := range r.placeRequest.Party {
			w.takenSeats.Sessions = append(w.takenSeats.Sessions, c.packedSessions[r.packedIndex].ID)
			w.takenSeats.Subs = append(w.takenSeats.Subs, sub)
			w.takenSeats.Modes = append(w.takenSeats.Modes, r.placeRequest.Mode)
			w.takenSeats.Parties = append(w.takenSeats.Parties, key)
			w.takenSeats.Callers = append(w.takenSeats.Callers, r.placeRequest.Caller)
		}
	}
	return w
}

// queue adds the statements to a pipeline, in the lock order. For senders see opening.queue.
func (w writes) queue(out *tx.Pipeline, senders *[]uuid.UUID) {
	if len(w.filledSessions.Ids) > 0 {
		query.QueueExec(out, (*query.Queries).FillSessions, w.filledSessions)
	}
	query.QueueExec(out, (*query.Queries).TakeSeats, w.takenSeats)
	w.newSessions.queue(out, senders)
}

// openSession adds a session, with a handle of its own, to those to open; match is zero for one that is not a match's.
func (c *candidates) openSession(p *opening, s pack.Session, match uuid.UUID) {
	host, handle := c.hostRows[s.HostIndex], newHandle(c.region)
	c.accessBySession[s.ID] = sessionAccess{handle, host.Endpoint}
	p.add(s, host, handle, match)
}

func (c *candidates) placementOf(packedIndex int) *Placement {
	s := c.packedSessions[packedIndex]
	access := c.accessBySession[s.ID]
	return &Placement{
		SessionID: sessionID(c.region, s.ID), SessionHandle: access.handle, Endpoint: access.endpoint, Region: c.region,
		Mode: s.Shape.Mode, PlayerCount: s.PlayerCount, MaxPlayers: s.Shape.MaxPlayers,
	}
}

// maxExcluded bounds the sessions that are read, and locked, beside those that a party needs: somebody whom thousands
// avoid gets a new session rather than all of theirs.
const maxExcluded = 32

// needsOf returns how many sessions and hosts the requests may need, by shape.
func needsOf(requests []*request) (n pack.Needs) {
	for _, r := range requests {
		// A session that the party may not join may be among those found: read one more for each.
		n.AddParties(r.placeRequest.shape(), len(r.placeRequest.Party),
			1+min(len(r.verdict.excludedSessions), maxExcluded))
	}
	return n
}
