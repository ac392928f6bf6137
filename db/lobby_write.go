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
		if r.isNew && r.ends {
			continue
		}
		if err := w.add(r); err != nil {
			return err
		}
		if r.row != nil || r.ends {
			t.keys = append(t.keys, r.uid.String())
		}
	}
	w.queue(q.Deferred(), &t.invited)
	if len(t.queue) == 0 {
		return nil
	}
	if cancelled := t.cancelled(); len(cancelled) > 0 {
		query.Queue(q.Deferred(), &t.matched, (*query.Queries).MatchedLobbies,
			query.MatchedLobbiesParams{Region: t.region, Lobbies: cancelled})
	}
	t.queued, err = s.queueLobby(ctx, q, t.region, t.queue)
	return err
}

// lobbyWrites are the parameters of the statements that write the rooms of a transaction.
type lobbyWrites struct {
	insert query.InsertLobbiesParams
	put    query.PutLobbiesParams
	detail query.PutLobbyDetailsParams
	end    query.DeleteLobbiesParams
	join   query.PutLobbyMembersParams
	leave  query.DeleteLobbyMembersParams
	invite query.InvitePlayersParams
	answer query.AnswerInvitationsParams
	places query.PutParticipantsParams
	say    query.PutLobbySayingsParams
	log    query.InsertLobbyLogParams
}

// maxInvitationsByPlayer bounds the invitations of a player in five minutes, over all rooms of a project.
const maxInvitationsByPlayer = 64

func newLobbyWrites(region string) (w lobbyWrites) {
	w.insert.Region, w.put.Region, w.detail.Region, w.end.Region = region, region, region, region
	w.join.Region, w.leave.Region, w.invite.Region, w.log.Region = region, region, region, region
	w.answer.Region, w.places.Region, w.invite.Most = region, region, maxInvitationsByPlayer
	w.say.Region = region
	return w
}

// add adds the rows that a room changes. A room that ends has no others: they are deleted with it.
func (w *lobbyWrites) add(r *lobbyRoom) error {
	switch {
	case r.ends:
		w.end.Uids = append(w.end.Uids, r.uid)
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
		w.places.Uids = append(w.places.Uids, r.uid)
		w.places.Participants = append(w.places.Participants, textArray(r.now.Participants))
	}
	for _, player := range r.answered {
		w.answer.Lobbies, w.answer.Players = append(w.answer.Lobbies, r.uid), append(w.answer.Players, player)
	}
	w.addSayings(r)
	for _, e := range r.invites {
		p := &w.invite
		p.Lobbies, p.Projects, p.Players = append(p.Lobbies, r.uid), append(p.Projects, r.now.Project),
			append(p.Players, e.Player)
		p.Inviters, p.InvitingPlayers = append(p.Inviters, e.Session), append(p.InvitingPlayers, e.Inviter)
	}
	return w.addLog(r)
}

func (w *lobbyWrites) addNew(r *lobbyRoom) {
	p, now := &w.insert, &r.now
	p.Uids, p.Projects, p.Ids, p.Types = append(p.Uids, r.uid), append(p.Projects, now.Project), append(p.Ids,
		now.ID), append(p.Types, now.Type)
	p.Positions, p.Seqs, p.States = append(p.Positions, r.lastPos()), append(p.Seqs, now.Seq), append(p.States,
		string(now.State.JSON()))
	p.Members, p.Joins, p.MaxMembers = append(p.Members, int32(len(now.Members))), append(p.Joins,
		now.Joins), append(p.MaxMembers, int32(now.MaxMembers))
	p.Private, p.Locked = append(p.Private, now.Private), append(p.Locked, now.IsLocked)
	p.Graces, p.Empty = append(p.Graces, now.Grace.Microseconds()), append(p.Empty, r.empty())
	p.Said = append(p.Said, now.Said)
}

func (w *lobbyWrites) addChanged(r *lobbyRoom) {
	p, now, state := &w.put, &r.now, ""
	// The text of a state may have 64 KiB: it is sent only if the state has another number.
	if now.Seq != r.roomBefore.Seq {
		state = string(now.State.JSON())
	}
	p.Uids, p.Positions, p.Seqs, p.States = append(p.Uids, r.uid), append(p.Positions, r.lastPos()), append(p.Seqs,
		now.Seq), append(p.States, state)
	p.Members, p.Joins, p.MaxMembers = append(p.Members, int32(len(now.Members))), append(p.Joins,
		now.Joins), append(p.MaxMembers, int32(now.MaxMembers))
	p.Private, p.Locked, p.Empty = append(p.Private, now.Private), append(p.Locked, now.IsLocked), append(p.Empty,
		r.empty())
	p.Said = append(p.Said, now.Said)
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
	p := &w.detail
	p.Uids, p.Metadata = append(p.Uids, r.uid), append(p.Metadata, string(r.now.Metadata))
	p.Codes, p.Sanctions = append(p.Codes, r.now.Code), append(p.Sanctions, sanctions)
	return nil
}

