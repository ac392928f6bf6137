package db

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// committer commits or proposes matches of a universe.
type committer struct {
	store            *Store
	universe, region string
	hostShare        HostShare
	profileOwners    []MatchOwner
	assign           AssignMatch
}

// matchCall is a match on its way through transactions, until it has an outcome.
type matchCall struct {
	match        *NewMatch
	playerSubs   []string
	rosterJSON   []byte
	matchOutcome MatchOutcome
	isDecided    bool
}

func (c *matchCall) decide(o MatchOutcome) { c.matchOutcome, c.isDecided = o, true }

// seatedMatch is a match that is to be committed, with its session.
type seatedMatch struct {
	call      *matchCall
	placement Placement
	sessionID uuid.UUID // zero for a match without seats
	mode      string
	joined    *joinedMatch // the match whose session it joins; nil: it has its own session
}

// playingMatchID returns the id of the match that plays in the session.
func (s seatedMatch) playingMatchID() uuid.UUID {
	if s.joined != nil {
		return s.joined.id
	}
	return s.call.match.ID
}

// matchTx is one transaction over matches: its options, its input and its results. Without options, it waits for no
// host and gives no seat up.
type matchTx struct {
	committer *committer
	calls     []*matchCall
	// takesTickets deletes the tickets without locking them first, which is half the work, and commits all matches or
	// none.
	takesTickets   bool
	waitForHosts   bool          // wait for hosts that other transactions have locked
	mayGiveUpSeats bool          // players may give up seats
	proposeFor     time.Duration // how long the players are asked; 0: the matches are committed

	q                *query.Queries
	heldLocks        matchLocks
	mustBeAlone      []*matchCall            // matches whose players must give up seats, which this transaction may not
	seatedMatches    []seatedMatch           // to be committed, oldest first
	endedMatches     []*matchCall            // accepted matches that lost a ticket
	unplacedMatches  []*matchCall            // matches that found no host
	joinableMatches  map[string]*joinedMatch // by the public id of the session
	newSessions      opening
	commandSenders   []uuid.UUID // see opening
	placeableIndexes []int32     // indexes of unplacedMatches for which a snapshot from after the writes shows room
	proposedMatches  []*matchCall
	lobbyRooms       *matchRooms // nil: no session of the realtime lobby waits with a ticket of these matches
	isWritten        bool        // its writes are deferred: from now on, the outcome of its commit may be unknown
}

// matchLocks is what a transaction over matches has locked and read.
type matchLocks struct {
	heldProfiles    []string
	lockedTickets   []query.LockMatchTicketsRow
	waitingSessions []query.WaitingOfTicketsRow // sessions of the realtime lobby that wait with these tickets
	acceptedMatches []uuid.UUID
	grantedPlayers  []int32 // indexes in players of those whose locks were free
	nearbySeats     []query.SeatsAroundRow
	lockedSessions  []query.LockMatchSessionsRow
	playingMatches  []query.PlayingMatchesRow
	lockedHosts     []query.LockHostsRow
}

// mayStay reports whether the tickets of a match are likely to stay in the queue: the match waited for a server before.
func (c *matchCall) mayStay() bool { return c.match.Demand != DemandKey{} }

// ownerOf returns the owner of a match's profile.
func (c *committer) ownerOf(m *matchCall) (o MatchOwner, ok bool) {
	i := slices.IndexFunc(c.profileOwners, func(o MatchOwner) bool { return o.ProfileName == m.match.Profile })
	if i < 0 {
		return o, false
	}
	return c.profileOwners[i], true
}

func indexesOf(calls []*matchCall) (indexes []int32) {
	for i := range calls {
		indexes = append(indexes, int32(i))
	}
	return indexes
}

func outcomesOf(calls []*matchCall) []MatchOutcome {
	outcomes := make([]MatchOutcome, len(calls))
	for i, c := range calls {
		outcomes[i] = c.matchOutcome
	}
	return outcomes
}

func undecidedCalls(calls []*matchCall) (left []*matchCall) {
	for _, c := range calls {
		if !c.isDecided {
			left = append(left, c)
		}
	}
	return left
}

func profileLost() error {
	return fault.New(fault.Superseded, "profile_lost", "another worker decides for the profile now")
}

// AssignMatch returns the assignment of a match's tickets, an openmatch.Assignment. The placement is zero for a match
// without seats. It may be called more than once for a match.
type AssignMatch func(m *NewMatch, p Placement) []byte

// HostShare is the part of a region's game servers on which a caller opens sessions first, so that callers with
// different shares do not wait for each other: every LaneCount-th, beginning with Lane. The zero value is all of them.
// A match that finds no room in the share looks for it on all game servers.
type HostShare struct{ Lane, LaneCount int }

// makeCalls makes the calls of matches, and decides those whose roster cannot be encoded.
func (c *committer) makeCalls(matches []NewMatch) []*matchCall {
	calls := make([]*matchCall, len(matches))
	for i := range matches {
		m := &matches[i]
		calls[i] = &matchCall{match: m, playerSubs: m.players()}
		var err error
		if calls[i].rosterJSON, err = encodeRoster(m.Tickets); err != nil {
			calls[i].decide(MatchOutcome{Kind: MatchBad, Err: err})
		}
	}
	return calls
}

// matchBatches cuts undecided matches into batches of one transaction.
func matchBatches(calls []*matchCall) (batches [][]*matchCall) {
	players, bytes := 0, 0
	for _, c := range undecidedCalls(calls) {
		players, bytes = players+len(c.playerSubs), bytes+c.match.bytes()
		last := len(batches) - 1
		if last < 0 || len(batches[last]) == maxBatchMatches || players > maxBatchPlayers || bytes > maxBatchBytes {
			batches, players, bytes = append(batches, nil), len(c.playerSubs), c.match.bytes()
			last++
		}
		batches[last] = append(batches[last], c)
	}
	return batches
}

// matchRooms are the rooms of the realtime lobby that a transaction makes for matches, and into which it invites the
// sessions that waited.
type matchRooms struct {
	roomsByRegion map[string]*madeRooms
	endedWaits    query.EndSessionsWaitingParams

	otherSessions map[string][]string // further sessions whose replicas wake after the commit, by region
}

// joinedMatch is a match that plays already, in a session that this transaction has locked.
type joinedMatch struct {
	id          uuid.UUID
	sessionRow  query.LockMatchSessionsRow
	playerSubs  []string
	rosterBytes int
	isTaken     bool // a match of this transaction joins it
}

// madeRooms are the new rooms of one region.
type madeRooms struct {
	newLobbies     query.InsertMatchLobbiesParams
	invitedMembers query.InviteParticipantsParams
}
