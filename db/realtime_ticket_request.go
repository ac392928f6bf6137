package db

import (
	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/lobby"
)

// EnqueueRealtime puts a session alone into the queue.
type EnqueueRealtime struct {
	Region, ProjectID string
	Session           SessionEpoch
	Player            string
	Queue             lobby.Queue
}

// DequeueRealtime takes a session out of the queue.
type DequeueRealtime struct {
	Region, ProjectID string
	Session           SessionEpoch
	Player            string
}

// QueuedRealtime is the place of a session in the queue.
type QueuedRealtime struct {
	TicketID      string
	PlayerSub     string // the player of the ticket: the session, or its player
	MatchSize     int    // of the match
	QueuePosition int    // among the sessions that wait for the same room type and size, from 1; counted up to 1,000
}

// sessionTicketRequest is a call of EnqueueRealtime, or without a party one of DequeueRealtime.
type sessionTicketRequest struct {
	sessionEpoch         SessionEpoch
	projectID, playerSub string
	party                *party
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

func (r sessionTicketRequest) heir() heir { return heir{r.projectID, r.playerSub, r.sessionEpoch.ID} }
