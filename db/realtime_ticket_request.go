package db

import (
	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/lobby"
)

// RealtimeEnqueueRequest is a call of [Store.EnqueueRealtime].
type RealtimeEnqueueRequest struct {
	Region, ProjectID string
	Session           SessionEpoch
	Player            string // of the session; a session without a named player is its own player
	Queue             lobby.Queue
}

// RealtimeDequeueRequest is a call of [Store.DequeueRealtime].
type RealtimeDequeueRequest struct {
	Region, ProjectID string
	Session           SessionEpoch
	Player            string // as of RealtimeEnqueueRequest
}

// QueuedRealtime is the place of a session in the queue.
type QueuedRealtime struct {
	TicketID      string
	PlayerSub     string // the player of the ticket: the session, or its player
	MatchSize     int    // players of the match
	QueuePosition int    // among the sessions that wait for the same room type and size, from 1; counted up to 1,000
}

// sessionTicketRequest is a call of EnqueueRealtime or of DequeueRealtime.
type sessionTicketRequest struct {
	sessionEpoch         SessionEpoch
	projectID, playerSub string
	party                *party // that enters; nil: the session leaves the queue
}

type sessionTicketAnswer struct {
	queued     QueuedRealtime
	wasRemoved bool
}

type sessionTicketCall = batch.Call[sessionTicketRequest, sessionTicketAnswer]

func (r sessionTicketRequest) bytes() int {
	n := textBytes(r.sessionEpoch.ID, r.projectID, r.playerSub)
	if r.party != nil {
		n += r.party.request.bytes()
	}
	return n
}

// heir is a session that may wait in the place of another session of its player.
type heir struct{ projectID, playerSub, sessionID string }

func (r sessionTicketRequest) asHeir() heir { return heir{r.projectID, r.playerSub, r.sessionEpoch.ID} }
