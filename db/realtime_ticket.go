package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/match"
)

// Queueing says how sessions of the realtime lobby wait for a match.
type Queueing struct {
	Universe string // the region that is the queue
	// Lease is how long a ticket stays in the queue after [Store.KeepAlive] was last called for it.
	Lease time.Duration
	TTL   time.Duration // of a ticket; 0: it stays while its sessions live
	// Encode makes the body of a ticket. Errors: Invalid for attributes or latencies outside their limits.
	Encode func(d QueueDraft) (QueueBody, error)
}

// QueueDraft is a ticket of sessions that is to be encoded.
type QueueDraft struct {
	Profile string // whose queue it is for
	Bucket  string // of a built-in profile, which matches only tickets with the same one; "" for other profiles
	Players []string
	Queue   lobby.Queue
}

// QueueBody is an encoded ticket.
type QueueBody struct {
	Fields match.Fields
	Body   func(id string, created time.Time) []byte
	Bytes  int // of the body, about
	// Ticket is what a profile judges. It is called for tickets of profiles that are not built in; nil: none is judged.
	Ticket func(created time.Time) (*match.Ticket, error)
}

// forEver is the TTL of tickets that stay while their sessions live.
const forEver = 10 * 365 * 24 * time.Hour

func (q *Queueing) ttl() time.Duration {
	if q.TTL > 0 {
		return q.TTL
	}
	return forEver
}

// EnqueueRealtime puts a session alone into the queue.
type EnqueueRealtime struct {
	Region, Project string
	Session         SessionEpoch
	Player          string
	Queue           lobby.Queue
}

// QueuedRealtime is the place of a session in the queue.
type QueuedRealtime struct {
	Ticket   string
	Sub      string // the player of the ticket: the session, or its player
	Size     int    // of the match
	Position int    // among the sessions that wait for the same room type and size, from 1; counted up to 1,000
}

// maxPosition bounds what is counted for a position.
const maxPosition = 1000

// EnqueueRealtime makes a ticket for a session. A session that waits for the same room type and size already keeps its
// ticket and its place; a ticket for another one is replaced, also that of a room whose members queued together. Where
// players are known by name, a ticket that another session of the player made alone is replaced, too. Calls of a region
// that wait at the same time share a transaction. Errors: Superseded for another epoch; Invalid for attributes, and
// "cannot_match" for a ticket that can be in no match of its profile; NotFound, "profile_unknown"; Conflict,
// "ticket_exists", "party_conflict" or "matched", as for [Store.CreatePlayerTicket]; TooMany; Unavailable, after which
// the session may wait or not.
func (s *Store) EnqueueRealtime(ctx context.Context, e EnqueueRealtime) (QueuedRealtime, error) {
	if s.cfg.Queueing == nil {
		return QueuedRealtime{}, fault.NewUnavailable("sessions do not queue here", nil)
	}
	wish, err := s.wish(e.Region, e.Project, e.Queue, []lobby.Member{{Session: e.Session.ID, Player: e.Player}})
	if err != nil {
		return QueuedRealtime{}, err
	}
	done, err := s.groups.waitGroup.Do(ctx, e.Region, waitChange{session: e.Session, wish: wish})
	return done.QueuedRealtime, err
}

// DequeueRealtime takes the ticket of a session out of the queue, also that of a room whose members queued together.
// removed is false where the session waits with no ticket, or its ticket is in a match that a director of Open Match
// assigns soon. A ticket whose players are asked whether they accept a match is removed, too, which ends the match for
// the others. Errors: Superseded for another epoch; Unavailable.
func (s *Store) DequeueRealtime(ctx context.Context, region string, session SessionEpoch) (removed bool, err error) {
	done, err := s.groups.waitGroup.Do(ctx, region, waitChange{session: session})
	return done.removed, err
}

// waitChange is a call of EnqueueRealtime, or without a wish one of DequeueRealtime.
type waitChange struct {
	session SessionEpoch
	wish    *wish
}

// waited is what became of a waitChange.
type waited struct {
	QueuedRealtime

	removed bool
}

type waitCall = batch.Call[waitChange, waited]

func (c waitChange) bytes() int {
	n := textBytes(c.session.ID)
	if c.wish != nil {
		n += c.wish.request.bytes()
	}
	return n
}

// WaitingRealtime is a session that waits with a ticket.
type WaitingRealtime struct {
	Session  string
	Universe string // of the ticket
	Ticket   string
	Sub      string // the player of the ticket
	RoomType string
	Size     int
}
