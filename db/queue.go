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
//	                CreatePlayerTicket      player_ticket_create.go        joins the batch of waiting calls
//	                  createPlayerTickets   player_ticket_create.go
//	a session     matchmaking.enqueue       server/realtime/match.go
//	                EnqueueRealtime         realtime_ticket.go             joins the batch of waiting calls
//	                  changeSessionTickets  realtime_ticket.go
//	a room        an action of its owner    lobby_act.go                   or a request that names it: lobby_ticket.go
//	                actIn                   lobby_turn.go                  locks and changes the room
//	                  queueLobby            lobby_queue.go
//
// queue_party.go has what differs between them, as data. From here on there is one way, that of a queueTurn
// (queue_turn.go, which says what it locks, in which order):
//
//	read          queue.go         the tickets with which the players, sessions and rooms wait, and the profiles
//	enter         queue_judge.go   for each party: it keeps its ticket (sameTicket), is refused, or gets a new one
//	  judge                        does its profile take it, and may its players leave the tickets they have?
//	  inherit     queue_inherit.go a restarted game waits in the place of the player's earlier session
//	  add         queue_write.go   the rows of the new ticket
//	write         queue_write.go   tickets that leave; at the commit, those that enter, with players, events and sessions
//	wake          queue_write.go   those that follow the queue, after the commit

// inQueueTurn runs a turn in a transaction of its own. decide calls read and enter; inQueueTurn writes, and after the
// commit wakes and answers.
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
	// After the commit, since an answer that is given before it could be wrong.
	for _, answer := range t.callAnswers {
		answer()
	}
	return nil
}

// read sends a pipeline, whose first statements may lock, and with it reads the tickets with which the players of the
// parties, the sessions and the rooms wait, and the profiles that judge. It bounds the latencies of the parties.
func (t *queueTurn) read(ctx context.Context, p *tx.Pipeline, parties []*party, sessions []string,
	rooms []uuid.UUID) error {
	// An empty list and not nil, which would be NULL.
	asked := query.PlayersQueuedParams{Region: t.universe, PendingFor: t.store.cfg.Timing.PendingFor, Subs: []string{}}
	judging := query.LiveVersionsParams{Region: t.universe}
	for _, party := range parties {
		asked.Subs = append(asked.Subs, party.request.Party...)
		if party.judgedTicket != nil {
			judging.Names = append(judging.Names, party.request.ProfileNames...)
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
	if len(judging.Names) > 0 {
		query.Queue(p, &live, (*query.Queries).LiveVersions, judging)
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

// readProfiles gets the profiles that judge.
func (t *queueTurn) readProfiles(ctx context.Context, live []query.LiveVersionsRow) error {
	t.profilesByName = make(map[string]*profile.Profile, len(live))
	for _, row := range live {
		judge, err := t.judgeOf(ctx, row)
		if err != nil {
			return fmt.Errorf("version %d of profile %s: %w", row.Live, row.Name, err)
		}
		t.profilesByName[row.Name] = judge.profile
	}
	return nil
}

// judgeOf returns the live version of a profile. A version never changes, so that the store reads and parses it once.
func (t *queueTurn) judgeOf(ctx context.Context, row query.LiveVersionsRow) (profileJudge, error) {
	cached, _ := t.store.profileJudges.Load(row.Name)
	if judge, known := cached.(profileJudge); known && judge.version == row.Live {
		return judge, nil
	}
	stored, err := t.q.GetProfileVersion(ctx,
		query.GetProfileVersionParams{Region: t.universe, Name: row.Name, Version: row.Live})
	if err != nil {
		return profileJudge{}, err
	}
	judge := profileJudge{version: row.Live}
	// A document that this release cannot read judges nothing: see profileJudge.
	judge.profile, _ = profile.ParseStored([]byte(stored.Document))
	t.store.profileJudges.Store(row.Name, judge)
	return judge, nil
}
