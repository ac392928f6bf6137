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

	// Sessions of the realtime lobby that wait with the ticket; none: only callers of the API know of it.
	members    []lobby.Member
	playerSubs []string // the players of the ticket, as members
	projectID  string
	lobbyQueue lobby.Queue
	queueDraft QueueDraft // what is encoded; the zero value: of a request
	roomUID    uuid.UUID  // whose members queue together; zero: none

	// judgedTicket is the ticket as its profile judges it; nil: the profile does not judge it, since it takes every ticket or
	// the face of the API, whose refusals name fields, has asked it.
	judgedTicket func(created time.Time) (*match.Ticket, error)
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
	p.queueDraft = draft
	p.request = PlayerTicketRequest{
		Caller: p.playerSubs[0], Party: draft.Players, ProfileNames: []string{draft.ProfileName},
		TTL:      s.cfg.Queueing.ttl(),
		LeaseTTL: s.cfg.Queueing.LeaseTTL, RequestHash: p.hash(region),
	}
	return p, p.encode(s.cfg.Queueing, draft)
}

// encode makes the body of the ticket. Errors: those of [Queueing.EncodeDraft].
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

// draftOf names the players of a party of sessions, and returns its ticket to be encoded.
func (s *Store) draftOf(region string, p *party) (QueueDraft, error) {
	draft := QueueDraft{ProfileName: s.profileOf(p.lobbyQueue.RoomType), LobbyQueue: p.lobbyQueue}
	if builtIn := draft.ProfileName == ""; builtIn {
		if len(p.members) > p.lobbyQueue.MatchSize {
			e := fault.New(fault.Invalid, "invalid", "%d players are more than the match has", len(p.members))
			e.Field = "size"
			return draft, e
		}
		draft.ProfileName = RealtimeProfile(p.lobbyQueue.MatchSize)
		draft.Bucket = fmt.Sprintf("%s %s %s", region, p.projectID, p.lobbyQueue.RoomType)
	}
	for _, m := range p.members {
		sub := m.Player
		// Tickets of built-in profiles have sessions as their players.
		if draft.Bucket != "" || sub == "" {
			sub = m.Session
		}
		if slices.Contains(p.playerSubs, sub) {
			return draft, fault.New(fault.Conflict, "party_conflict", "a player is in the party with two sessions")
		}
		p.playerSubs = append(p.playerSubs, sub)
	}
	draft.Players = slices.Sorted(slices.Values(p.playerSubs))
	return draft, nil
}

// profileOf returns the profile whose queue the players of a room type join; "" for a built-in one.
func (s *Store) profileOf(roomType string) string {
	t, _ := s.cfg.RoomTypes.LookupType(roomType)
	return t.ProfileName
}

// hash differs from that of every request of another session, so that two tickets are never taken for the same request.
// It ends with attributesMark.
func (p *party) hash(region string) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "realtime %q %q %d", region, p.lobbyQueue.RoomType, p.lobbyQueue.MatchSize)
	for _, m := range p.members {
		fmt.Fprintf(h, " %q", m.Session)
	}
	return append(h.Sum(nil), p.attributesMark()...)
}

// attributesMark differs for other attributes, whatever their order and form, and is never empty.
func (p *party) attributesMark() []byte {
	var named map[string]any
	_ = json.Unmarshal(p.lobbyQueue.Attributes, &named) // EncodeDraft refuses what is no object
	// null is absent.
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
