package db

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/lobby"
)

// writeLobbies finishes the rooms, and defers the statements that write them to the commit. It queues the rooms that
// enter or leave the queue.
func (s *Store) writeLobbies(ctx context.Context, q *query.Queries, t *lobbyTurn) (err error) {
	w := newLobbyWrites(t.region)
	at := s.Now()
	for _, r := range t.changedRooms {
		r.finish(at)
		// Nobody has seen a room that this transaction has made and ended.
		if r.isNew && r.isEnding {
			continue
		}
		if err := w.add(r); err != nil {
			return err
		}
		// Without a row of the log there is nothing to read: the replicas of the members stay asleep.
		if r.logRow != nil || r.isEnding {
			t.noticeKeys = append(t.noticeKeys, r.uid.String())
		}
	}
	w.deferTo(q.Deferred(), &t.invitedRows)
	if len(t.queueChanges) == 0 {
		return nil
	}
	if cancelled := t.cancelledRooms(); len(cancelled) > 0 {
		query.Queue(q.Deferred(), &t.matchedRooms, (*query.Queries).MatchedLobbies,
			query.MatchedLobbiesParams{Region: t.region, Lobbies: cancelled})
	}
	t.queueTurn, err = s.queueLobby(ctx, q, t.region, t.queueChanges)
	return err
}

// lobbyWrites are the parameters of the statements that write the rooms of a transaction.
type lobbyWrites struct {
	newLobbies          query.InsertLobbiesParams
	changedLobbies      query.PutLobbiesParams
	changedDetails      query.PutLobbyDetailsParams
	endedLobbies        query.DeleteLobbiesParams
	joinedMembers       query.PutLobbyMembersParams
	leftMembers         query.DeleteLobbyMembersParams
	newInvitations      query.InvitePlayersParams
	answeredInvitations query.AnswerInvitationsParams
	participantPlaces   query.PutParticipantsParams
	newSayings          query.PutLobbySayingsParams
	logRows             query.InsertLobbyLogParams
}

// maxInvitationsByPlayer bounds the invitations of a player in five minutes, over all rooms of a project.
const maxInvitationsByPlayer = 64

func newLobbyWrites(region string) lobbyWrites {
	return lobbyWrites{
		newLobbies:          query.InsertLobbiesParams{Region: region},
		changedLobbies:      query.PutLobbiesParams{Region: region},
		changedDetails:      query.PutLobbyDetailsParams{Region: region},
		endedLobbies:        query.DeleteLobbiesParams{Region: region},
		joinedMembers:       query.PutLobbyMembersParams{Region: region},
		leftMembers:         query.DeleteLobbyMembersParams{Region: region},
		newInvitations:      query.InvitePlayersParams{Region: region, Most: maxInvitationsByPlayer},
		answeredInvitations: query.AnswerInvitationsParams{Region: region},
		participantPlaces:   query.PutParticipantsParams{Region: region},
		newSayings:          query.PutLobbySayingsParams{Region: region},
		logRows:             query.InsertLobbyLogParams{Region: region},
	}
}

// add adds the rows that a room changes. Of a room that ends, all rows but those of its log are deleted.
func (w *lobbyWrites) add(r *lobbyRoom) error {
	if r.isEnding {
		w.endedLobbies.Uids = append(w.endedLobbies.Uids, r.uid)
		// The members learn of the end by the last row of the log.
		return w.addLog(r)
	}
	if r.isNew {
		w.addNew(r)
	} else if r.hasNewRow() {
		w.addChanged(r)
	}
	if r.hasNewDetails() {
		if err := w.addDetails(r); err != nil {
			return err
		}
	}
	w.addMembers(r)
	// Only rooms that a match made have participants.
	if !slices.Equal(r.roomBefore.Participants, r.roomNow.Participants) {
		w.participantPlaces.Uids = append(w.participantPlaces.Uids, r.uid)
		w.participantPlaces.Participants = append(w.participantPlaces.Participants, textArray(r.roomNow.Participants))
	}
	// After addMembers, which adds answered players.
	for _, player := range r.answeredPlayers {
		w.answeredInvitations.Lobbies = append(w.answeredInvitations.Lobbies, r.uid)
		w.answeredInvitations.Players = append(w.answeredInvitations.Players, player)
	}
	w.addSayings(r)
	for _, e := range r.inviteEffects {
		p := &w.newInvitations
		p.Lobbies = append(p.Lobbies, r.uid)
		p.Projects = append(p.Projects, r.roomNow.Project)
		p.Players = append(p.Players, e.Player)
		p.Inviters = append(p.Inviters, e.Session)
		p.InvitingPlayers = append(p.InvitingPlayers, e.Inviter)
	}
	return w.addLog(r)
}

