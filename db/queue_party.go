package db

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
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

	members    []lobby.Member // sessions of the lobby that wait with the ticket; none: of a request without a room
	playerSubs []string       // the players of the ticket, in the order of members
	projectID  string
	lobbyQueue lobby.Queue
	queueDraft QueueDraft // what the body of the ticket was encoded from; zero for a request, which brings its body
	roomUID    uuid.UUID  // the room whose members queue together; zero: none

	// judgedTicket returns the ticket as its profile judges it; nil: it is not judged, since a built-in profile takes
	// every ticket, and the face of the API, whose refusals name fields, has judged that of a request.
	judgedTicket func(created time.Time) (*match.Ticket, error)
}

// partyOrigin is where a party comes from. It decides which ticket the party keeps: see sameTicket.
type partyOrigin int

const (
	fromRequest partyOrigin = iota // POST /tickets, for a caller and its party, or for a room that it names
	fromSession                    // a session that queues alone
	fromRoom                       // an action in a room
)

// The sizes of matches that sessions may ask for, in players.
const (
	minMatchSize = 2
	maxMatchSize = 16
)

// sessionParty returns a session as a party. Errors: Invalid; Unavailable where sessions do not queue.
func (s *Store) sessionParty(e RealtimeEnqueueRequest) (*party, error) {
	p, err := s.memberParty(e.Region, e.ProjectID, e.Queue, []lobby.Member{{Session: e.Session.ID, Player: e.Player}})
	if err != nil {
		return nil, err
	}
	p.origin = fromSession
	return p, nil
}

// roomParty returns the members of a room as a party. Errors: Invalid; Conflict; Unavailable where sessions do not
// queue.
func (s *Store) roomParty(region string, c lobbyQueueChange) (*party, error) {
	if c.TicketRequest != nil {
		p := &party{origin: fromRequest, request: c.TicketRequest.ticket, members: c.Members, projectID: c.ProjectID,
			lobbyQueue: *c.Queue, roomUID: c.LobbyUID}
		for _, m := range c.Members {
			p.playerSubs = append(p.playerSubs, m.Player)
		}
		return p, nil
	}
	p, err := s.memberParty(region, c.ProjectID, *c.Queue, c.Members)
	if err != nil {
		return nil, err
	}
	p.origin, p.roomUID = fromRoom, c.LobbyUID
	return p, nil
}

// memberParty returns a party of sessions, with the ticket that their room type asks for.
func (s *Store) memberParty(region, project string, q lobby.Queue, members []lobby.Member) (*party, error) {
	if s.cfg.Queueing == nil {
		return nil, fault.NewUnavailable("sessions do not queue here", nil)
	}
	q.MatchSize = min(max(q.MatchSize, minMatchSize), maxMatchSize)
	p := &party{projectID: project, lobbyQueue: q, members: members}
	draft, err := s.draftOf(region, p)
	if err != nil {
		return nil, err
	}
	if p.playerSubs, err = playersOf(members, draft.Bucket != ""); err != nil {
		return nil, err
	}
	draft.Players = slices.Sorted(slices.Values(p.playerSubs))
	p.queueDraft = draft
	p.request = PlayerTicketRequest{
		Caller: p.playerSubs[0], Party: draft.Players, ProfileNames: []string{draft.ProfileName},
		TTL: s.cfg.Queueing.ttl(), LeaseTTL: s.cfg.Queueing.LeaseTTL, RequestHash: p.hash(region),
	}
	return p, p.encode(s.cfg.Queueing, draft)
}

// encode makes the body of the ticket from a draft. Errors: those of [Queueing.EncodeDraft].
func (p *party) encode(q *Queueing, draft QueueDraft) error {
	body, err := q.EncodeDraft(draft)
	if err != nil {
		return err
	}
	// A built-in profile takes every ticket of its bucket: there is nothing to judge.
	if draft.Bucket == "" {
		p.judgedTicket = body.JudgedTicket
	}
	p.request.SearchFields, p.request.EncodeBody, p.request.BodyBytes = body.SearchFields, body.EncodeBody, body.Bytes
	return nil
}

// draftOf returns the ticket of a party of sessions before it is encoded, without its players. A ticket of a built-in
// profile has a Bucket. Errors: Invalid.
func (s *Store) draftOf(region string, p *party) (QueueDraft, error) {
	draft := QueueDraft{ProfileName: s.profileOf(p.lobbyQueue.RoomType), LobbyQueue: p.lobbyQueue}
	if draft.ProfileName != "" {
		return draft, nil
	}
	if len(p.members) > p.lobbyQueue.MatchSize {
		e := fault.New(fault.Invalid, "invalid", "%d players are more than the match has", len(p.members))
		e.Field = "size"
		return draft, e
	}
	draft.ProfileName = RealtimeProfile(p.lobbyQueue.MatchSize)
	draft.Bucket = fmt.Sprintf("%s %s %s", region, p.projectID, p.lobbyQueue.RoomType)
	return draft, nil
}

// playersOf returns the players of a ticket of sessions, in the order of the members. In a ticket of a built-in
// profile, the sessions themselves are the players. Errors: Conflict.
func playersOf(members []lobby.Member, isBuiltIn bool) (subs []string, err error) {
	for _, m := range members {
		sub := m.Player
		if isBuiltIn || sub == "" {
			sub = m.Session
		}
		if slices.Contains(subs, sub) {
			return nil, fault.New(fault.Conflict, "party_conflict", "a player is in the party with two sessions")
		}
		subs = append(subs, sub)
	}
	return subs, nil
}

// profileOf returns the profile whose queue the players of a room type join; "" for a built-in one.
func (s *Store) profileOf(roomType string) string {
	t, _ := s.cfg.RoomTypes.LookupType(roomType)
	return t.ProfileName
}

// hash returns the request hash of a party of sessions. It differs from that of every other session and of every
// request, so that two tickets are never taken for one. It ends with attributesMark.
func (p *party) hash(region string) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "realtime %q %q %d", region, p.lobbyQueue.RoomType, p.lobbyQueue.MatchSize)
	for _, m := range p.members {
		fmt.Fprintf(h, " %q", m.Session)
	}
	return append(h.Sum(nil), p.attributesMark()...)
}

// attributesMark returns 8 bytes of a hash of the attributes, which do not depend on their order and form.
func (p *party) attributesMark() []byte {
	var named map[string]any
	_ = json.Unmarshal(p.lobbyQueue.Attributes, &named) // EncodeDraft refuses what is no object
	// An attribute that is null counts as absent.
	maps.DeleteFunc(named, func(_ string, value any) bool { return value == nil })
	var sorted []byte
	if len(named) > 0 {
		sorted, _ = json.Marshal(named) // as it was decoded from JSON, it encodes
	}
	sum := sha256.Sum256(sorted)
	return sum[:8]
}

// waitsAs reports whether a session that waits has the ticket that the party asks for. Latencies do not count: they are
// measured anew each time.
func (p *party) waitsAs(row query.WaitingSessionsRow) bool {
	if !row.Queued || row.RoomType != p.lobbyQueue.RoomType || int(row.Size) != p.lobbyQueue.MatchSize {
		return false
	}
	// Without a mark it is a ticket of an earlier release, of a request, or of an evacuation: it keeps its place.
	if len(row.RequestHash) <= sha256.Size {
		return true
	}
	return bytes.Equal(row.RequestHash[sha256.Size:], p.attributesMark())
}
