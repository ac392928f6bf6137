package db

import (
	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/lobby"
)

// lobbyStep is an action of a transaction. With Session.Epoch 0 the session is not judged: the transaction has locked
// it, or the director itself acts.
type lobbyStep struct {
	action LobbyAction

	LobbyUID          uuid.UUID          // the room; uuid.Nil: it has the id Room in Project
	ticketRequest     *roomTicketRequest // with which the members queue; nil: the room may ask for one
	cancellableTicket string             // the one that the action may cancel; "": any
}

// lobbyResult is what a step did, once the transaction is committed.
type lobbyResult struct {
	answer LobbyAnswer

	invitedPlayers []string
	cancelsTicket  bool  // a member wants to leave the queue
	Err            error // a *lobby.Error, an *Error of the kind Superseded, or errRoomEnds
}

// lobbyQueueChange says that the members of a room enter or leave the queue. Sessions that enter it are locked.
type lobbyQueueChange struct {
	LobbyUID  uuid.UUID
	ProjectID string
	Members   []lobby.Member
	Queue     *lobby.Queue // nil: they leave the queue
	// TicketRequest is that with which they enter; nil: one is made for Queue. A transaction with it has no other
	// change.
	TicketRequest *roomTicketRequest
	TicketID      string // with which they leave it; "": any
	isCancelled   bool   // a member wants it
	// SessionID waits in the place of PredecessorID, a session of the same player; then nothing else changes.
	PredecessorID, SessionID string
}

// roomTicketRequest asks for a ticket of the members of a room.
type roomTicketRequest struct {
	universe string
	ticket   PlayerTicketRequest
	answer   PlayerTicketAnswer
}

type lobbyID struct{ project, roomID string }

// lobbyTurn is one transaction on rooms of a region: the rows that it has locked and read, and the changes to write.
type lobbyTurn struct {
	region      string
	stepResults []lobbyResult // of the steps, in their order; they hold after the commit

	ownerEpochs    map[string]int64 // epochs of the locked sessions that have an owner
	lockedSessions map[string]bool
	roomsBySession map[string]int // of those that may join one
	byUID          map[uuid.UUID]*lobbyRoom
	byID           map[lobbyID]*lobbyRoom
	changedRooms   []*lobbyRoom // in which an action has succeeded, in the order of the first

	queueChanges []lobbyQueueChange
	queueTurn    *queueTurn               // of the queueChanges; nil: there are none
	invitedRows  []query.InvitePlayersRow // known after the commit, as matchedRooms
	matchedRooms []uuid.UUID              // rooms that did not know of their match
	noticeKeys   []string                 // of the notice after the commit
}
