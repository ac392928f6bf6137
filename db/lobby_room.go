package db

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/value"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/lobby"
)

// lobbyRoom is a room that a transaction has locked, or makes.
type lobbyRoom struct {
	uid             uuid.UUID
	isNew           bool
	hasActed        bool       // an action has succeeded
	roomBefore      lobby.Room // before the transaction; of a new room, its State is that after the action that made it
	roomNow         lobby.Room // after the actions so far
	logPos          int64      // before the transaction
	inviteEffects   []lobby.Effect
	answeredPlayers []string // players whose invitations have an answer

	// Set by finish, after all actions:
	logRow         *LobbyRow // nil: the members receive nothing
	isEnding       bool
	sharedSnapshot *lobby.Snapshot // that of all answers, made with the first one
}

func newLobby(project, id string) *lobbyRoom {
	room := lobby.Room{Project: project, ID: id, IsNew: true, StateSeq: 1}
	return &lobbyRoom{uid: value.NewID(), isNew: true, roomBefore: room, roomNow: room}
}

// storedLobby returns a room as it is stored, without its members: see addMember.
func storedLobby(row query.LockLobbiesRow) (*lobbyRoom, error) {
	state, err := lobby.ParseState(row.State)
	if err != nil {
		return nil, err
	}
	room := lobby.Room{
		Project: row.Project, ID: row.ID, Type: row.Type, State: state, StateSeq: row.Seq,
		MaxMembers:  int(row.MaxMembers),
		GracePeriod: row.Grace,
		IsPrivate:   row.Private, IsLocked: row.Locked, Participants: row.Participants, Places: placesOf(row),
		JoinCount: row.Joins,
		JoinCode:  row.Code, SaidCount: row.Said,
	}
	if row.Metadata != "" {
		room.Metadata = json.RawMessage(row.Metadata)
	}
	if row.Sanctions != "" {
		if err := json.Unmarshal([]byte(row.Sanctions), &room.Sanctions); err != nil {
			return nil, err
		}
	}
	return &lobbyRoom{uid: row.Uid, logPos: row.Pos, roomBefore: room, roomNow: room}, nil
}

// placesOf returns the places of the match that made a room; nil for a room that an earlier release made.
func placesOf(row query.LockLobbiesRow) (places []lobby.Place) {
	for i, player := range row.ParticipantPlayers {
		places = append(places, lobby.Place{Player: player, SeatPlayer: row.ParticipantSeats[i]})
	}
	return places
}

func (r *lobbyRoom) hasMember(session string) bool {
	return slices.ContainsFunc(r.roomNow.Members, func(m lobby.Member) bool { return m.Session == session })
}

// addMember adds a member, or an invitation: a row without a place among the members.
func (r *lobbyRoom) addMember(row query.LobbyMembersRow) {
	m := lobby.Member{Session: row.Session, Player: row.Player, IsAway: row.Away}
	if row.JoinOrder == nil {
		r.roomBefore.InvitedMembers = append(r.roomBefore.InvitedMembers, m)
		r.roomNow.InvitedMembers = r.roomBefore.InvitedMembers
		return
	}
	m.JoinOrder = *row.JoinOrder
	r.roomBefore.Members = append(r.roomBefore.Members, m)
	r.roomNow.Members = r.roomBefore.Members
}

// runAction runs an action on a copy of the room, so that an action that fails or panics changes nothing. It returns
// what the caller gets, and the effects of this action. A shallow copy suffices but for the map of the state: actions
// replace values, Members and InvitedMembers, and append to Entries and Effects.
func (r *lobbyRoom) runAction(action lobby.Action) (answer any, effects []lobby.Effect, err error) {
	next := r.roomNow
	next.State, next.CallerAnswer = r.roomNow.State.Clone(), nil
	if err := panics.Catch(func() error { return action(&next) }); err != nil {
		return nil, nil, err
	}
	effects, answer = next.Effects[len(r.roomNow.Effects):], next.CallerAnswer
	// The members of a new room get its first state whole, in their snapshot. Only what changes afterwards is a patch.
	if r.roomNow.IsNew {
		next.IsNew, r.roomBefore.State = false, next.State.Clone()
	}
	r.roomNow = next
	return answer, effects, nil
}

