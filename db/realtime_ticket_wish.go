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

// wish is a ticket that sessions want.
type wish struct {
	project string
	queue   lobby.Queue
	lobby   uuid.UUID // whose members queue together; zero for a session alone
	members []lobby.Member
	subs    []string // the players of the ticket, as members
	draft   QueueDraft
	// as the profile of the draft judges it; nil: it is not judged
	ticket  func(created time.Time) (*match.Ticket, error)
	request PlayerTicketRequest
	answer  PlayerTicketAnswer // of a ticket that was made
}

// The sizes of matches that sessions may ask for.
const (
	minMatchSize = 2
	maxMatchSize = 16
)

// wish returns the ticket that the members of a room, or a session alone, want. Errors: Invalid.
func (s *Store) wish(region, project string, q lobby.Queue, members []lobby.Member) (*wish, error) {
	q.Size = min(max(q.Size, minMatchSize), maxMatchSize)
	w := &wish{project: project, queue: q, members: members}
	draft := QueueDraft{Profile: s.profileOf(q.RoomType), Queue: q}
	if builtIn := draft.Profile == ""; builtIn {
		if len(members) > q.Size {
			e := fault.New(fault.Invalid, "invalid", "%d players are more than the match has", len(members))
			e.Field = "size"
			return nil, e
		}
		draft.Profile, draft.Bucket = RealtimeProfile(q.Size), fmt.Sprintf("%s %s %s", region, project, q.RoomType)
	}
	for _, m := range members {
		sub := m.Player
		if draft.Bucket != "" || sub == "" {
			sub = m.Session
		}
		if slices.Contains(w.subs, sub) {
			return nil, fault.New(fault.Conflict, "party_conflict", "a player is in the party with two sessions")
		}
		w.subs = append(w.subs, sub)
	}
	draft.Players = slices.Sorted(slices.Values(w.subs))
	body, err := s.cfg.Queueing.Encode(draft)
	if err != nil {
		return nil, err
	}
	if w.draft = draft; draft.Bucket == "" {
		w.ticket = body.Ticket
	}
	w.request = PlayerTicketRequest{
		Caller: w.subs[0], Party: draft.Players, Profiles: []string{draft.Profile}, Fields: body.Fields,
		Body: body.Body, Bytes: body.Bytes,
		TTL: s.cfg.Queueing.ttl(), Lease: s.cfg.Queueing.Lease, RequestHash: w.hash(region),
	}
	return w, nil
}

// profileOf returns the profile whose queue the players of a room type join; "" for a built-in one.
func (s *Store) profileOf(roomType string) string {
	t, _ := s.cfg.Rooms.Lookup(roomType)
	return t.Profile
}

// hash differs from that of every request of another session, so that two tickets are never taken for the same request.
func (w *wish) hash(region string) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "realtime %q %q %d", region, w.queue.RoomType, w.queue.Size)
	for _, m := range w.members {
		fmt.Fprintf(h, " %q", m.Session)
	}
	return h.Sum(nil)
}

// matches reports whether a session that waits has this wish already.
func (w *wish) matches(row query.WaitingSessionsRow) bool {
	return row.Queued && row.RoomType == w.queue.RoomType && int(row.Size) == w.queue.Size
}
