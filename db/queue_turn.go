package db

import (
	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/match/profile"
)

// queueTurn is one transaction that puts parties into the queue of a universe, and takes tickets of sessions out of
// queues. It locks, in this order:
//
//  1. the idempotency keys of requests, without waiting (ticketKeys); then the sessions of the realtime lobby
//     (changeSessionTickets), or sessions and then rooms (lobbyTurn);
//  2. the tickets that leave, universe by universe, with their players (write);
//  3. the tickets that a session gets from another one of its player (moveWaits);
//  4. at the commit: the rows of sessions whose tickets leave, the tickets that are kept, the rows of players whose
//     tickets are gone, then the keys of the new rows of tickets, players, answers and sessions (write).
//
// What it has read is not locked. If another transaction was faster, a key of a new row exists already, or a ticket
// does not leave: the turn then fails as a conflict, and is decided again.
type queueTurn struct {
	store    *Store
	q        *query.Queries
	universe string // whose queue the parties enter
	region   string // of the sessions and rooms of the realtime lobby; "": the turn has none

	queuedPlayers   map[string][]query.PlayersQueuedRow // what each player waits for
	waitingSessions []query.WaitingSessionsRow
	profilesByName  map[string]*profile.Profile // that judge the parties; nil: one that this release cannot read

	heirSessions    []string // that may wait in the place of another session of their player
	inheritedPlaces []inheritance

	decidedPlayers   map[string]bool // of parties that have entered
	leavingTickets   map[ticketRef]leavingTicket
	awareRooms       []uuid.UUID // rooms whose own action ends their wait: they need no notice of it
	awareSessions    []string    // sessions that learn from an answer why their ticket leaves: they need no notice of it
	writes           queueWrites
	countedPlaces    []string // sessions whose position is counted
	countedPositions []query.WaitingPositionsRow
	callAnswers      []func() // run after the commit
}

// ticketRef names a ticket.
type ticketRef struct{ universe, id string }

func ticketRefOf(r query.WaitingSessionsRow) ticketRef { return ticketRef{r.TicketRegion, r.Ticket} }

func (s *Store) newQueueTurn(q *query.Queries, universe, region string) *queueTurn {
	return &queueTurn{store: s, q: q, universe: universe, region: region, decidedPlayers: map[string]bool{},
		leavingTickets: map[ticketRef]leavingTicket{}}
}

// sessionUniverse returns the universe in whose queue sessions wait; "": sessions do not queue.
func (s *Store) sessionUniverse() string {
	if c := s.cfg.Queueing; c != nil {
		return c.Universe
	}
	return ""
}

// waitOf returns the row of a session that waits, unless its ticket leaves.
func (t *queueTurn) waitOf(session string) (row query.WaitingSessionsRow, waits bool) {
	for _, r := range t.waitingSessions {
		if r.Session == session {
			return r, !t.hasLeft(ticketRefOf(r))
		}
	}
	return row, false
}

// leave lets the ticket of a session leave the queue, also out of a ready check.
func (t *queueTurn) leave(r query.WaitingSessionsRow, reason string) {
	t.leavingTickets[ticketRefOf(r)] = leavingTicket{ticketID: r.Ticket, finalState: TicketCancelled, finalReason: reason,
		isForced: r.Pending}
}

func (t *queueTurn) hasLeft(ref ticketRef) bool {
	_, left := t.leavingTickets[ref]
	return left
}

// isInCycle reports whether the ticket is in a match of a cycle, which a director of Open Match assigns.
func isInCycle(r query.WaitingSessionsRow) bool {
	_, ours := readyCheckOf(r.MatchedIn)
	return r.Pending && !ours
}

// inheritance is the place of a session in the queue that another session of its player gets.
type inheritance struct{ predecessorID, sessionID, ticketID string }

// profileJudge is the live version of a profile that judges tickets.
type profileJudge struct {
	version int32
	profile *profile.Profile // nil: a newer release wrote the document, and this one cannot read it
}

// queueWrites are the parameters of the statements that a turn defers to its commit.
type queueWrites struct {
	keptTickets     []string
	stalePlayers    query.ForgetPlayersParams
	newTickets      query.QueuePlayerTicketsParams
	queuedPlayers   query.JoinPlayersParams
	storedAnswers   query.StoreAnswersParams
	waitingSessions query.AddWaitingParams
	knownLatencies  query.RememberLatenciesParams
}