// addInvitation adds an invitation, once for each player.
func (r *lobbyRoom) addInvitation(e lobby.Effect) {
	samePlayer := func(other lobby.Effect) bool { return other.Player == e.Player }
	if !slices.ContainsFunc(r.inviteEffects, samePlayer) {
		r.inviteEffects = append(r.inviteEffects, e)
	}
}

// finish decides whether the room ends with the transaction, and makes the row of its log. Call it once, after all
// actions.
func (r *lobbyRoom) finish(at time.Time) {
	// A room without grace ends with its last member.
	r.isEnding = r.roomNow.IsClosed || r.isEmpty() && r.roomNow.GracePeriod == 0
	if r.roomNow.IsClosed {
		r.removeMembers()
	}
	patch := lobby.Diff(r.roomBefore.State, r.roomNow.State)
	if len(patch) == 0 && len(r.roomNow.Entries) == 0 {
		return
	}
	r.logRow = &LobbyRow{LobbyUID: r.uid, LogPos: r.logPos + 1, WrittenAt: at, Patch: patch, Entries: r.roomNow.Entries,
		Members: r.roomNow.Members}
	if len(patch) > 0 {
		// A row with entries alone leaves the state, and so its number, as it is.
		r.roomNow.StateSeq++
		r.logRow.StateSeq = r.roomNow.StateSeq
	}
}

// removeMembers removes the members and invitations of a room that an action has closed.
func (r *lobbyRoom) removeMembers() {
	for _, m := range r.roomNow.Members {
		r.roomNow.Entries = append(r.roomNow.Entries,
			lobby.Entry{Kind: lobby.EntryLeft, Session: m.Session, Reason: "closed"})
	}
	r.roomNow.Members, r.roomNow.InvitedMembers = nil, nil
}

// hasNewRow reports whether the room's own row must be written.
func (r *lobbyRoom) hasNewRow() bool {
	return r.logRow != nil || r.hasNewMembers() || r.roomNow.IsPrivate != r.roomBefore.IsPrivate ||
		r.roomNow.IsLocked != r.roomBefore.IsLocked || r.roomNow.MaxMembers != r.roomBefore.MaxMembers
}

// hasNewDetails reports whether the row of the room's details, which few transactions change, must be written.
func (r *lobbyRoom) hasNewDetails() bool { return !lobby.EqualDetails(&r.roomBefore, &r.roomNow) }

// hasNewMembers reports whether members or invitations have changed.
func (r *lobbyRoom) hasNewMembers() bool {
	return !slices.Equal(r.roomBefore.Members, r.roomNow.Members) ||
		!slices.Equal(r.roomBefore.InvitedMembers, r.roomNow.InvitedMembers)
}

// isEmpty reports whether the room has neither members nor invited sessions. Invitations of players without a session
// keep no room.
func (r *lobbyRoom) isEmpty() bool {
	connected := func(m lobby.Member) bool { return m.Session != "" }
	return len(r.roomNow.Members) == 0 && !slices.ContainsFunc(r.roomNow.InvitedMembers, connected)
}

// lastPos returns the position of the last row of the log after the transaction.
func (r *lobbyRoom) lastPos() int64 {
	if r.logRow != nil {
		return r.logRow.LogPos
	}
	return r.logPos
}

// complete adds to an answer what all answers of the room have in common.
func (r *lobbyRoom) complete(a *LobbyAnswer) {
	if r.sharedSnapshot == nil {
		r.sharedSnapshot = &lobby.Snapshot{
			Project: r.roomNow.Project, ID: r.roomNow.ID, Type: r.roomNow.Type, LogPosition: r.lastPos(),
			StateSeq: r.roomNow.StateSeq, State: r.roomNow.State, Members: r.roomNow.Members,
		}
	}
	a.LobbyUID, a.RoomSnapshot, a.LogRow = r.uid, r.sharedSnapshot, r.logRow
	a.IsClosed, a.PreviousPos = r.isEnding, r.logPos
}
