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
	ID, Type            string
	Members, MaxMembers int
	IsLocked            bool
	Metadata            json.RawMessage // nil: none
	CreatedAt           time.Time

	values map[string]any // of Metadata
}

// Decoded returns the room with its metadata decoded, which [Search.Select] reads many times.
func (l Listed) Decoded() Listed {
	l.values = metadataValues(l.Metadata)
	return l
}

func (l Listed) equal(other Listed) bool {
	return l.ID == other.ID && l.Type == other.Type && l.Members == other.Members && l.MaxMembers == other.MaxMembers &&
		l.IsLocked == other.IsLocked && bytes.Equal(l.Metadata, other.Metadata)
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
	maxSearchPage    = 200
	maxSearchOptions = 16 // values of a key
)

// Search selects rooms of a list. Two searches with the same Key select the same rooms.
type Search struct {
	Key string

	filter     map[string]condition
	isJoinable bool
	order      string
	limit      int
}

// condition is what the value of a key of the metadata must be: one of some values, or a number of a range.
type condition struct {
	oneOf    []any
	min, max float64
	isRange  bool
}

// ParseSearch reads a search from the fields of a request: filter, joinable, order and limit. Errors: code invalid.
func ParseSearch(request map[string]json.RawMessage) (s Search, err error) {
	f := fields{values: request}
	if s.filter, err = parseFilter(f.raw("filter")); err != nil {
		return s, err
	}
	if s.isJoinable, err = f.flag("joinable", false); err != nil {
		return s, err
	}
	if s.limit, err = f.whole("limit", maxSearchPage, maxSearchPage); err != nil {
		return s, err
	}
	if s.order, err = f.text("order", 16); err != nil {
		return s, err
	}
	if s.order = cmp.Or(s.order, OrderNewest); orders[s.order] == nil {
		return s, Invalid("order", "must be newest, members, free or id")
	}
	// Encoded anew, so that the order in which clients write the keys of a filter makes no other search.
	s.Key = string(esjson.Encode(map[string]any{"filter": encode(f.rawOrEmpty("filter")), "joinable": s.isJoinable,
		"order": s.order, "limit": s.limit}))
	return s, nil
}

func (f fields) rawOrEmpty(name string) json.RawMessage {
	if raw := f.raw(name); raw != nil {
		return raw
	}
	return json.RawMessage("{}")
}

func parseFilter(raw json.RawMessage) (map[string]condition, error) {
	if raw == nil {
		return nil, nil //nolint:nilnil // none is no error
	}
	value, err := esjson.Parse(raw)
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

func conditionOf(value any) (c condition, ok bool) {
	switch v := value.(type) {
	case []any:
		c.oneOf = v
		return c, len(v) <= maxSearchOptions && !slices.ContainsFunc(v, func(one any) bool { return !validMetadata(one) })
	case map[string]any:
		return rangeOf(v)
	}
	c.oneOf = []any{value}
	return c, validMetadata(value)
}

func rangeOf(bounds map[string]any) (c condition, ok bool) {
	c = condition{isRange: true, min: math.Inf(-1), max: math.Inf(1)}
	for name, bound := range bounds {
		number, is := bound.(float64)
		switch {
		case is && name == "min":
			c.min = number
		case is && name == "max":
			c.max = number
		default:
			return c, false
		}
	}
	return c, len(bounds) > 0
}

func (c condition) holds(value any) bool {
	if c.isRange {
		number, is := value.(float64)
		return is && c.min <= number && number <= c.max
	}
	return slices.Contains(c.oneOf, value)
}

// orders compare two rooms; equal ones are then sorted by id.
var orders = map[string]func(a, b Listed) int{
	OrderNewest:  func(a, b Listed) int { return b.CreatedAt.Compare(a.CreatedAt) },
	OrderMembers: func(a, b Listed) int { return cmp.Compare(b.Members, a.Members) },
	OrderFree:    func(a, b Listed) int { return cmp.Compare(b.MaxMembers-b.Members, a.MaxMembers-a.Members) },
	OrderID:      func(Listed, Listed) int { return 0 },
}

// Select returns the rooms that the search is for, in its order and at most as many as it asks for. The rooms must be
// decoded.
func (s Search) Select(rooms []Listed) []Listed {
	var found []Listed
	for _, r := range rooms {
		if s.matches(r) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b Listed) int {
		return cmp.Or(orders[s.order](a, b), strings.Compare(a.ID, b.ID))
	})
	return found[:min(len(found), s.limit)]
}

func (s Search) matches(r Listed) bool {
	if s.isJoinable && (r.IsLocked || r.Members >= r.MaxMembers) {
		return false
	}
	for key, wanted := range s.filter {
		if value, has := r.values[key]; !has || !wanted.holds(value) {
			return false
		}
	}
	return true
}

// ListChanges returns the rooms of a list that are new or look otherwise than before, in their order, and the ids of
// those that it no longer has, sorted.
func ListChanges(before, after []Listed) (changed []Listed, removed []string) {
	old := make(map[string]Listed, len(before))
	for _, r := range before {
		old[r.ID] = r
	}
	for _, r := range after {
		if was, known := old[r.ID]; !known || !was.equal(r) {
			changed = append(changed, r)
		}
		delete(old, r.ID)
	}
	for id := range old {
		removed = append(removed, id)
	}
	slices.Sort(removed)
	return changed, removed
}
