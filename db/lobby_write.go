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

// writeLobbies decides what the rooms have become, and defers the statements that write it to the commit.
func (s *Store) writeLobbies(ctx context.Context, q *query.Queries, t *lobbyTurn) (err error) {
	w := newLobbyWrites(t.region)
	at := s.Now()
	for _, r := range t.changedRooms {
		r.finish(at)
		// It was made and has ended in this transaction, so nobody has seen it.
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
	w.queue(q.Deferred(), &t.invitedRows)
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

func newLobbyWrites(region string) (w lobbyWrites) {
	w.newLobbies.Region, w.changedLobbies.Region, w.changedDetails.Region, w.endedLobbies.Region = region, region, region, region
	w.joinedMembers.Region, w.leftMembers.Region, w.newInvitations.Region, w.logRows.Region = region, region, region, region
	w.answeredInvitations.Region, w.participantPlaces.Region, w.newInvitations.Most = region, region, maxInvitationsByPlayer
	w.newSayings.Region = region
	return w
}

// add adds the rows that a room changes. A room that ends has no others: they are deleted with it.
func (w *lobbyWrites) add(r *lobbyRoom) error {
	switch {
	case r.isEnding:
		w.endedLobbies.Uids = append(w.endedLobbies.Uids, r.uid)
		// Its last row of the log tells the members.
		return w.addLog(r)
	case r.isNew:
		w.addNew(r)
	case r.changed():
		w.addChanged(r)
	}
	if r.hasNewDetails() {
		if err := w.addDetails(r); err != nil {
			return err
		}
	}
	w.addMembers(r)
	// Only rooms that a match made have participants.
	if !slices.Equal(r.roomBefore.Participants, r.now.Participants) {
		w.participantPlaces.Uids = append(w.participantPlaces.Uids, r.uid)
		w.participantPlaces.Participants = append(w.participantPlaces.Participants, textArray(r.now.Participants))
	}
	for _, player := range r.answeredPlayers {
		w.answeredInvitations.Lobbies = append(w.answeredInvitations.Lobbies, r.uid)
		w.answeredInvitations.Players = append(w.answeredInvitations.Players, player)
	}
	w.addSayings(r)
	for _, e := range r.inviteEffects {
		p := &w.newInvitations
		p.Lobbies = append(p.Lobbies, r.uid)
		p.Projects = append(p.Projects, r.now.Project)
		p.Players = append(p.Players, e.Player)
		p.Inviters = append(p.Inviters, e.Session)
		p.InvitingPlayers = append(p.InvitingPlayers, e.Inviter)
	}
	return w.addLog(r)
}

func (w *lobbyWrites) addNew(r *lobbyRoom) {
	p, now := &w.newLobbies, &r.now
	p.Uids = append(p.Uids, r.uid)
	p.Projects = append(p.Projects, now.Project)
	p.Ids = append(p.Ids, now.ID)
	p.Types = append(p.Types, now.Type)
	p.Positions = append(p.Positions, r.lastPos())
	p.Seqs = append(p.Seqs, now.StateSeq)
	p.States = append(p.States, string(now.State.JSON()))
	p.Members = append(p.Members, int32(len(now.Members)))
	p.Joins = append(p.Joins, now.JoinCount)
	p.MaxMembers = append(p.MaxMembers, int32(now.MaxMembers))
	p.Private = append(p.Private, now.IsPrivate)
	p.Locked = append(p.Locked, now.IsLocked)
	p.Graces = append(p.Graces, now.GracePeriod.Microseconds())
	p.Empty = append(p.Empty, r.isEmpty())
	p.Said = append(p.Said, now.SaidCount)
}

func (w *lobbyWrites) addChanged(r *lobbyRoom) {
	p, now, state := &w.changedLobbies, &r.now, ""
	// The text of a state may have 64 KiB: it is sent only if the state has another number.
	if now.StateSeq != r.roomBefore.StateSeq {
		state = string(now.State.JSON())
	}
	p.Uids = append(p.Uids, r.uid)
	p.Positions = append(p.Positions, r.lastPos())
	p.Seqs = append(p.Seqs, now.StateSeq)
	p.States = append(p.States, state)
	p.Members = append(p.Members, int32(len(now.Members)))
	p.Joins = append(p.Joins, now.JoinCount)
	p.MaxMembers = append(p.MaxMembers, int32(now.MaxMembers))
	p.Private = append(p.Private, now.IsPrivate)
	p.Locked = append(p.Locked, now.IsLocked)
	p.Empty = append(p.Empty, r.isEmpty())
	p.Said = append(p.Said, now.SaidCount)
}

func (w *lobbyWrites) addDetails(r *lobbyRoom) error {
	sanctions := ""
	if len(r.now.Sanctions) > 0 {
		encoded, err := json.Marshal(r.now.Sanctions)
		if err != nil {
			return fmt.Errorf("%w: %w", errBadJSON, err)
		}
		sanctions = string(encoded)
	}
	p := &w.changedDetails
	p.Uids = append(p.Uids, r.uid)
	p.Metadata = append(p.Metadata, string(r.now.Metadata))
	p.Codes = append(p.Codes, r.now.JoinCode)
	p.Sanctions = append(p.Sanctions, sanctions)
	return nil
}

// addSayings remembers what the members have said.
func (w *lobbyWrites) addSayings(r *lobbyRoom) {
	p := &w.newSayings
	for _, e := range lobby.LastSayings(r.now.Entries) {
		p.Lobbies = append(p.Lobbies, r.uid)
		p.Numbers = append(p.Numbers, e.Number)
		p.Times = append(p.Times, time.UnixMilli(e.SaidAt))
		p.Sessions = append(p.Sessions, e.Session)
		p.Players = append(p.Players, e.Player)
		p.Data = append(p.Data, string(e.Data))
	}
}

// addMembers writes the members that are new or have changed, and deletes those that are gone.
func (w *lobbyWrites) addMembers(r *lobbyRoom) {
	if !r.hasNewMembers() {
		return
	}
	before, after := map[string]lobby.Member{}, map[string]bool{}
	for _, m := range r.roomBefore.Members {
		before[m.Session] = m
	}
	for _, m := range r.now.Members {
		after[m.Session] = true
		// A new member, one that is away or back, or one whose invitation becomes a membership.
		if before[m.Session] != m {
			p := &w.joinedMembers
			p.Lobbies = append(p.Lobbies, r.uid)
			p.Sessions = append(p.Sessions, m.Session)
			p.Players = append(p.Players, m.Player)
			p.Orders = append(p.Orders, m.JoinOrder)
			p.Away = append(p.Away, m.IsAway)
		}
	}
	// Invitations of sessions are rows of the same table.
	for _, m := range r.now.InvitedMembers {
		after[m.Session] = true
	}
	for _, all := range [][]lobby.Member{r.roomBefore.Members, r.roomBefore.InvitedMembers} {
		for _, m := range all {
			switch {
			// An invitation of a player of whom no session was known: it has a row of its own, which ends.
			case m.Session == "" && !slices.Contains(r.now.InvitedMembers, m):
				r.answeredPlayers = append(r.answeredPlayers, m.Player)
			case !after[m.Session]:
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
	w.logRows.Lobbies = append(w.logRows.Lobbies, r.uid)
	w.logRows.Positions = append(w.logRows.Positions, r.logRow.LogPos)
	w.logRows.Bodies = append(w.logRows.Bodies, body)
	return err
}

// queue defers the statements that have rows, rooms before members. Who is invited is in invited after the commit.
func (w *lobbyWrites) queue(out *tx.Pipeline, invited *[]query.InvitePlayersRow) {
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
