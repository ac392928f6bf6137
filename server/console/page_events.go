package console

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
)

// eventsView is what templates/events.html reads.
type eventsView struct {
	Filter   opsview.EventFilter
	Events   []opsview.Event
	Next     string
	Export   string // the address of the same events as a file
	Regions  []string
	Filtered bool
	From     string // the time as the filter has it; empty: the beginning of the log
	Until    string // the time as the filter has it; empty: the latest events
	Past     bool   // these are not the latest events: their times are shown rather than their ages
	// IsPartial reports that reading ended before the page was full: the filter selects few of the latest events.
	IsPartial bool
}

// AllKinds returns what the filter offers: the kinds of events, and before the first kind of each group the beginning
// that selects the group, such as "agent.".
func (eventsView) AllKinds() (all []string) {
	for _, kind := range db.EventKinds {
		noun, _, _ := strings.Cut(kind, ".")
		if group := noun + "."; !slices.Contains(all, group) {
			all = append(all, group)
		}
		all = append(all, kind)
	}
	return all
}

// eventsPage shows the latest events while it is watched, and pages back.
var eventsPage = page[eventsView]{routePath: "/events", templateName: "events", readEvery: 2 * time.Second,
	loadData: loadEvents}

// loadEvents reads a page of the events that the filter selects. Errors: Invalid, for a malformed time.
func loadEvents(ctx context.Context, s Store, q query) (v eventsView, err error) {
	if v.Filter, err = eventFilter(q); err != nil {
		return v, err
	}
	v.From, v.Until = q.Get("from"), q.Get("until")
	v.Filtered = v.Filter != opsview.EventFilter{} || v.Until != ""
	v.Past = v.Until != "" || v.From != "" || q.Paged()
	found, err := eventsPageOf(ctx, s, q, v.Filter, pageSize)
	if err != nil {
		return v, err
	}
	// The file begins with the first page, whichever is shown.
	v.Events, v.Export = found.Events, strings.Replace(q.With(afterParam, ""), "/events", "/events/export", 1)
	if found.Next != nil {
		v.Next = q.Next(strconv.FormatUint(found.Next.Tx, 10), found.Next.ID.String())
		v.IsPartial = len(found.Events) < pageSize
	}
	v.Regions, err = regionNames(ctx, s)
	return v, err
}

// eventFilter reads the filter of the query. Errors: Invalid.
func eventFilter(q query) (f opsview.EventFilter, err error) {
	f = opsview.EventFilter{
		Kinds: q.Get("kind"), Region: q.Get("region"), Actor: q.Get("actor"), Instance: q.Get("instance"),
		Session: q.Get("session"), Text: q.Get("text"),
	}
	if text := q.Get("from"); text != "" {
		f.Since, err = parseTime("from", text)
	}
	return f, err
}

// eventsPageOf reads the page that the query asks for.
func eventsPageOf(ctx context.Context, s Store, q query, f opsview.EventFilter, limit int) (opsview.EventPage, error) {
	before, err := eventCursor(ctx, s, q)
	if err != nil {
		return opsview.EventPage{}, err
	}
	return eventsBefore(ctx, s, before, f, limit)
}

// eventsBefore reads the events before a cursor.
func eventsBefore(ctx context.Context, s Store, before opsview.EventCursor, f opsview.EventFilter,
	limit int) (opsview.EventPage, error) {
	return readViews(ctx, s, func(ctx context.Context, r opsview.Querier) (opsview.EventPage, error) {
		return opsview.ReadEvents(ctx, r, before, f, limit)
	})
}

// eventCursor is where the page begins: after the page before, or on the first page at the time until, if the query has
// one. A malformed cursor is the first page.
func eventCursor(ctx context.Context, s Store, q query) (opsview.EventCursor, error) {
	first, second := q.lastKey()
	tx, txErr := strconv.ParseUint(first, 10, 63)
	id, idErr := uuid.Parse(second)
	if txErr == nil && idErr == nil {
		return opsview.EventCursor{Tx: tx, ID: id}, nil
	}
	if q.Get("until") == "" {
		return opsview.LatestEvent(), nil
	}
	until, err := parseTime("until", q.Get("until"))
	if err != nil {
		return opsview.EventCursor{}, err
	}
	return s.EventsUntil(ctx, until)
}

// parseTime reads a time of UTC, as fields of browsers write it. Errors: Invalid, which names the field.
func parseTime(field, text string) (time.Time, error) {
	// Browsers leave out seconds that are 0.
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, &fault.Error{Kind: fault.Invalid, Code: "invalid_request", Field: field,
		Detail: field + " must be a time of UTC, such as 2026-11-24T02:45"}
}

// subjectPath returns the page of what an event concerns: a deployment, an agent or a game server, which share a
// column.
func subjectPath(kind, id string) string {
	switch noun, _, _ := strings.Cut(kind, "."); noun {
	case "deployment":
		return deploymentPath(id)
	case "agent", "room", "command":
		return agentPath(id)
	}
	return instancePath(id)
}
