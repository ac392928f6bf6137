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

// matchRooms are the rooms of the realtime lobby that a transaction makes for matches, whose sessions it invites.
type matchRooms struct {
	roomsByRegion map[string]*madeRooms // by region
	ends          query.EndSessionsWaitingParams

	otherSessions map[string][]string // further sessions whose replicas wake after the commit, by region
}

type madeRooms struct {
	rooms   query.InsertMatchLobbiesParams
	members query.InviteParticipantsParams
}

func newMatchRooms(universe string) *matchRooms {
	return &matchRooms{roomsByRegion: map[string]*madeRooms{}, otherSessions: map[string][]string{},
		ends: query.EndSessionsWaitingParams{TicketRegion: universe}}
}

// writeRooms defers the rooms of the matches with tickets of sessions.
func (t *matchTx) writeRooms() {
	if len(t.locks.waiting) == 0 {
		return
	}
	t.rooms = newMatchRooms(t.universe)
	for i, sessions := range t.waitingByMatch() {
		s := t.seated[i]
		m := matchedRoom{id: s.ID, gameRegion: s.placement.Region, session: s.session}
		m.Matched = lobby.Matched{MatchID: s.ID.String(), Profile: s.Profile, Size: len(s.subs),
			Server: serverOf(s.placement)}
		t.rooms.add(t.Store, m, sessions)
	}
	t.rooms.write(t.q)
}

// waitingByMatch returns the sessions that wait with the tickets of each seated match, in the order of the queue.
func (t *matchTx) waitingByMatch() [][]query.WaitingOfTicketsRow {
	matches := map[string]int{} // by ticket
	for i, s := range t.seated {
		for _, ticket := range s.ticketIDs() {
			matches[ticket] = i
		}
	}
	sessions := make([][]query.WaitingOfTicketsRow, len(t.seated))
	for _, w := range t.locks.waiting {
		if i, ok := matches[w.Ticket]; ok {
			sessions[i] = append(sessions[i], w)
		}
	}
	return sessions
}

// askSessions wakes, after the commit, the replicas of sessions that wait with proposed tickets: their clients have to
// accept.
func (t *matchTx) askSessions(tickets []string) {
	t.rooms = newMatchRooms(t.universe)
	for _, w := range t.locks.waiting {
		if slices.Contains(tickets, w.Ticket) {
			t.rooms.wake(w.Region, w.Session)
		}
	}
}

// matchedRoom is a match for which a room is made.
type matchedRoom struct {
	lobby.Matched

	id         uuid.UUID // of the match
	gameRegion string    // of the director's session; "": it has none
	session    uuid.UUID // of the director
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
		m.Project, m.Type, m.ID = first.Project, first.RoomType, matchRoomID(first.RoomType, m.id)
		m.Participants, m.Seats = nil, nil
		// The realtime lobby asks for rooms of a size, whatever number of players has come together.
		if IsRealtimeProfile(m.Profile) {
			m.Size = int(first.Size)
		}
		for _, w := range sessions {
			if here(w) {
				m.Participants = append(m.Participants, lobby.Member{Session: w.Session, Player: w.Player})
				m.Seats = append(m.Seats, w.Sub)
				addSessionWaitingToEnd(&r.ends, w.Ticket, m.id, m.ID)
			}
		}
		if r.roomsByRegion[first.Region] == nil {
			r.roomsByRegion[first.Region] = newMadeRooms(first.Region)
		}
		r.roomsByRegion[first.Region].add(m, s.cfg.Rooms.Matched(m.Matched)())
		sessions = slices.DeleteFunc(slices.Clone(sessions), here)
	}
}

func newMadeRooms(region string) *madeRooms {
	return &madeRooms{query.InsertMatchLobbiesParams{Region: region}, query.InviteParticipantsParams{Region: region}}
}

// add adds the room that the sessions of a match get, and their invitations.
func (p *madeRooms) add(m matchedRoom, room *lobby.Room) {
	r, uid := &p.rooms, value.NewID()
	r.Uids, r.Projects, r.Ids, r.Types = append(r.Uids, uid), append(r.Projects, room.Project), append(r.Ids,
		room.ID), append(r.Types, room.Type)
	r.States, r.Seqs, r.MaxMembers = append(r.States, string(room.State.JSON())), append(r.Seqs,
		room.Seq), append(r.MaxMembers, int32(room.MaxMembers))
	r.Private, r.Graces = append(r.Private, room.Private), append(r.Graces, room.Grace)
	r.Matches, r.Sizes, r.Participants = append(r.Matches, m.id), append(r.Sizes, int32(m.Size)), append(r.Participants,
		textArray(room.Participants))
	players, seats := make([]string, len(room.Places)), make([]string, len(room.Places))
	for i, place := range room.Places {
		players[i], seats[i] = place.Player, place.Seat
	}
	r.ParticipantPlayers = append(r.ParticipantPlayers, textArray(players))
	r.ParticipantSeats = append(r.ParticipantSeats, textArray(seats))
	r.GameRegions, r.Sessions = append(r.GameRegions, m.gameRegion), append(r.Sessions, m.session)
	for _, k := range room.Invited {
		i := &p.members
		i.Lobbies, i.Projects = append(i.Lobbies, uid), append(i.Projects, room.Project)
		i.Sessions, i.Players = append(i.Sessions, k.Session), append(i.Players, k.Player)
	}
}

func addSessionWaitingToEnd(p *query.EndSessionsWaitingParams, ticket string, match uuid.UUID, room string) {
	if !slices.Contains(p.Tickets, ticket) {
		p.Tickets, p.Matches, p.Rooms = append(p.Tickets, ticket), append(p.Matches, match), append(p.Rooms, room)
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
		query.QueueExec(out, (*query.Queries).InsertMatchLobbies, r.roomsByRegion[region].rooms)
		query.QueueExec(out, (*query.Queries).InviteParticipants, r.roomsByRegion[region].members)
	}
	if len(r.ends.Tickets) > 0 {
		query.QueueExec(out, (*query.Queries).EndSessionsWaiting, r.ends)
	}
}

// announce wakes the replicas of the invited sessions, after the commit.
func (r *matchRooms) announce(s *Store) {
	if r == nil {
		return
	}
	for region, made := range r.roomsByRegion {
		s.notifyRealtime(region, made.members.Sessions...)
	}
	for region, sessions := range r.otherSessions {
		s.notifyRealtime(region, sessions...)
	}
}

// wake adds a session whose replica wakes after the commit.
func (r *matchRooms) wake(region, session string) {
	r.otherSessions[region] = append(r.otherSessions[region], session)
}
