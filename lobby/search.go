package lobby

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lattice-director/director/lobby/esjson"
)

// Listed is a room in a list.
type Listed struct {
	ID, Type                string
	MemberCount, MaxMembers int
	IsLocked                bool
	Metadata                json.RawMessage // nil: none
	CreatedAt               time.Time

	metadataValues map[string]any // of Metadata
}

// WithDecodedValues returns the room with its metadata decoded, which [Search.SelectRooms] reads many times.
func (l Listed) WithDecodedValues() Listed {
	l.metadataValues = metadataValues(l.Metadata)
	return l
}

// isEqual reports whether a client would be shown the same. CreatedAt only orders rooms.
func (l Listed) isEqual(other Listed) bool {
	return l.ID == other.ID && l.Type == other.Type && l.MemberCount == other.MemberCount &&
		l.MaxMembers == other.MaxMembers && l.IsLocked == other.IsLocked && bytes.Equal(l.Metadata, other.Metadata)
}

// Orders of a [Search].
const (
	OrderNewest  = "newest"
	OrderMembers = "members" // most members first
	OrderFree    = "free"    // most free places first
	OrderID      = "id"
)

// Bounds of a search.
const (
	maxSearchPage    = 200 // rooms
	maxSearchOptions = 16  // values of a key of the filter
	maxOrderName     = 16  // bytes: longer than any order
)

// Search selects rooms of a list. Two searches with the same Key select the same rooms.
type Search struct {
	Key string

	filterByKey map[string]condition
	isJoinable  bool
	orderName   string
	maxRooms    int
}

// condition is what the value of a key of the metadata must be: one of some values, or a number of a range.
type condition struct {
	oneOf              []any
	minValue, maxValue float64
	isRange            bool
}

// ParseSearch reads a search from the fields of a request: filter, joinable, order and limit. Errors: code invalid.
func ParseSearch(request map[string]json.RawMessage) (s Search, err error) {
	f := fields{values: request}
	if s.filterByKey, err = parseFilter(f.rawField("filter")); err != nil {
		return s, err
	}
	if s.isJoinable, err = f.flagField("joinable", false); err != nil {
		return s, err
	}
	if s.maxRooms, err = f.wholeNumber("limit", maxSearchPage, maxSearchPage); err != nil {
		return s, err
	}
	if s.orderName, err = f.textField("order", maxOrderName); err != nil {
		return s, err
	}
	s.orderName = cmp.Or(s.orderName, OrderNewest)
	if roomOrders[s.orderName] == nil {
		return s, Invalid("order", "must be newest, members, free or id")
	}
	// Encoded anew, so that two filters with the same keys in another order are the same search.
	s.Key = string(esjson.Encode(map[string]any{"filter": encodeJSON(f.rawOrEmpty("filter")), "joinable": s.isJoinable,
		"order": s.orderName, "limit": s.maxRooms}))
	return s, nil
}

// rawOrEmpty returns a field, and an empty object for none: both search for the same.
func (f fields) rawOrEmpty(name string) json.RawMessage {
	if raw := f.rawField(name); raw != nil {
		return raw
	}
	return json.RawMessage("{}")
}

// parseFilter reads a condition for each key of the metadata; nil admits every room.
func parseFilter(raw json.RawMessage) (map[string]condition, error) {
	if raw == nil {
		return nil, nil //nolint:nilnil // none is no error
	}
	value, err := esjson.ParseText(raw)
	wanted, is := value.(map[string]any)
	if err != nil || !is || len(wanted) > maxMetadataKeys {
		return nil, Invalid("filter", "must be an object of at most %d keys of the metadata", maxMetadataKeys)
	}
	filter := make(map[string]condition, len(wanted))
	for key, value := range wanted {
		one, ok := conditionOf(value)
		if !ok || !validName(key, maxMetadataKey) {
			return nil, Invalid("filter", "must have a text, a number, true, false, a list of at most %d of them or "+
				`{"min", "max"} for each key`, maxSearchOptions)
		}
		filter[key] = one
	}
	return filter, nil
}

// conditionOf reads a condition: one value, a list of values, or a range.
func conditionOf(value any) (c condition, ok bool) {
	switch v := value.(type) {
	case []any:
		c.oneOf = v
		return c, len(v) <= maxSearchOptions &&
			!slices.ContainsFunc(v, func(one any) bool { return !validMetadata(one) })
	case map[string]any:
		return rangeOf(v)
	}
	c.oneOf = []any{value}
	return c, validMetadata(value)
}

// rangeOf reads {"min", "max"}, of which one may be missing.
func rangeOf(bounds map[string]any) (c condition, ok bool) {
	c = condition{isRange: true, minValue: math.Inf(-1), maxValue: math.Inf(1)}
	for name, bound := range bounds {
		number, is := bound.(float64)
		switch {
		case is && name == "min":
			c.minValue = number
		case is && name == "max":
			c.maxValue = number
		default:
			return c, false
		}
	}
	// An empty object would match every number, which nobody means.
	return c, len(bounds) > 0
}

func (c condition) holdsFor(value any) bool {
	if c.isRange {
		number, is := value.(float64)
		return is && c.minValue <= number && number <= c.maxValue
	}
	// All of these can be compared: validMetadata admits no lists and no objects.
	return slices.Contains(c.oneOf, value)
}

// roomOrders has the comparison of two rooms by the name of the order; SelectRooms sorts equal rooms by id.
var roomOrders = map[string]func(a, b Listed) int{
	OrderNewest:  func(a, b Listed) int { return b.CreatedAt.Compare(a.CreatedAt) },
	OrderMembers: func(a, b Listed) int { return cmp.Compare(b.MemberCount, a.MemberCount) },
	OrderFree:    func(a, b Listed) int { return cmp.Compare(b.MaxMembers-b.MemberCount, a.MaxMembers-a.MemberCount) },
	OrderID:      func(Listed, Listed) int { return 0 },
}

// SelectRooms returns the rooms that the search is for, in its order and at most as many as it asks for. The rooms must
// be those of [Listed.WithDecodedValues].
func (s Search) SelectRooms(rooms []Listed) []Listed {
	var found []Listed
	for _, r := range rooms {
		if s.matchesRoom(r) {
			found = append(found, r)
		}
	}
	// Equal rooms by id, so that two searches cut a full page at the same room.
	slices.SortFunc(found, func(a, b Listed) int {
		return cmp.Or(roomOrders[s.orderName](a, b), strings.Compare(a.ID, b.ID))
	})
	return found[:min(len(found), s.maxRooms)]
}

func (s Search) matchesRoom(r Listed) bool {
	if s.isJoinable && (r.IsLocked || r.MemberCount >= r.MaxMembers) {
		return false
	}
	for key, wanted := range s.filterByKey {
		if value, has := r.metadataValues[key]; !has || !wanted.holdsFor(value) {
			return false
		}
	}
	return true
}

// ListChanges returns the rooms of after that are new or shown differently than in before, in their order, and the
// sorted ids of the rooms that only before has.
func ListChanges(before, after []Listed) (changed []Listed, removed []string) {
	onlyBefore := make(map[string]Listed, len(before))
	for _, r := range before {
		onlyBefore[r.ID] = r
	}
	for _, r := range after {
		if was, known := onlyBefore[r.ID]; !known || !was.isEqual(r) {
			changed = append(changed, r)
		}
		delete(onlyBefore, r.ID)
	}
	for id := range onlyBefore {
		removed = append(removed, id)
	}
	slices.Sort(removed)
	return changed, removed
}
