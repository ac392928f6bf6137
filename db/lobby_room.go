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
	uid        uuid.UUID
	isNew      bool
	hasChanged bool       // an action has succeeded
	roomBefore lobby.Room // before the transaction; of a new room, its State is that after the action that made it
	now        lobby.Room // after the actions so far
	pos        int64      // before the transaction
	invites    []lobby.Effect
	answered   []string // players whose invitations have an answer

	// After all actions:
	row    *LobbyRow // nil: the members receive nothing
	ends   bool
	shared *lobby.Snapshot // of all answers
}

func newLobby(project, id string) *lobbyRoom {
	room := lobby.Room{Project: project, ID: id, New: true, Seq: 1}
	return &lobbyRoom{uid: value.NewID(), isNew: true, roomBefore: room, now: room}
}

// readLobby returns a room as it is stored. Its members are rows of their own: see addMember.
func readLobby(row query.LockLobbiesRow) (*lobbyRoom, error) {
	state, err := lobby.ParseState(row.State)
	room := lobby.Room{
		Project: row.Project, ID: row.ID, Type: row.Type, State: state, Seq: row.Seq, MaxMembers: int(row.MaxMembers),
		Grace:   row.Grace,
		Private: row.Private, IsLocked: row.Locked, Participants: row.Participants, Places: placesOf(row),
		Joins: row.Joins,
		Code:  row.Code, Said: row.Said,
	}
	if row.Metadata != "" {
		room.Metadata = json.RawMessage(row.Metadata)
	}
	if row.Sanctions != "" && err == nil {
		err = json.Unmarshal([]byte(row.Sanctions), &room.Sanctions)
	}
	return &lobbyRoom{uid: row.Uid, pos: row.Pos, roomBefore: room, now: room}, err
}

// placesOf returns whose the places of a match are; nil for the room of an earlier release.
func placesOf(row query.LockLobbiesRow) (places []lobby.Place) {
	for i, player := range row.ParticipantPlayers {
		places = append(places, lobby.Place{Player: player, Seat: row.ParticipantSeats[i]})
	}
	return places
}

func (r *lobbyRoom) has(session string) bool {
	return slices.ContainsFunc(r.now.Members, func(m lobby.Member) bool { return m.Session == session })
}

func (r *lobbyRoom) addMember(row query.LobbyMembersRow) {
	m := lobby.Member{Session: row.Session, Player: row.Player, Away: row.Away}
	if row.JoinOrder == nil {
		r.roomBefore.Invited = append(r.roomBefore.Invited, m)
		r.now.Invited = r.roomBefore.Invited
		return
	}
	m.Order = *row.JoinOrder
	r.roomBefore.Members = append(r.roomBefore.Members, m)
	r.now.Members = r.roomBefore.Members
}

// act runs an action on a copy, so that one that fails or panics leaves nothing. Values of a state are replaced and
// never changed, and so are Members and Invited; Entries and Effects are appended to.
func (r *lobbyRoom) act(action lobby.Action) (answer any, effects []lobby.Effect, err error) {
	next := r.now
	next.State, next.Answer = r.now.State.Clone(), nil
	if err := panics.Catch(func() error { return action(&next) }); err != nil {
		return nil, nil, err
	}
	effects, answer = next.Effects[len(r.now.Effects):], next.Answer
	// The members of a new room get its first state whole, in their snapshot. Only what changes afterwards is a patch.
	if r.now.New {
		next.New, r.roomBefore.State = false, next.State.Clone()
	}
	r.now = next
	return answer, effects, nil
}

func (r *lobbyRoom) invite(e lobby.Effect) {
	known := func(k lobby.Effect) bool { return k.Player == e.Player }
	if !slices.ContainsFunc(r.invites, known) {
		r.invites = append(r.invites, e)
	}
}

// finish decides what the transaction tells the members.
func (r *lobbyRoom) finish(at time.Time) {
	// A room without grace ends with its last member.
	r.ends = r.now.Closed || r.empty() && r.now.Grace == 0
	if r.now.Closed {
		r.dismiss()
	}
	patch := lobby.Diff(r.roomBefore.State, r.now.State)
	if len(patch) == 0 && len(r.now.Entries) == 0 {
		return
	}
	r.row = &LobbyRow{Lobby: r.uid, Pos: r.pos + 1, WrittenAt: at, Patch: patch, Entries: r.now.Entries,
		Members: r.now.Members}
	if len(patch) > 0 {
		// Seq numbers the states, Pos the rows of the log: a row with entries alone leaves the state as it is.
		r.now.Seq++
		r.row.Seq = r.now.Seq
	}
}

// dismiss lets the members of a room leave that its logic has closed.
func (r *lobbyRoom) dismiss() {
	for _, m := range r.now.Members {
		r.now.Entries = append(r.now.Entries, lobby.Entry{Kind: lobby.EntryLeft, Session: m.Session, Reason: "closed"})
	}
	r.now.Members, r.now.Invited = nil, nil
}

// changed reports whether the room's own row must be written.
func (r *lobbyRoom) changed() bool {
	return r.row != nil || r.joined() || r.now.Private != r.roomBefore.Private ||
		r.now.IsLocked != r.roomBefore.IsLocked || r.now.MaxMembers != r.roomBefore.MaxMembers
}

// hasNewDetails reports whether what few transactions change has to be written.
func (r *lobbyRoom) hasNewDetails() bool { return !lobby.EqualDetails(&r.roomBefore, &r.now) }

// joined reports whether members or invitations have changed.
func (r *lobbyRoom) joined() bool {
	return !slices.Equal(r.roomBefore.Members, r.now.Members) || !slices.Equal(r.roomBefore.Invited, r.now.Invited)
}

// empty reports whether the room has neither members nor connected players that are invited.
func (r *lobbyRoom) empty() bool {
	connected := func(m lobby.Member) bool { return m.Session != "" }
	return len(r.now.Members) == 0 && !slices.ContainsFunc(r.now.Invited, connected)
}

func (r *lobbyRoom) lastPos() int64 {
	if r.row != nil {
		return r.row.Pos
	}
	return r.pos
}

// complete adds to an answer what all answers of the room have in common.
func (r *lobbyRoom) complete(a *LobbyAnswer) {
	if r.shared == nil {
		r.shared = &lobby.Snapshot{
			Project: r.now.Project, ID: r.now.ID, Type: r.now.Type, Pos: r.lastPos(), Seq: r.now.Seq,
			State: r.now.State, Members: r.now.Members,
		}
	}
	a.Lobby, a.Room, a.Row, a.Closed, a.Previous = r.uid, r.shared, r.row, r.ends, r.pos
}
