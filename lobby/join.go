package lobby

import (
	"slices"
	"time"
)

// Join is a session that joins a room. If there is no room of the id, a new one of RoomType is made.
type Join struct {
	RoomType, Session, Player string
	Options                   Options
	RoomCode                  string    // of the room, which admits to a private one; "": none was shown
	AskedAt                   time.Time // for sanctions that end; zero: none has ended
}

// oncePerPlayer is a logic whose rooms have a player once: a second session of the player takes the place of the first.
type oncePerPlayer interface{ oncePerPlayer() }

// heir is a logic that keeps something of a member: succeedMember gives to m, a session that is in the room in the
// place of old, what the state says of old.
type heir interface {
	succeedMember(r *Room, old, m Member, o Options) error
}

// JoinRoom returns the action by which a session becomes a member. For a member it changes nothing.
func (t *Types) JoinRoom(j Join) Action {
	return boundedAction(func(r *Room) error {
		// IsNew does not say so: an action before this one, in the same transaction, may have made it.
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
		before := predecessorSession(r, typ.roomLogic, j)
		if old, ok := r.Member(before); ok {
			return replaceMember(r, typ.roomLogic, old, j)
		}
		// An empty room has no member who could invite or unlock: the next session is admitted as if it had made the
		// room.
		deserted := len(r.Members) == 0 && r.Participants == nil
		if err := checkAdmission(r, j, made || deserted || before != ""); err != nil {
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
	if _, ok := typ.roomLogic.(match); ok {
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
	// After the state was made: the metadata of rooms with an owner is one of its keys.
	if raw := options.rawField("metadata"); err == nil && raw != nil {
		metadata, err := ParseMetadata("options.metadata", raw)
		if err != nil {
			return err
		}
		t.setMetadata(r, metadata)
	}
	return err
}

// predecessorSession returns the session of the same player whose place in the room the session takes, "" if there is
// none. The place in a match is the session's from then on.
func predecessorSession(r *Room, logic Logic, j Join) string {
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

// reasonReplaced is why a session leaves whose place another one of its player has taken.
const reasonReplaced = "replaced"

// checkAdmission decides whether a session may become a member. The place is its own if it made the room, or takes the
// place of its player's other session.
func checkAdmission(r *Room, j Join, own bool) error {
	invited := own || slices.ContainsFunc(r.InvitedMembers,
		func(m Member) bool { return m.Session == j.Session || m.Player == j.Player })
	// The most specific reason first: a banned player is refused as banned, and not because the room is full.
	switch {
	case r.isSanctioned(j.Player, j.AskedAt, func(s Sanction) bool { return s.IsBan }):
		return ErrBanned
	case j.RoomCode != "" && j.RoomCode != r.JoinCode:
		return ErrCodeUnknown // it had another one when the client's request arrived
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