// addSayings remembers what the members have said.
func (w *lobbyWrites) addSayings(r *lobbyRoom) {
	p := &w.say
	for _, e := range lobby.Sayings(r.now.Entries) {
		p.Lobbies, p.Numbers, p.Times = append(p.Lobbies, r.uid), append(p.Numbers, e.Number), append(p.Times,
			time.UnixMilli(e.SaidAt))
		p.Sessions, p.Players, p.Data = append(p.Sessions, e.Session), append(p.Players, e.Player), append(p.Data,
			string(e.Data))
	}
}

// addMembers writes the members that are new or have changed, and deletes those that are gone.
func (w *lobbyWrites) addMembers(r *lobbyRoom) {
	if !r.joined() {
		return
	}
	before, after := map[string]lobby.Member{}, map[string]bool{}
	for _, m := range r.roomBefore.Members {
		before[m.Session] = m
	}
	for _, m := range r.now.Members {
		after[m.Session] = true
		if before[m.Session] != m {
			p := &w.join
			p.Lobbies, p.Sessions, p.Players = append(p.Lobbies, r.uid), append(p.Sessions,
				m.Session), append(p.Players, m.Player)
			p.Orders, p.Away = append(p.Orders, m.Order), append(p.Away, m.Away)
		}
	}
	// Invitations of sessions are rows of the same table.
	for _, m := range r.now.Invited {
		after[m.Session] = true
	}
	for _, all := range [][]lobby.Member{r.roomBefore.Members, r.roomBefore.Invited} {
		for _, m := range all {
			switch {
			// An invitation of a player of whom no session was known: it has a row of its own, which ends.
			case m.Session == "" && !slices.Contains(r.now.Invited, m):
				r.answered = append(r.answered, m.Player)
			case !after[m.Session]:
				w.leave.Lobbies, w.leave.Sessions = append(w.leave.Lobbies, r.uid), append(w.leave.Sessions, m.Session)
			}
		}
	}
}

func (w *lobbyWrites) addLog(r *lobbyRoom) error {
	if r.row == nil {
		return nil
	}
	body, err := encodeLobbyRow(*r.row)
	w.log.Lobbies, w.log.Positions, w.log.Bodies = append(w.log.Lobbies, r.uid), append(w.log.Positions,
		r.row.Pos), append(w.log.Bodies, body)
	return err
}

// queue defers the statements that have rows, rooms before members. Who is invited is in invited after the commit.
func (w *lobbyWrites) queue(out *tx.Pipeline, invited *[]query.InvitePlayersRow) {
	deferRows(out, len(w.insert.Uids), (*query.Queries).InsertLobbies, w.insert)
	deferRows(out, len(w.put.Uids), (*query.Queries).PutLobbies, w.put)
	deferRows(out, len(w.detail.Uids), (*query.Queries).PutLobbyDetails, w.detail)
	deferRows(out, len(w.end.Uids), (*query.Queries).DeleteLobbies, w.end)
	deferRows(out, len(w.end.Uids), (*query.Queries).DeleteMembersOfLobbies, query.DeleteMembersOfLobbiesParams(w.end))
	deferRows(out, len(w.leave.Lobbies), (*query.Queries).DeleteLobbyMembers, w.leave)
	deferRows(out, len(w.places.Uids), (*query.Queries).PutParticipants, w.places)
	deferRows(out, len(w.answer.Lobbies), (*query.Queries).AnswerInvitations, w.answer)
	deferRows(out, len(w.join.Lobbies), (*query.Queries).PutLobbyMembers, w.join)
	if len(w.invite.Lobbies) > 0 {
		query.Queue(out, invited, (*query.Queries).InvitePlayers, w.invite)
	}
	deferRows(out, len(w.say.Lobbies), (*query.Queries).PutLobbySayings, w.say)
	deferRows(out, len(w.log.Lobbies), (*query.Queries).InsertLobbyLog, w.log)
}

// deferRows adds a statement for a number of rows to a pipeline, unless there are none.
func deferRows[Arg any](p *tx.Pipeline, rows int, statement func(*query.Queries, context.Context, Arg) error, arg Arg) {
	if rows > 0 {
		query.QueueExec(p, statement, arg)
	}
}
