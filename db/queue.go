package db

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/match/profile"
)

// How does a ticket enter the queue? Parties come from three places:
//
//	a request     POST /tickets             server/play/ticket_create.go   asks the profiles, which are in its memory
//	                CreatePlayerTicket      player_ticket.go               joins the batch of waiting calls
//	                  createPlayerTickets   player_ticket_create.go
//	a session     matchmaking.enqueue       server/realtime/match.go
//	                EnqueueRealtime         realtime_ticket.go             joins the batch of waiting calls
//	                  changeSessionTickets  realtime_ticket.go
//	a room        an action of its owner    lobby_act.go                   or a request that names it: lobby_ticket.go
//	                actIn                   lobby_turn.go                  locks and changes the room
//	                  queueLobby            lobby_queue.go
//
// queue_party.go has what differs between them, as data. From here on there is one way, that of a queueTurn:
//
//	read          queue.go         what the players, sessions and rooms wait for, and the profiles
//	enter         queue_judge.go   for each party: it keeps its ticket (sameTicket), is refused, or gets a new one
//	  judge                        does its profile take it, and may its players leave the tickets they have?
//	  inherit     queue_inherit.go a restarted game waits in the place of the player's earlier session
//	  add         queue_write.go   the rows of the new ticket
//	write         queue_write.go   tickets that leave; at the commit, those that enter, with players, events and sessions
//	wake          queue_write.go   those that follow the queue, after the commit

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
	profilesByName  map[string]*profile.Profile // that judge the parties, by name; nil: see profileJudge

	heirSessions    []string      // that may wait in the place of another session of their player
	inheritedPlaces []inheritance // places that sessions have got

	decidedPlayers   map[string]bool // of parties that have entered
	leavingTickets   map[ticketRef]leaving
	awareRooms       []uuid.UUID // that know that they do not wait any more
	awareSessions    []string    // that know why their ticket leaves
	writes           queueWrites
	countedPlaces    []string // sessions whose position is counted
	countedPositions []query.WaitingPositionsRow
	callAnswers      []func() // of calls, after the commit
}

// ticketRef names a ticket.
type ticketRef struct{ universe, id string }

func (s *Store) newQueueTurn(q *query.Queries, universe, region string) *queueTurn {
	return &queueTurn{store: s, q: q, universe: universe, region: region, decidedPlayers: map[string]bool{},
		leavingTickets: map[ticketRef]leaving{}}
}

// sessionUniverse returns the universe in whose queue sessions wait; "": sessions do not queue.
func (s *Store) sessionUniverse() string {
	if c := s.cfg.Queueing; c != nil {
		return c.Universe
	}
	return ""
}

// inQueueTurn runs a turn that is a transaction of its own: decide reads and enters.
func (s *Store) inQueueTurn(ctx context.Context, universe, region string, decide func(*queueTurn) error) error {
	var t *queueTurn
	err := s.frame.InTx(ctx, func(q *query.Queries) error {
		// Made for each attempt, with nothing in it of an earlier one.
		t = s.newQueueTurn(q, universe, region)
		if err := decide(t); err != nil {
			return err
		}
		return t.write(ctx)
	})
	if err != nil {
		return err
	}
	t.wake()
	// Only now: an answer that was given before the commit could be wrong.
	for _, answer := range t.callAnswers {
		answer()
	}
	return nil
}

// read sends a pipeline, whose first statements may lock, and reads what parties, sessions and rooms wait for.
func (t *queueTurn) read(ctx context.Context, p *tx.Pipeline, parties []*party, sessions []string,
	rooms []uuid.UUID) error {
	// An empty list and not nil, which would be NULL.
	asked := query.PlayersQueuedParams{Region: t.universe, PendingFor: t.store.cfg.Timing.PendingFor, Subs: []string{}}
	judges := query.LiveVersionsParams{Region: t.universe}
	for _, party := range parties {
		asked.Subs = append(asked.Subs, party.request.Party...)
		if party.judgedTicket != nil {
			judges.Names = append(judges.Names, party.request.ProfileNames...)
		}
	}
	if t.region != "" {
		query.Queue(p, &t.waitingSessions, (*query.Queries).WaitingSessions, query.WaitingSessionsParams{
			Region: t.region, Universe: t.universe, PendingFor: asked.PendingFor, Sessions: sessions, Lobbies: rooms,
			Subs: asked.Subs, Heirs: append([]string{}, t.heirSessions...),
		})
	}
	var rows []query.PlayersQueuedRow
	var live []query.LiveVersionsRow
	query.Queue(p, &rows, (*query.Queries).PlayersQueued, asked)
	if len(judges.Names) > 0 {
		query.Queue(p, &live, (*query.Queries).LiveVersions, judges)
	}
	if err := t.q.Send(ctx, p); err != nil {
		return err
	}
	t.queuedPlayers = make(map[string][]query.PlayersQueuedRow, len(rows))
	for _, r := range rows {
		t.queuedPlayers[r.Sub] = append(t.queuedPlayers[r.Sub], r)
	}
	if len(live) == 0 {
		return nil
	}
	if err := t.readProfiles(ctx, live); err != nil {
		return err
	}
	return t.boundLatencies(ctx, parties)
}

// profileJudge is the live version of a profile that a room type names.
type profileJudge struct {
	version int32
	profile *profile.Profile // nil: a newer release wrote it, and this one cannot read it
}

// readProfiles reads the profiles that judge. Versions never change, so that a process reads a document once.
func (t *queueTurn) readProfiles(ctx context.Context, live []query.LiveVersionsRow) error {
	t.profilesByName = make(map[string]*profile.Profile, len(live))
	for _, row := range live {
		kept, _ := t.store.profileJudges.Load(row.Name)
		judge, known := kept.(profileJudge)
		if !known || judge.version != row.Live {
			stored, err := t.q.GetProfileVersion(ctx,
				query.GetProfileVersionParams{Region: t.universe, Name: row.Name, Version: row.Live})
			if err != nil {
				return fmt.Errorf("version %d of profile %s: %w", row.Live, row.Name, err)
			}
			judge.version = row.Live
			// A document that this release cannot read judges nothing: see profileJudge.
			judge.profile, _ = profile.ParseStored([]byte(stored.Document))
			t.store.profileJudges.Store(row.Name, judge)
		}
		t.profilesByName[row.Name] = judge.profile
	}
	return nil
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
	t.leavingTickets[ticketRefOf(r)] = leaving{ticketID: r.Ticket, finalState: TicketCancelled, finalReason: reason,
		isForced: r.Pending}
}

func (t *queueTurn) hasLeft(ref ticketRef) bool {
	_, left := t.leavingTickets[ref]
	return left
}

func ticketRefOf(r query.WaitingSessionsRow) ticketRef { return ticketRef{r.TicketRegion, r.Ticket} }

// waitsElsewhere reports whether the ticket is in a match of a cycle, which a director of Open Match assigns.
func waitsElsewhere(r query.WaitingSessionsRow) bool {
	_, ours := readyCheckOf(r.MatchedIn)
	return r.Pending && !ours
}
