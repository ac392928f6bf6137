package db

import (
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/lobby"
)

// OpenRealtime asks for the session of a client of the realtime lobby that has just connected.
type OpenRealtime struct {
	Region, ProjectID string
	PlayerSub         string // the token's sub; "": the client has no name, and the player is the session
	IsAuthenticated   bool   // a token was verified
	KeyID             string // that the token names; "": none
	KeyRequired       bool   // refuse an authenticated client whose token names no key
	KeyScope          string // that the key must have
	TokenDigest       []byte // SHA-256 of the token as it was presented; nil: none was
	// TokenExpires is judged by the database's clock, with five seconds of leeway. For 24 hours after it, the token can
	// resume the session that was last attached with it, and nothing else. Zero: it does not expire.
	TokenExpires   time.Time
	IsExpired      bool          // the caller knows that the token has expired
	ResumeTTL      time.Duration // for which the session can be resumed once it is suspended
	ResumedSession string        // the session to resume; "": none
	ResumeByKey    bool          // any token of the same key resumes a session
	ReplicaID      uuid.UUID     // that holds the connection, from BeginRealtimeReplica
	BackAction     func(session string) lobby.Action
}

// OpenedRealtime is a session with a new owner.
type OpenedRealtime struct {
	SessionID       string
	OwnerEpoch      int64
	PlayerSub       string
	IsResumed       bool
	TookOver        bool                 // it was resumed while another connection held it
	PreviousSession string               // the id asked for, if it was not resumed
	RoomAnswers     []LobbyAnswer        // of Back, for each room of a resumed session
	Invitations     []RealtimeInvitation // of the session and its player
	TicketID        string               // with which a resumed session waits for a match; "": none
}

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