func (w *lobbyWrites) addNew(r *lobbyRoom) {
	p, room := &w.newLobbies, &r.roomNow
	p.Uids = append(p.Uids, r.uid)
	p.Projects = append(p.Projects, room.Project)
	p.Ids = append(p.Ids, room.ID)
	p.Types = append(p.Types, room.Type)
	p.Positions = append(p.Positions, r.lastPos())
	p.Seqs = append(p.Seqs, room.StateSeq)
	p.States = append(p.States, string(room.State.JSON()))
	p.Members = append(p.Members, int32(len(room.Members)))
	p.Joins = append(p.Joins, room.JoinCount)
	p.MaxMembers = append(p.MaxMembers, int32(room.MaxMembers))
	p.Private = append(p.Private, room.IsPrivate)
	p.Locked = append(p.Locked, room.IsLocked)
	p.Graces = append(p.Graces, room.GracePeriod.Microseconds())
	p.Empty = append(p.Empty, r.isEmpty())
	p.Said = append(p.Said, room.SaidCount)
}

func (w *lobbyWrites) addChanged(r *lobbyRoom) {
	p, room := &w.changedLobbies, &r.roomNow
	// The text of a state may have 64 KiB. It is not sent without need: the statement keeps a state whose number stays.
	state := ""
	if room.StateSeq != r.roomBefore.StateSeq {
		state = string(room.State.JSON())
	}
	p.Uids = append(p.Uids, r.uid)
	p.Positions = append(p.Positions, r.lastPos())
	p.Seqs = append(p.Seqs, room.StateSeq)
	p.States = append(p.States, state)
	p.Members = append(p.Members, int32(len(room.Members)))
	p.Joins = append(p.Joins, room.JoinCount)
	p.MaxMembers = append(p.MaxMembers, int32(room.MaxMembers))
	p.Private = append(p.Private, room.IsPrivate)
	p.Locked = append(p.Locked, room.IsLocked)
	p.Empty = append(p.Empty, r.isEmpty())
	p.Said = append(p.Said, room.SaidCount)
}

func (w *lobbyWrites) addDetails(r *lobbyRoom) error {
	sanctions := ""
	if len(r.roomNow.Sanctions) > 0 {
		encoded, err := json.Marshal(r.roomNow.Sanctions)
		if err != nil {
			return fmt.Errorf("%w: %w", errBadJSON, err)
		}
		sanctions = string(encoded)
	}
	p := &w.changedDetails
	p.Uids = append(p.Uids, r.uid)
	p.Metadata = append(p.Metadata, string(r.roomNow.Metadata))
	p.Codes = append(p.Codes, r.roomNow.JoinCode)
	p.Sanctions = append(p.Sanctions, sanctions)
	return nil
}

// addSayings adds the messages that the room remembers from now on.
func (w *lobbyWrites) addSayings(r *lobbyRoom) {
	p := &w.newSayings
	for _, e := range lobby.LastSayings(r.roomNow.Entries) {
		p.Lobbies = append(p.Lobbies, r.uid)
		p.Numbers = append(p.Numbers, e.Number)
		p.Times = append(p.Times, time.UnixMilli(e.SaidAt))
		p.Sessions = append(p.Sessions, e.Session)
		p.Players = append(p.Players, e.Player)
		p.Data = append(p.Data, string(e.Data))
	}
}

