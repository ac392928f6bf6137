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
	hasChanged      bool       // an action has succeeded
	roomBefore      lobby.Room // before the transaction; of a new room, its State is that after the action that made it
	now             lobby.Room // after the actions so far
	logPos          int64      // before the transaction
	inviteEffects   []lobby.Effect
	answeredPlayers []string // players whose invitations have an answer

	// After all actions:
	logRow         *LobbyRow // nil: the members receive nothing
	isEnding       bool
	sharedSnapshot *lobby.Snapshot // of all answers
}

func newLobby(project, id string) *lobbyRoom {
	room := lobby.Room{Project: project, ID: id, IsNew: true, StateSeq: 1}
	return &lobbyRoom{uid: value.NewID(), isNew: true, roomBefore: room, now: room}
}

// readLobby returns a room as it is stored. Its members are rows of their own: see addMember.
func readLobby(row query.LockLobbiesRow) (*lobbyRoom, error) {
	state, err := lobby.ParseState(row.State)
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
	if row.Sanctions != "" && err == nil {
		err = json.Unmarshal([]byte(row.Sanctions), &room.Sanctions)
	}
	return &lobbyRoom{uid: row.Uid, logPos: row.Pos, roomBefore: room, now: room}, err
}

// placesOf returns whose the places of a match are; nil for the room of an earlier release.
func placesOf(row query.LockLobbiesRow) (places []lobby.Place) {
	for i, player := range row.ParticipantPlayers {
		places = append(places, lobby.Place{Player: player, SeatPlayer: row.ParticipantSeats[i]})
	}
	return places
}

func (r *lobbyRoom) hasMember(session string) bool {
	return slices.ContainsFunc(r.now.Members, func(m lobby.Member) bool { return m.Session == session })
}

func (r *lobbyRoom) addMember(row query.LobbyMembersRow) {
	m := lobby.Member{Session: row.Session, Player: row.Player, IsAway: row.Away}
	if row.JoinOrder == nil {
		r.roomBefore.InvitedMembers = append(r.roomBefore.InvitedMembers, m)
		r.now.InvitedMembers = r.roomBefore.InvitedMembers
		return
	}
	m.JoinOrder = *row.JoinOrder
	r.roomBefore.Members = append(r.roomBefore.Members, m)
	r.now.Members = r.roomBefore.Members
}

// runAction runs an action on a copy, so that one that fails or panics leaves nothing. Values of a state are replaced
// and never changed, and so are Members and Invited; Entries and Effects are appended to.
func (r *lobbyRoom) runAction(action lobby.Action) (answer any, effects []lobby.Effect, err error) {
	next := r.now
	next.State, next.CallerAnswer = r.now.State.Clone(), nil
	if err := panics.Catch(func() error { return action(&next) }); err != nil {
		return nil, nil, err
	}
	effects, answer = next.Effects[len(r.now.Effects):], next.CallerAnswer
	// The members of a new room get its first state whole, in their snapshot. Only what changes afterwards is a patch.
	if r.now.IsNew {
		next.IsNew, r.roomBefore.State = false, next.State.Clone()
	}
	r.now = next
	return answer, effects, nil
}

func (r *lobbyRoom) invite(e lobby.Effect) {
	known := func(k lobby.Effect) bool { return k.Player == e.Player }
	if !slices.ContainsFunc(r.inviteEffects, known) {
		r.inviteEffects = append(r.inviteEffects, e)
	}
}

// finish decides what the transaction tells the members.
func (r *lobbyRoom) finish(at time.Time) {
	// A room without grace ends with its last member.
	r.isEnding = r.now.IsClosed || r.isEmpty() && r.now.GracePeriod == 0
	if r.now.IsClosed {
		r.dismiss()
	}
	patch := lobby.Diff(r.roomBefore.State, r.now.State)
	if len(patch) == 0 && len(r.now.Entries) == 0 {
		return
	}
	r.logRow = &LobbyRow{LobbyUID: r.uid, LogPos: r.logPos + 1, WrittenAt: at, Patch: patch, Entries: r.now.Entries,
		Members: r.now.Members}
	if len(patch) > 0 {
		// Seq numbers the states, Pos the rows of the log: a row with entries alone leaves the state as it is.
		r.now.StateSeq++
		r.logRow.StateSeq = r.now.StateSeq
	}
}

// dismiss lets the members of a room leave that its logic has closed.
func (r *lobbyRoom) dismiss() {
	for _, m := range r.now.Members {
		r.now.Entries = append(r.now.Entries, lobby.Entry{Kind: lobby.EntryLeft, Session: m.Session, Reason: "closed"})
	}
	r.now.Members, r.now.InvitedMembers = nil, nil
}

// changed reports whether the room's own row must be written.
func (r *lobbyRoom) changed() bool {
	return r.logRow != nil || r.hasNewMembers() || r.now.IsPrivate != r.roomBefore.IsPrivate ||
		r.now.IsLocked != r.roomBefore.IsLocked || r.now.MaxMembers != r.roomBefore.MaxMembers
}

// hasNewDetails reports whether what few transactions change has to be written.
func (r *lobbyRoom) hasNewDetails() bool { return !lobby.EqualDetails(&r.roomBefore, &r.now) }

// hasNewMembers reports whether members or invitations have changed.
func (r *lobbyRoom) hasNewMembers() bool {
	return !slices.Equal(r.roomBefore.Members, r.now.Members) ||
		!slices.Equal(r.roomBefore.InvitedMembers, r.now.InvitedMembers)
}

// isEmpty reports whether the room has neither members nor connected players that are invited.
func (r *lobbyRoom) isEmpty() bool {
	connected := func(m lobby.Member) bool { return m.Session != "" }
	return len(r.now.Members) == 0 && !slices.ContainsFunc(r.now.InvitedMembers, connected)
}

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
			Project: r.now.Project, ID: r.now.ID, Type: r.now.Type, LogPosition: r.lastPos(), StateSeq: r.now.StateSeq,
			State: r.now.State, Members: r.now.Members,
		}
	}
	a.LobbyUID, a.RoomSnapshot, a.LogRow, a.IsClosed, a.PreviousPos = r.uid, r.sharedSnapshot, r.logRow, r.isEnding, r.logPos
}
