package db

import (
	"time"

	"github.com/google/uuid"
)

// RealtimeInvitation says that a session may join a room and has not joined it yet: the session or its player is
// invited, or has a place in the match that made the room.
type RealtimeInvitation struct {
	LobbyUID         uuid.UUID
	RoomID, RoomType string
	MatchSize        int      // of the match that made the room, as it was asked for
	Participants     []string // sessions of that match; nil: no match made the room
	FromSession      string   // the session that invited; "": a match did
	FromPlayer       string   // the player of FromSession, while that is a member of the room; "": it has no name
}

// RealtimeNews is what a connection must know about its session.
type RealtimeNews struct {
	SessionID    string
	IsSuperseded bool // another connection owns the session, or it has ended
	IsRevoked    bool // the key of the session no longer opens sessions
	Invitations  []RealtimeInvitation
	CurrentWait  *RealtimeWait // nil: the session waits for no match
	LastMessage  int64         // the number of the last message to the player, if there are unread ones; 0: there are none
	// ExpiredWait is a ticket that has left the queue of late without a match, and not by the session itself; nil: none
	// has.
	ExpiredWait *ExpiredWait
}

// RealtimeWait is the ticket with which a session waits for a match.
type RealtimeWait struct {
	RoomType     string
	MatchSize    int
	AskedMatch   uuid.UUID     // the match that the player has to accept or decline; zero: none
	AnswerWithin time.Duration // the time that the player has left for that
}

// ExpiredWait says that the ticket of a session left the queue without a match.
type ExpiredWait struct {
	TicketID, RoomType string
	MatchSize          int
	Reason             string // as in [PlayerTicket], or the ticket's last state
}
