package db

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/lobby"
)

// RealtimeRequest asks for the session of a client of the realtime lobby that has just connected.
type RealtimeRequest struct {
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
	ResumeTTL      time.Duration // for which the session can be resumed once it is suspended
	ResumedSession string        // the session to resume; "": none
	ResumeByKey    bool          // any token of the same key resumes a session
	ReplicaID      uuid.UUID     // that holds the connection, from BeginRealtimeReplica
	// BackAction returns the action by which the rooms of a resumed session learn that it is back.
	BackAction func(session string) lobby.Action
}

// OpenedRealtime is a session with a new owner.
type OpenedRealtime struct {
	SessionID       string
	OwnerEpoch      int64
	PlayerSub       string
	IsResumed       bool
	TookOver        bool                 // it was resumed while another connection held it
	PreviousSession string               // the id asked for, if it was not resumed
	RoomAnswers     []LobbyAnswer        // to BackAction, of each room of a resumed session in which it succeeded
	Invitations     []RealtimeInvitation // of the session and its player
	TicketID        string               // with which a resumed session waits for a match; "": none
}

// resumes returns the session to resume, "" if there can be none.
func (o RealtimeRequest) resumes() string {
	// Any other text is the id of no session, and Postgres might refuse it.
	if len(o.ResumedSession) != len(sessionPrefix)+sessionDigits || !isStorable(o.ResumedSession) {
		return ""
	}
	return o.ResumedSession
}

func (o RealtimeRequest) bytes() int {
	return textBytes(o.Region, o.ProjectID, o.PlayerSub, o.KeyID, o.KeyScope, o.ResumedSession) + len(o.TokenDigest)
}

type openCall = batch.Call[RealtimeRequest, OpenedRealtime]

// realtimeOpening is one transaction that opens and resumes sessions.
type realtimeOpening struct {
	tx        *sessionTx
	openFacts openFacts

	openedSessions []OpenedRealtime // by the index of the call
	refusals       []error          // by the index of the call; nil: its session is opened
	sessionRooms   sessionRooms
	invitationRows []query.RealtimeInvitationsRow
	missedMessages []query.MissedMessagesRow
	ticketRows     []query.TicketsOfSessionsRow
}

func newSessionID() string {
	var b [sessionDigits / 2]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return sessionPrefix + hex.EncodeToString(b[:])
}

const sessionPrefix, sessionDigits = "s-", 16

// openFacts is what a transaction has read to judge which sessions to open.
type openFacts struct {
	dbNow          time.Time
	sessionsByID   map[string]query.LockRealtimeSessionsRow
	keysByName     map[projectKeyName]query.JudgeRealtimeKeysRow
	endedReplicas  []uuid.UUID
	playerSessions []query.SessionsOfPlayersRow
	openedByKey    map[projectKeyName]int // sessions that this transaction opens, by key

	maxSessionsOfKey int
}
