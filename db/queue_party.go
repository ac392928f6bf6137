package db

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/match"
)

// party asks for one ticket. Where it comes from decides which fields it has.
type party struct {
	origin  partyOrigin
	request PlayerTicketRequest // its ticket; the Party has the players

	// Sessions of the realtime lobby that wait with the ticket; none: only callers of the API know of it.
	members []lobby.Member
	subs    []string // the players of the ticket, as members
	project string
	queue   lobby.Queue
	draft   QueueDraft // what is encoded; the zero value: of a request
	room    uuid.UUID  // whose members queue together; zero: none

	// ticket is the ticket as its profile judges it; nil: the profile does not judge it, since it takes every ticket or
	// the face of the API, whose refusals name fields, has asked it.
	ticket func(created time.Time) (*match.Ticket, error)
}

// partyOrigin is where a party comes from. It decides which ticket the party keeps: see sameTicket.
type partyOrigin int

const (
	fromRequest partyOrigin = iota // to POST /tickets; with a room if it names one
	fromSession                    // a session alone
	fromRoom                       // an action in a room
)

// The sizes of matches that sessions may ask for.
const (
	minMatchSize = 2
	maxMatchSize = 16
)

// sessionParty returns a session as a party. Errors: Invalid; Unavailable where sessions do not queue.
func (s *Store) sessionParty(e EnqueueRealtime) (*party, error) {
	p, err := s.memberParty(e.Region, e.Project, e.Queue, []lobby.Member{{Session: e.Session.ID, Player: e.Player}})
	if err != nil {
		return nil, err
	}
	p.origin = fromSession
	return p, nil
}

// roomParty returns the members of a room as a party. Errors: Invalid; Conflict; Unavailable where sessions do not
// queue.
func (s *Store) roomParty(region string, c lobbyQueueChange) (*party, error) {
	if c.Request != nil {
		p := &party{origin: fromRequest, request: c.Request.ticket, members: c.Members, project: c.Project,
			queue: *c.Queue, room: c.Lobby}
		for _, m := range c.Members {
			p.subs = append(p.subs, m.Player)
		}
		return p, nil
	}
	p, err := s.memberParty(region, c.Project, *c.Queue, c.Members)
	if err != nil {
		return nil, err
	}
	p.origin, p.room = fromRoom, c.Lobby
	return p, nil
}

// memberParty returns a party of sessions, with the ticket that their room type asks for.
func (s *Store) memberParty(region, project string, q lobby.Queue, members []lobby.Member) (*party, error) {
	if s.cfg.Queueing == nil {
		return nil, fault.NewUnavailable("sessions do not queue here", nil)
	}
	q.Size = min(max(q.Size, minMatchSize), maxMatchSize)
	p := &party{project: project, queue: q, members: members}
	draft, err := s.draftOf(region, p)
	if err != nil {
		return nil, err
	}
	p.draft = draft
	p.request = PlayerTicketRequest{
		Caller: p.subs[0], Party: draft.Players, Profiles: []string{draft.Profile}, TTL: s.cfg.Queueing.ttl(),
		Lease: s.cfg.Queueing.Lease, RequestHash: p.hash(region),
	}
	return p, p.encode(s.cfg.Queueing, draft)
}

// encode makes the body of the ticket. Errors: those of [Queueing.Encode].
func (p *party) encode(q *Queueing, draft QueueDraft) error {
	body, err := q.Encode(draft)
	if err != nil {
		return err
	}
	// A built-in profile takes every ticket of its bucket: there is nothing to judge.
	if draft.Bucket == "" {
		p.ticket = body.Ticket
	}
	p.request.Fields, p.request.Body, p.request.Bytes = body.Fields, body.Body, body.Bytes
	return nil
}

// draftOf names the players of a party of sessions, and returns its ticket to be encoded.
func (s *Store) draftOf(region string, p *party) (QueueDraft, error) {
	draft := QueueDraft{Profile: s.profileOf(p.queue.RoomType), Queue: p.queue}
	if builtIn := draft.Profile == ""; builtIn {
		if len(p.members) > p.queue.Size {
			e := fault.New(fault.Invalid, "invalid", "%d players are more than the match has", len(p.members))
			e.Field = "size"
			return draft, e
		}
		draft.Profile = RealtimeProfile(p.queue.Size)
		draft.Bucket = fmt.Sprintf("%s %s %s", region, p.project, p.queue.RoomType)
	}
	for _, m := range p.members {
		sub := m.Player
		// Tickets of built-in profiles have sessions as their players.
		if draft.Bucket != "" || sub == "" {
			sub = m.Session
		}
		if slices.Contains(p.subs, sub) {
			return draft, fault.New(fault.Conflict, "party_conflict", "a player is in the party with two sessions")
		}
		p.subs = append(p.subs, sub)
	}
	draft.Players = slices.Sorted(slices.Values(p.subs))
	return draft, nil
}

// profileOf returns the profile whose queue the players of a room type join; "" for a built-in one.
func (s *Store) profileOf(roomType string) string {
	t, _ := s.cfg.Rooms.Lookup(roomType)
	return t.Profile
}

// hash differs from that of every request of another session, so that two tickets are never taken for the same request.
func (p *party) hash(region string) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "realtime %q %q %d", region, p.queue.RoomType, p.queue.Size)
	for _, m := range p.members {
		fmt.Fprintf(h, " %q", m.Session)
	}
	return h.Sum(nil)
}

// waitsAs reports whether a session that waits has the ticket that the party asks for.
func (p *party) waitsAs(row query.WaitingSessionsRow) bool {
	return row.Queued && row.RoomType == p.queue.RoomType && int(row.Size) == p.queue.Size
}
