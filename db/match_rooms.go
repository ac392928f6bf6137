package db

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/value"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/lobby"
)

func newMatchRooms(universe string) *matchRooms {
	return &matchRooms{roomsByRegion: map[string]*madeRooms{}, otherSessions: map[string][]string{},
		endedWaits: query.EndSessionsWaitingParams{TicketRegion: universe}}
}

// writeRooms defers the rooms of matches with tickets of sessions of the realtime lobby.
func (t *matchTx) writeRooms() {
	if len(t.heldLocks.waitingSessions) == 0 {
		return
	}
	t.lobbyRooms = newMatchRooms(t.committer.universe)
	for i, sessions := range t.waitingByMatch() {
		s := t.seatedMatches[i]
		m := matchedRoom{matchID: s.call.match.ID, gameRegion: s.placement.Region, sessionID: s.sessionID,
			lobbyMatch: lobby.Matched{MatchID: s.call.match.ID.String(), Profile: s.call.match.Profile,
				AskedSize: len(s.call.playerSubs), GameServer: serverOf(s.placement)}}
		t.lobbyRooms.addMatch(t.committer.store, m, sessions)
	}
	t.lobbyRooms.write(t.q)
}

// waitingByMatch returns the sessions that wait with the tickets of each seated match, in the order of the queue.
func (t *matchTx) waitingByMatch() [][]query.WaitingOfTicketsRow {
	matches := map[string]int{} // by ticket
	for i, s := range t.seatedMatches {
		for _, ticket := range s.call.match.ticketIDs() {
			matches[ticket] = i
		}
	}
	sessions := make([][]query.WaitingOfTicketsRow, len(t.seatedMatches))
	for _, w := range t.heldLocks.waitingSessions {
		if i, ok := matches[w.Ticket]; ok {
			sessions[i] = append(sessions[i], w)
		}
	}
	return sessions
}

// addSessionsToAsk adds the sessions that wait with proposed tickets to those that wakeReplicas wakes after the commit,
// since their clients have to accept.
func (t *matchTx) addSessionsToAsk(tickets []string) {
	t.lobbyRooms = newMatchRooms(t.committer.universe)
	for _, w := range t.heldLocks.waitingSessions {
		if slices.Contains(tickets, w.Ticket) {
			t.lobbyRooms.addSessionToWake(w.Region, w.Session)
		}
	}
}

// matchedRoom is a match for which rooms are made.
type matchedRoom struct {
	matchID    uuid.UUID
	gameRegion string        // of the director's session; "": the match has none
	sessionID  uuid.UUID     // the director's session; uuid.Nil: the match has none
	lobbyMatch lobby.Matched // what a room is made from
}

// serverOf returns what members of a match's room see of its game server; nil for a match without a session.
func serverOf(p Placement) *lobby.Server {
	if p == (Placement{}) {
		return nil
	}
	return &lobby.Server{Endpoint: p.Endpoint, SessionID: p.SessionID, SessionHandle: p.SessionHandle, Region: p.Region,
		Mode: p.Mode}
}

// addMatch adds the rooms of a match, one in each project of its sessions, which are in the order of the queue. A room
// has the type that its first session asked for.
func (r *matchRooms) addMatch(s *Store, m matchedRoom, sessions []query.WaitingOfTicketsRow) {
	for len(sessions) > 0 {
		first := sessions[0]
		isOfRoom := func(w query.WaitingOfTicketsRow) bool {
			return w.Region == first.Region && w.Project == first.Project
		}
		m.lobbyMatch.Project, m.lobbyMatch.Type = first.Project, first.RoomType
		m.lobbyMatch.ID = matchRoomID(first.RoomType, m.matchID)
		m.lobbyMatch.Participants, m.lobbyMatch.Seats = nil, nil
		// The realtime lobby asks for rooms of a size, whatever number of players has come together.
		if IsRealtimeProfile(m.lobbyMatch.Profile) {
			m.lobbyMatch.AskedSize = int(first.Size)
		}
		for _, w := range sessions {
			if isOfRoom(w) {
				m.lobbyMatch.Participants = append(m.lobbyMatch.Participants,
					lobby.Member{Session: w.Session, Player: w.Player})
				m.lobbyMatch.Seats = append(m.lobbyMatch.Seats, w.Sub)
				addSessionWaitingToEnd(&r.endedWaits, w.Ticket, m.matchID, m.lobbyMatch.ID)
			}
		}
		if r.roomsByRegion[first.Region] == nil {
			r.roomsByRegion[first.Region] = newMadeRooms(first.Region)
		}
		r.roomsByRegion[first.Region].add(m, s.cfg.RoomTypes.MatchRoom(m.lobbyMatch)())
		sessions = slices.DeleteFunc(slices.Clone(sessions), isOfRoom)
	}
}

