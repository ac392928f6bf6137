package db

import (
	"time"

	"github.com/google/uuid"
)

// RealtimeInvitation says that a session may join a room, and has not yet: it, or its player, is invited, or has a
// place in the match that made the room.
type RealtimeInvitation struct {
	LobbyUID         uuid.UUID
	RoomID, RoomType string
	MatchSize        int      // of the match that made the room, as it was asked for
	Participants     []string // sessions of that match; nil: no match made the room
	FromSession      string   // the session that invited; "": a match did
	FromPlayer       string   // its player, while it is a member of the room; "": none that its token names
}

// RealtimeNews is what a connection must know about its session.
type RealtimeNews struct {
	SessionID    string
	IsSuperseded bool // another connection owns it, or it has ended
	IsRevoked    bool // its key no longer opens sessions
	Invitations  []RealtimeInvitation
	CurrentWait  *RealtimeWait // nil: it waits for no match
	LastMessage  int64         // the number of the last message to its player, if there are unread ones; 0: there are none
	ExpiredWait  *ExpiredWait  // nil: no ticket has left the queue of late, except by the session itself or with a match
}

// RealtimeWait is the ticket with which a session waits for a match.
type RealtimeWait struct {
	RoomType     string
	MatchSize    int
	AskedMatch   uuid.UUID     // the match that its player has to accept or decline; zero: none
	AnswerWithin time.Duration // in which it has to
}

// ExpiredWait says that the ticket of a session left the queue without a match.
type ExpiredWait struct {
	TicketID, RoomType string
	MatchSize          int
	Reason             string // as in [PlayerTicket], or the ticket's last state
}