// addMembers writes the members that are new or have changed, and deletes those that are gone. It adds the players
// whose invitations are gone to answeredPlayers.
func (w *lobbyWrites) addMembers(r *lobbyRoom) {
	if !r.hasNewMembers() {
		return
	}
	membersBefore, sessionsAfter := map[string]lobby.Member{}, map[string]bool{}
	for _, m := range r.roomBefore.Members {
		membersBefore[m.Session] = m
	}
	for _, m := range r.roomNow.Members {
		sessionsAfter[m.Session] = true
		// A new member, one that is away or back, or one whose invitation becomes a membership.
		if membersBefore[m.Session] != m {
			p := &w.joinedMembers
			p.Lobbies = append(p.Lobbies, r.uid)
			p.Sessions = append(p.Sessions, m.Session)
			p.Players = append(p.Players, m.Player)
			p.Orders = append(p.Orders, m.JoinOrder)
			p.Away = append(p.Away, m.IsAway)
		}
	}
	// Invitations of sessions are rows of the same table.
	for _, m := range r.roomNow.InvitedMembers {
		sessionsAfter[m.Session] = true
	}
	for _, all := range [][]lobby.Member{r.roomBefore.Members, r.roomBefore.InvitedMembers} {
		for _, m := range all {
			switch {
			case m.Session == "" && !slices.Contains(r.roomNow.InvitedMembers, m):
				// An invitation of a player without a session is a row of lobby_invitations, which ends as answered.
				r.answeredPlayers = append(r.answeredPlayers, m.Player)
			case !sessionsAfter[m.Session]:
				w.leftMembers.Lobbies = append(w.leftMembers.Lobbies, r.uid)
				w.leftMembers.Sessions = append(w.leftMembers.Sessions, m.Session)
			}
		}
	}
}

func (w *lobbyWrites) addLog(r *lobbyRoom) error {
	if r.logRow == nil {
		return nil
	}
	body, err := encodeLobbyRow(*r.logRow)
	if err != nil {
		return err
	}
	w.logRows.Lobbies = append(w.logRows.Lobbies, r.uid)
	w.logRows.Positions = append(w.logRows.Positions, r.logRow.LogPos)
	w.logRows.Bodies = append(w.logRows.Bodies, body)
	return nil
}

// deferTo adds the statements that have rows to a pipeline, those of rooms before those of members. invited gets the
// players and sessions that were invited, when the pipeline is sent.
func (w *lobbyWrites) deferTo(out *tx.Pipeline, invited *[]query.InvitePlayersRow) {
	deferRows(out, len(w.newLobbies.Uids), (*query.Queries).InsertLobbies, w.newLobbies)
	deferRows(out, len(w.changedLobbies.Uids), (*query.Queries).PutLobbies, w.changedLobbies)
	deferRows(out, len(w.changedDetails.Uids), (*query.Queries).PutLobbyDetails, w.changedDetails)
	deferRows(out, len(w.endedLobbies.Uids), (*query.Queries).DeleteLobbies, w.endedLobbies)
	deferRows(out, len(w.endedLobbies.Uids), (*query.Queries).DeleteMembersOfLobbies,
		query.DeleteMembersOfLobbiesParams(w.endedLobbies))
	deferRows(out, len(w.leftMembers.Lobbies), (*query.Queries).DeleteLobbyMembers, w.leftMembers)
	deferRows(out, len(w.participantPlaces.Uids), (*query.Queries).PutParticipants, w.participantPlaces)
	deferRows(out, len(w.answeredInvitations.Lobbies), (*query.Queries).AnswerInvitations, w.answeredInvitations)
	deferRows(out, len(w.joinedMembers.Lobbies), (*query.Queries).PutLobbyMembers, w.joinedMembers)
	if len(w.newInvitations.Lobbies) > 0 {
		query.Queue(out, invited, (*query.Queries).InvitePlayers, w.newInvitations)
	}
	deferRows(out, len(w.newSayings.Lobbies), (*query.Queries).PutLobbySayings, w.newSayings)
	deferRows(out, len(w.logRows.Lobbies), (*query.Queries).InsertLobbyLog, w.logRows)
}

// deferRows adds a statement for a number of rows to a pipeline, unless there are none.
func deferRows[Arg any](p *tx.Pipeline, rows int, statement func(*query.Queries, context.Context, Arg) error, arg Arg) {
	if rows > 0 {
		query.QueueExec(p, statement, arg)
	}
}