func newMadeRooms(region string) *madeRooms {
	return &madeRooms{query.InsertMatchLobbiesParams{Region: region}, query.InviteParticipantsParams{Region: region}}
}

// add adds a room of a match, and the invitations of its sessions.
func (p *madeRooms) add(m matchedRoom, room *lobby.Room) {
	r, uid := &p.newLobbies, value.NewID()
	r.Uids = append(r.Uids, uid)
	r.Projects = append(r.Projects, room.Project)
	r.Ids = append(r.Ids, room.ID)
	r.Types = append(r.Types, room.Type)
	r.States = append(r.States, string(room.State.JSON()))
	r.Seqs = append(r.Seqs, room.StateSeq)
	r.MaxMembers = append(r.MaxMembers, int32(room.MaxMembers))
	r.Private = append(r.Private, room.IsPrivate)
	r.Graces = append(r.Graces, room.GracePeriod)
	r.Matches = append(r.Matches, m.matchID)
	r.Sizes = append(r.Sizes, int32(m.lobbyMatch.AskedSize))
	r.Participants = append(r.Participants, textArray(room.Participants))
	players, seats := make([]string, len(room.Places)), make([]string, len(room.Places))
	for i, place := range room.Places {
		players[i], seats[i] = place.Player, place.SeatPlayer
	}
	r.ParticipantPlayers = append(r.ParticipantPlayers, textArray(players))
	r.ParticipantSeats = append(r.ParticipantSeats, textArray(seats))
	r.GameRegions = append(r.GameRegions, m.gameRegion)
	r.Sessions = append(r.Sessions, m.sessionID)
	for _, k := range room.InvitedMembers {
		i := &p.invitedMembers
		i.Lobbies = append(i.Lobbies, uid)
		i.Projects = append(i.Projects, room.Project)
		i.Sessions = append(i.Sessions, k.Session)
		i.Players = append(i.Players, k.Player)
	}
}

// addSessionWaitingToEnd adds a ticket with which sessions wait no more, once.
func addSessionWaitingToEnd(p *query.EndSessionsWaitingParams, ticket string, match uuid.UUID, room string) {
	if !slices.Contains(p.Tickets, ticket) {
		p.Tickets = append(p.Tickets, ticket)
		p.Matches = append(p.Matches, match)
		p.Rooms = append(p.Rooms, room)
	}
}

// matchRoomID returns the id of a match's room, in the form that Nexis gives such ids.
func matchRoomID(roomType string, match uuid.UUID) string {
	return fmt.Sprintf("%s:match:%x", roomType, match[:])
}

// write defers the statements of the rooms to the commit. They wait for no lock: the rooms are new.
func (r *matchRooms) write(q *query.Queries) {
	out := q.Deferred()
	for _, region := range slices.Sorted(maps.Keys(r.roomsByRegion)) {
		query.QueueExec(out, (*query.Queries).InsertMatchLobbies, r.roomsByRegion[region].newLobbies)
		query.QueueExec(out, (*query.Queries).InviteParticipants, r.roomsByRegion[region].invitedMembers)
	}
	if len(r.endedWaits.Tickets) > 0 {
		query.QueueExec(out, (*query.Queries).EndSessionsWaiting, r.endedWaits)
	}
}

// wakeReplicas wakes the replicas of the invited sessions and of those of addSessionToWake. Call it after the commit.
func (r *matchRooms) wakeReplicas(s *Store) {
	if r == nil {
		return
	}
	for region, made := range r.roomsByRegion {
		s.notifyRealtime(region, made.invitedMembers.Sessions...)
	}
	for region, sessions := range r.otherSessions {
		s.notifyRealtime(region, sessions...)
	}
}

// addSessionToWake adds a session whose replica wakeReplicas wakes.
func (r *matchRooms) addSessionToWake(region, session string) {
	r.otherSessions[region] = append(r.otherSessions[region], session)
}
