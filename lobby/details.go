package lobby

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/lattice-director/director/lobby/esjson"
)

// Bounds of the metadata of a room.
const (
	maxMetadata      = 2 << 10 // bytes
	maxMetadataKeys  = 16
	maxMetadataKey   = 64  // bytes
	maxMetadataValue = 256 // bytes
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

// ParseMetadata reads what a list shows of a room beside its own fields: an object of up to 16 keys of 1 to 64 bytes,
// whose values are texts of up to 256 bytes, numbers, true or false; 2 KiB in all. Errors: code invalid, for field.
func ParseMetadata(field string, raw json.RawMessage) (json.RawMessage, error) {
	cleaned, err := cleanJSON(field, raw)
	if err != nil {
		return nil, err
	}
	var values map[string]any
	// null, and a number beyond a double, leave the map nil.
	if json.Unmarshal(cleaned, &values) != nil || values == nil || len(values) > maxMetadataKeys {
		return nil, Invalid(field, "must be an object of at most %d keys", maxMetadataKeys)
	}
	for key, value := range values {
		if !validName(key, maxMetadataKey) || !validMetadata(value) {
			return nil, Invalid(field, "must have keys of 1 to %d bytes without spaces, and texts of at most %d bytes, "+
				"numbers, true and false as values", maxMetadataKey, maxMetadataValue)
		}
	}
	if len(cleaned) > maxMetadata {
		return nil, Invalid(field, "must have at most %d bytes", maxMetadata)
	}
	return cleaned, nil
}

// validMetadata accepts what lists can filter by and show: no objects, and no characters that break a line of a list.
func validMetadata(value any) bool {
	switch v := value.(type) {
	case string:
		return len(v) <= maxMetadataValue && !strings.ContainsFunc(v, unicode.IsControl)
	case float64, bool:
		return true
	}
	return false
}

// UpdateRoom returns the action by which the owner changes a room. Errors: [ErrNotMember], [ErrNotOwner], also where a
// room has no owner; [ErrOfMatch]; code invalid.
func (t *Types) UpdateRoom(session string, c Change) Action {
	return boundedAction(func(r *Room) error {
		owner, err := t.ownerFor(r, session)
		switch {
		case err != nil:
			return err
		case owner != session:
			return ErrNotOwner
		}
		return t.changeRoom(r, c)
	})
}

// ownerFor returns the owner of a room to one of its members; "" if the room has none.
func (t *Types) ownerFor(r *Room, session string) (string, error) {
	_, isMember := r.Member(session)
	switch {
	case r.Type == "":
		return "", ErrNotFound
	case !isMember:
		return "", ErrNotMember
	// The match decides who may be in it, and no member.
	case r.Participants != nil:
		return "", ErrOfMatch
	case !t.hasOwner(r):
		return "", nil
	}
	return r.textOf("owner"), nil
}

// hasOwner reports whether the rooms of the type have an owner. Members of these see the details of the room in its
// state; the state of other rooms is their clients' and configuration's alone.
func (t *Types) hasOwner(r *Room) bool {
	_, ok := t.logicOf(r).(queuing)
	return ok
}

// changeRoom changes what the change says, and shows it to the members of rooms with an owner.
func (t *Types) changeRoom(r *Room, c Change) error {
	// First, because it alone can fail.
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

// setMetadata replaces the metadata by checked metadata.
func (t *Types) setMetadata(r *Room, metadata json.RawMessage) {
	if string(metadata) == "{}" {
		metadata = nil
	}
	r.Metadata = metadata
	switch {
	case !t.hasOwner(r):
	case metadata == nil:
		r.DeleteKey("metadata")
	default:
		r.SetKey("metadata", metadata)
	}
}

// showDetail shows the members what has changed, where the state is the director's to write.
func (t *Types) showDetail(r *Room, key string, value any) {
	if t.hasOwner(r) {
		r.SetKey(key, value)
	}
}

// EqualDetails reports whether two rooms have the same metadata, code and sanctions.
func EqualDetails(a, b *Room) bool {
	return string(a.Metadata) == string(b.Metadata) && a.JoinCode == b.JoinCode &&
		slices.Equal(a.Sanctions, b.Sanctions)
}

// metadataValues decodes metadata; nil if there is none.
func metadataValues(metadata json.RawMessage) map[string]any {
	value, _ := esjson.ParseText(metadata)
	values, _ := value.(map[string]any)
	return values
}
