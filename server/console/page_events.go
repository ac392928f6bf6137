package console

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
)

// eventsView is what templates/events.html reads.
type eventsView struct {
	Filter   opsview.EventFilter
	Events   []opsview.Event
	Next     string
	Regions  []string
	Filtered bool
	Until    string // as it was given; empty: the latest events
	Past     bool   // these are not the latest events: their times are more telling than their ages
	// Cut reports that reading ended before the page was full: the filter selects few of the latest events.
	Cut bool
}

// kinds are beginnings of the kinds of events, for the filter.
var kinds = []string{
	"instance.", "session.", "match.", "agent.", "room.", "command.", "drain.", "agent_key.", "project", "key.",
	"profile.", "app_version.", "pool.", "deployment.",
}

// Kinds returns the groups of kinds.
func (eventsView) AllKinds() []string { return kinds }

// eventsPage shows the latest events while it is watched, and pages back.
var eventsPage = page[eventsView]{path: "/events", template: "events", every: 2 * time.Second, load: loadEvents}

func loadEvents(ctx context.Context, s Store, q query) (v eventsView, err error) {
	f := opsview.EventFilter{
		Kinds: q.Get("kind"), Region: q.Get("region"), Actor: q.Get("actor"), Instance: q.Get("instance"),
		Session: q.Get("session"),
	}
	v.Filter = f
	v.Until = q.Get("until")
	v.Filtered, v.Past = f.Kinds+f.Region+f.Actor+f.Instance+f.Session+v.Until != "", v.Until != "" || q.Paged()
	before, err := eventCursor(ctx, s, q)
	if err != nil {
		return v, err
	}
	found, err := readAll(ctx, s, func(ctx context.Context, r opsview.Querier) (opsview.EventPage, error) {
		return opsview.ReadEvents(ctx, r, before, f, pageSize)
	})
	if err != nil {
		return v, err
	}
	v.Events = found.Events
	if found.Next != nil {
		v.Next = q.Next(strconv.FormatUint(found.Next.Tx, 10), found.Next.ID.String())
		v.Cut = len(found.Events) < pageSize
	}
	v.Regions, err = regionNames(ctx, s)
	return v, err
}

// eventCursor is where the page begins: after the page before, or else at a time. A malformed cursor is the first page.
func eventCursor(ctx context.Context, s Store, q query) (opsview.EventCursor, error) {
	first, second := q.After()
	tx, err := strconv.ParseUint(first, 10, 63)
	if id, idErr := uuid.Parse(second); err == nil && idErr == nil {
		return opsview.EventCursor{Tx: tx, ID: id}, nil
	}
	if q.Get("until") == "" {
		return opsview.LatestEvent(), nil
	}
	until, err := parseUntil(q.Get("until"))
	if err != nil {
		return opsview.EventCursor{}, err
	}
	return s.EventsUntil(ctx, until)
}

// parseUntil reads a time of UTC, as fields of browsers write it.
func parseUntil(text string) (time.Time, error) {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, &fault.Error{Kind: fault.Invalid, Code: "invalid_request", Field: "until",
		Detail: "until must be a time of UTC, such as 2026-11-24T02:45"}
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
