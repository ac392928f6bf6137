package db

import (
	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/lobby"
)

// lobbyStep is an action of a transaction. With Session.Epoch 0 the session is not judged: the transaction has locked
// the session, or the director itself acts.
type lobbyStep struct {
	action LobbyAction

	LobbyUID          uuid.UUID          // the room; uuid.Nil: the room that the action names by project and id
	ticketRequest     *roomTicketRequest // with which the members queue; nil: the room may ask for a ticket
	cancellableTicket string             // the only ticket that the action may cancel; "": any
}

// lobbyResult is what a step did, once the transaction is committed.
type lobbyResult struct {
	answer         LobbyAnswer
	invitedPlayers []string
	cancelsTicket  bool  // a member wants to leave the queue
	err            error // a *lobby.Error, a *fault.Error of the kind Superseded, a *panics.Error, or errRoomEnds
}

// lobbyQueueChange says that the members of a room enter or leave the queue. Sessions that enter it are locked.
type lobbyQueueChange struct {
	LobbyUID  uuid.UUID
	ProjectID string
	Members   []lobby.Member
	Queue     *lobby.Queue // nil: they leave the queue
	// TicketRequest asks for the ticket with which they enter; nil: a ticket is made for Queue. A transaction with a
	// TicketRequest has no other change.
	TicketRequest *roomTicketRequest
	TicketID      string // the ticket with which they leave the queue; "": any
	isCancelled   bool   // they leave because a member wants to
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
	roomsBySession map[string]int // how many rooms a session has; only sessions that may join one are in the map
	byUID          map[uuid.UUID]*lobbyRoom
	byID           map[lobbyID]*lobbyRoom
	changedRooms   []*lobbyRoom // those with hasActed, in the order of their first action

	queueChanges []lobbyQueueChange
	queueTurn    *queueTurn               // of the queueChanges; nil: there are none
	invitedRows  []query.InvitePlayersRow // what the invitations reached; read with the commit
	matchedRooms []uuid.UUID              // rooms that did not know of their match; read with the commit
	noticeKeys   []string                 // rooms and sessions that are notified after the commit
}
