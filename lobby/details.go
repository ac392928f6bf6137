package lobby

import (
	"encoding/json"
	"slices"
)

// Change is what an owner or a backend changes of a room after it was made. Nil stays as it is.
type Change struct {
	IsPrivate, IsLocked *bool
	MaxMembers          *int
	NewMetadata         json.RawMessage // see [ParseMetadata]; an empty object removes it
}

// ParseChange reads a change from the fields of a request. Errors: code invalid.
func ParseChange(request map[string]json.RawMessage) (c Change, err error) {
	f := fields{values: request}
	if c.IsPrivate, err = f.optionalFlag("private"); err != nil {
		return c, err
	}
	if c.IsLocked, err = f.optionalFlag("locked"); err != nil {
		return c, err
	}
	if f.rawField("max_members") != nil {
		members, err := f.wholeNumber("max_members", maxChat, 0)
		if err != nil {
			return c, err
		}
		c.MaxMembers = &members
	}
	if raw := f.rawField("metadata"); raw != nil {
		c.NewMetadata, err = ParseMetadata("metadata", raw)
	}
	return c, err
}

func (f fields) optionalFlag(name string) (*bool, error) {
	if f.rawField(name) == nil {
		return nil, nil //nolint:nilnil // absent is no error
	}
	value, err := f.flagField(name, false)
	return &value, err
}

// UpdateRoom returns the action by which the owner changes a room. Errors: [ErrNotMember], [ErrNotOwner], also where a
// room has no owner; [ErrOfMatch]; code invalid.
func (t *Types) UpdateRoom(session string, c Change) Action {
	return boundedAction(func(r *Room) error {
		owner, err := t.ownerFor(r, session)
		if err != nil {
			return err
		}
		if owner != session {
			return ErrNotOwner
		}
		return t.changeRoom(r, c)
	})
}

// ownerFor returns the owner of a room, "" if the room has none, if session is one of its members. Errors:
// [ErrNotFound], [ErrNotMember], [ErrOfMatch].
func (t *Types) ownerFor(r *Room, session string) (string, error) {
	_, isMember := r.Member(session)
	switch {
	case r.Type == "":
		return "", ErrNotFound
	case !isMember:
		return "", ErrNotMember
	// The match decides who may be in its room; no member does.
	case r.Participants != nil:
		return "", ErrOfMatch
	case !t.hasOwner(r):
		return "", nil
	}
	return r.textOf("owner"), nil
}

// hasOwner reports whether the rooms of the type have an owner. They show their details in
// the state; the state of other rooms belongs to the configuration and the clients.
func (t *Types) hasOwner(r *Room) bool {
	_, ok := t.logicOf(r).(queuing)
	return ok
}

// changeRoom applies a change, and shows it to the members of rooms with an owner.
func (t *Types) changeRoom(r *Room, c Change) error {
	// First, because no other part of a change can fail.
	if c.MaxMembers != nil {
		if err := t.setMaxMembers(r, *c.MaxMembers); err != nil {
			return err
		}
	}
	if c.IsPrivate != nil {
		r.IsPrivate = *c.IsPrivate
		t.showDetail(r, "private", r.IsPrivate)
	}
	if c.IsLocked != nil {
		r.IsLocked = *c.IsLocked
		t.showDetail(r, "locked", r.IsLocked)
	}
	if c.NewMetadata != nil {
		t.setMetadata(r, c.NewMetadata)
	}
	return nil
}

func (t *Types) setMaxMembers(r *Room, members int) error {
	typ, known := t.typeOf(r)
	switch {
	case !known:
		return ErrWrongType
	case members < 1 || members > typ.MaxMembers:
		return Invalid("max_members", "must be a whole number from 1 to %d", typ.MaxMembers)
	// The request does not say which members would have to leave.
	case members < len(r.Members):
		return Invalid("max_members", "must be at least the number of members, %d", len(r.Members))
	}
	r.MaxMembers = members
	t.showDetail(r, "max_members", members)
	return nil
}

// showDetail shows the members a detail in the state, in rooms with an owner: see hasOwner.
func (t *Types) showDetail(r *Room, key string, value any) {
	if t.hasOwner(r) {
		r.SetKey(key, value)
	}
}

// hideDetail removes a detail from the state, in rooms with an owner.
func (t *Types) hideDetail(r *Room, key string) {
	if t.hasOwner(r) {
		r.DeleteKey(key)
	}
}

// EqualDetails reports whether two rooms have the same metadata, code and sanctions.
func EqualDetails(a, b *Room) bool {
	return string(a.Metadata) == string(b.Metadata) && a.JoinCode == b.JoinCode &&
		slices.Equal(a.Sanctions, b.Sanctions)
}
