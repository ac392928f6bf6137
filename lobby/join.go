package lobby

import "slices"

// Join is a session that joins a room. Type is the room's, and makes a new one.
type Join struct {
	Type, Session, Player string
	Options               Options
}

// oncePerPlayer is a logic whose rooms have a player once: a second session of the player takes the place of the first.
type oncePerPlayer interface{ oncePerPlayer() }

// Join returns the action by which a session becomes a member. For a member it changes nothing.
func (t *Types) Join(j Join) Action {
	return bounded(func(r *Room) error {
		// New alone does not say so: an action before this one, in the same transaction, may have made it
		made := r.Type == ""
		if made {
			if err := t.openRoom(r, j); err != nil {
				return err
			}
		}
		typ, known := t.typeOf(r)
		if !known || r.Type != j.Type {
			return ErrWrongType
		}
		if _, ok := r.Member(j.Session); ok {
			return nil
		}
		back, err := t.replace(r, typ, j)
		if err != nil {
			return err
		}
		if err := admit(r, j, back || made); err != nil {
			return err
		}
		return typ.logic.Join(r, r.add(j.Session, j.Player), j.Options)
	})
}

// openRoom makes a new room.
func (t *Types) openRoom(r *Room, j Join) error {
	typ, ok := t.Lookup(j.Type)
	if !ok {
		return ErrWrongType
	}
	if _, ok := typ.logic.(match); ok {
		return ErrNotFound // the director makes rooms of matches; this one has ended
	}
	options := j.Options.fields()
	private, err := options.flag("private", typ.Private)
	if err != nil {
		return err
	}
	members, err := options.whole("max_members", 1, typ.MaxMembers, typ.MaxMembers)
	if err != nil {
		return err
	}
	r.Type, r.Seq, r.Grace, r.Private, r.MaxMembers = typ.Name, 1, typ.Grace, private, members
	r.State, err = typ.logic.Open(Opening{Type: typ, Session: j.Session, Player: j.Player, Options: j.Options})
	return err
}

// replace removes the session with which the player is in the room already, where a player is there once.
func (t *Types) replace(r *Room, typ Type, j Join) (bool, error) {
	if _, once := typ.logic.(oncePerPlayer); !once {
		return false, nil
	}
	at := slices.IndexFunc(r.Members, func(m Member) bool { return m.Player == j.Player })
	if at < 0 {
		return false, nil
	}
	old, _ := r.Remove(r.Members[at].Session, "replaced")
	return true, typ.logic.Leave(r, old)
}

// admit decides whether a session may become a member. The place is its own if it made the room, or takes the place of
// its player's other session.
func admit(r *Room, j Join, own bool) error {
	invited := slices.ContainsFunc(r.Invited,
		func(m Member) bool { return m.Session == j.Session || m.Player == j.Player })
	switch {
	case r.Participants != nil && !slices.Contains(r.Participants, j.Session):
		return ErrNotInvited
	case r.Participants == nil && r.Private && !invited && !own:
		return ErrNotInvited
	case r.IsLocked && !own:
		return ErrLocked
	case len(r.Members) >= r.MaxMembers:
		return ErrFull
	}
	return nil
}
