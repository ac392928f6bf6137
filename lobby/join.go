package lobby

import (
	"slices"
	"time"
)

// Join is a session that joins a room. If there is no room of the id, a new one of RoomType is made.
type Join struct {
	RoomType, Session, Player string
	Options                   Options
	RoomCode                  string    // the code that the client sent, which admits to a private room; "": none
	AskedAt                   time.Time // for sanctions that end; zero: none has ended
}

// reasonReplaced is why a session leaves whose place another session of its player has taken.
const reasonReplaced = "replaced"

// oncePerPlayer is a logic whose rooms have a player once: a second session of the player takes the place of the first.
type oncePerPlayer interface{ admitsPlayerOnce() }

// heir is a logic whose state says something of each member. succeedMember transfers that from the session old to m,
// the session of the same player that has taken its place in the room.
type heir interface {
	succeedMember(r *Room, old, m Member, o Options) error
}

// JoinRoom returns the action by which a session becomes a member. For a member it changes nothing.
func (t *Types) JoinRoom(j Join) Action {
	return boundedAction(func(r *Room) error {
		// Not r.IsNew: an earlier action of the same transaction may have made the room.
		made := r.Type == ""
		if made {
			if err := t.openRoom(r, j); err != nil {
				return err
			}
		}
		typ, known := t.typeOf(r)
		// The id is taken by a room of another type, or this process is not configured for its type.
		if !known || r.Type != j.RoomType {
			return ErrWrongType
		}
		// A client joins again when the answer to its first request was lost.
		if _, ok := r.Member(j.Session); ok {
			return nil
		}
		predecessor := takePredecessor(r, typ.roomLogic, j)
		if old, ok := r.Member(predecessor); ok {
			return replaceMember(r, typ.roomLogic, old, j)
		}
		// An empty room has no member who could invite or unlock: the next session is admitted as if it had made the
		// room.
		deserted := len(r.Members) == 0 && r.Participants == nil
		if err := checkAdmission(r, j, made || deserted || predecessor != ""); err != nil {
			return err
		}
		return typ.roomLogic.OnJoin(r, r.addMember(j.Session, j.Player), j.Options)
	})
}

// openRoom makes a new room.
func (t *Types) openRoom(r *Room, j Join) error {
	typ, ok := t.LookupType(j.RoomType)
	if !ok {
		return ErrWrongType
	}
	if _, ok := typ.roomLogic.(matchLogic); ok {
		return ErrNotFound // the director makes rooms of matches; this one has ended
	}
	options := j.Options.fieldsOf()
	private, err := options.flagField("private", typ.IsPrivate)
	if err != nil {
		return err
	}
	members, err := options.wholeNumber("max_members", typ.MaxMembers, typ.MaxMembers)
	if err != nil {
		return err
	}
	r.Type, r.StateSeq, r.GracePeriod, r.IsPrivate, r.MaxMembers = typ.Name, 1, typ.GracePeriod, private, members
	r.State, err = typ.roomLogic.OpenState(Opening{Type: typ, Session: j.Session, Player: j.Player, Options: j.Options})
	if err != nil {
		return err
	}
	// After the state was made: the metadata of rooms with an owner is one of its keys.
	if raw := options.rawField("metadata"); raw != nil {
		metadata, err := ParseMetadata("options.metadata", raw)
		if err != nil {
			return err
		}
		t.setMetadata(r, metadata)
	}
	return nil
}

// takePredecessor returns the session of the same player whose place in the room the joining session takes, "" if there
// is none. In the room of a match it gives the place to the joining session at once; elsewhere replaceMember does.
func takePredecessor(r *Room, logic Logic, j Join) string {
	if old := r.takePlace(j.Session, j.Player); old != "" {
		return old
	}
	if _, once := logic.(oncePerPlayer); !once {
		return ""
	}
	at := slices.IndexFunc(r.Members, func(m Member) bool {
		return m.Player == j.Player && m.Player != m.Session // a sub may look like the id of a session without one
	})
	if at < 0 {
		return ""
	}
	return r.Members[at].Session
}

// replaceMember makes a session a member in the place of another one of its player, in one change: nobody sees the room
// without the player.
func replaceMember(r *Room, logic Logic, old Member, j Join) error {
	m := Member{Session: j.Session, Player: j.Player, JoinOrder: old.JoinOrder}
	r.Members = slices.Clone(r.Members)
	r.Members[slices.IndexFunc(r.Members, func(o Member) bool { return o.Session == old.Session })] = m
	r.endInvitations(j.Session, j.Player)
	r.Entries = append(r.Entries, Entry{Kind: EntryLeft, Session: old.Session, Reason: reasonReplaced},
		Entry{Kind: EntryJoined, Session: m.Session})
	r.Effects = append(r.Effects,
		Effect{Kind: EffectRemove, Session: old.Session, Player: old.Player, Reason: reasonReplaced})
	if h, ok := logic.(heir); ok {
		return h.succeedMember(r, old, m, j.Options)
	}
	return nil
}

// checkAdmission decides whether a session may become a member. A session hasPlace if it made the room, or takes the
// place of its player's other session; it needs no invitation.
func checkAdmission(r *Room, j Join, hasPlace bool) error {
	invited := hasPlace || slices.ContainsFunc(r.InvitedMembers,
		func(m Member) bool { return m.Session == j.Session || m.Player == j.Player })
	// The most specific reason first: a banned player is refused as banned, and not because the room is full.
	switch {
	case r.isSanctioned(j.Player, j.AskedAt, func(s Sanction) bool { return s.IsBan }):
		return ErrBanned
	case j.RoomCode != "" && j.RoomCode != r.JoinCode:
		return ErrCodeUnknown // the room had this code when the client's request arrived, and has another one now
	case !r.isOpenTo(j, invited):
		return ErrNotInvited
	case r.IsLocked && !invited:
		return ErrLocked
	case len(r.Members) >= r.MaxMembers:
		return ErrFull
	}
	return nil
}

// isOpenTo reports whether a session may join at all: a participant of a match room; of a private room somebody who is
// invited, or knows its code.
func (r *Room) isOpenTo(j Join, invited bool) bool {
	if r.Participants != nil {
		return slices.Contains(r.Participants, j.Session)
	}
	return !r.IsPrivate || invited || j.RoomCode != ""
}
