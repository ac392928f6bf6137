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

// writeRooms defers the rooms of the matches with tickets of sessions.
func (t *matchTx) writeRooms() {
	// No ticket of these matches is of a session of the realtime lobby.
	if len(t.heldLocks.waitingSessions) == 0 {
		return
	}
	t.lobbyRooms = newMatchRooms(t.committer.universe)
	for i, sessions := range t.waitingByMatch() {
		s := t.seatedMatches[i]
		m := matchedRoom{matchID: s.call.match.ID, gameRegion: s.placement.Region, sessionID: s.sessionID}
		m.matched = lobby.Matched{MatchID: s.call.match.ID.String(), Profile: s.call.match.Profile,
			AskedSize:  len(s.call.playerSubs),
			GameServer: serverOf(s.placement)}
		t.lobbyRooms.add(t.committer.store, m, sessions)
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

// askSessions wakes, after the commit, the replicas of sessions that wait with proposed tickets: their clients have to
// accept.
func (t *matchTx) askSessions(tickets []string) {
	t.lobbyRooms = newMatchRooms(t.committer.universe)
	for _, w := range t.heldLocks.waitingSessions {
		if slices.Contains(tickets, w.Ticket) {
			t.lobbyRooms.wake(w.Region, w.Session)
		}
	}
}

// matchedRoom is a match for which a room is made.
type matchedRoom struct {
	matched lobby.Matched

	matchID    uuid.UUID // of the match
	gameRegion string    // of the director's session; "": it has none
	sessionID  uuid.UUID // of the director
}

// serverOf returns what members of a match's room see of its server; nil for a match without one.
func serverOf(p Placement) *lobby.Server {
	if p == (Placement{}) {
		return nil
	}
	return &lobby.Server{Endpoint: p.Endpoint, SessionID: p.SessionID, SessionHandle: p.SessionHandle, Region: p.Region,
		Mode: p.Mode}
}

// add adds the rooms of a match, one in each project of its sessions, which are in the order of the queue. Its type is
// the one that the first asked for.
func (r *matchRooms) add(s *Store, m matchedRoom, sessions []query.WaitingOfTicketsRow) {
	for len(sessions) > 0 {
		first := sessions[0]
		here := func(w query.WaitingOfTicketsRow) bool { return w.Region == first.Region && w.Project == first.Project }
		m.matched.Project, m.matched.Type, m.matched.ID = first.Project, first.RoomType, matchRoomID(first.RoomType,
			m.matchID)
		m.matched.Participants, m.matched.Seats = nil, nil
		// The realtime lobby asks for rooms of a size, whatever number of players has come together.
		if IsRealtimeProfile(m.matched.Profile) {
			m.matched.AskedSize = int(first.Size)
		}
		for _, w := range sessions {
			if here(w) {
				m.matched.Participants = append(m.matched.Participants,
					lobby.Member{Session: w.Session, Player: w.Player})
				m.matched.Seats = append(m.matched.Seats, w.Sub)
				addSessionWaitingToEnd(&r.endedWaits, w.Ticket, m.matchID, m.matched.ID)
			}
		}
		if r.roomsByRegion[first.Region] == nil {
			r.roomsByRegion[first.Region] = newMadeRooms(first.Region)
		}
		r.roomsByRegion[first.Region].add(m, s.cfg.RoomTypes.MatchRoom(m.matched)())
		sessions = slices.DeleteFunc(slices.Clone(sessions), here)
	}
}

func newMadeRooms(region string) *madeRooms {
	return &madeRooms{query.InsertMatchLobbiesParams{Region: region}, query.InviteParticipantsParams{Region: region}}
}

// add adds the room that the sessions of a match get, and their invitations.
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
	r.Sizes = append(r.Sizes, int32(m.matched.AskedSize))
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

func addSessionWaitingToEnd(p *query.EndSessionsWaitingParams, ticket string, match uuid.UUID, room string) {
	if !slices.Contains(p.Tickets, ticket) {
		p.Tickets = append(p.Tickets, ticket)
		p.Matches = append(p.Matches, match)
		p.Rooms = append(p.Rooms, room)
	}
}

// matchRoomID returns the id of a match's room, as Nexis makes them.
func matchRoomID(roomType string, match uuid.UUID) string {
	return fmt.Sprintf("%s:match:%x", roomType, match[:])
}

// write defers the rooms to the commit. They lock nothing.
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

// announce wakes the replicas of the invited sessions, after the commit.
func (r *matchRooms) announce(s *Store) {
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

// wake adds a session whose replica wakes after the commit.
func (r *matchRooms) wake(region, session string) {
	r.otherSessions[region] = append(r.otherSessions[region], session)
}
