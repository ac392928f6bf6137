package console

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// eventStore is what the page of events reads.
type eventStore interface {
	ConsoleEvents(ctx context.Context, before db.EventCursor, f db.EventFilter) (db.EventPage, error)
	ConsoleNames(ctx context.Context) (regions, modes []string, err error)
}

// eventsView is what templates/events.html reads.
type eventsView struct {
	db.EventFilter

	Events   []db.Event
	Next     string
	Regions  []string
	Filtered bool
	// Cut reports that reading ended before the page was full: the filter selects few of the latest events.
	Cut bool
}

// kinds are beginnings of the kinds of events, for the filter.
var kinds = []string{
	"instance.", "session.", "match.", "agent.", "room.", "command.", "drain.", "agent_key.", "project", "key.", "profile.", "app_version.", "pool.", "deployment.",
}

// Kinds returns the groups of kinds.
func (eventsView) AllKinds() []string { return kinds }

// eventsPage shows the latest events while it is watched, and pages back.
var eventsPage = page[eventsView]{path: "/events", template: "events", every: 2 * time.Second, load: loadEvents}

func loadEvents(ctx context.Context, s Store, q query) (v eventsView, err error) {
	f := db.EventFilter{Kinds: q.Get("kind"), Region: q.Get("region"), Actor: q.Get("actor"), Instance: q.Get("instance"), Session: q.Get("session"), Page: pageSize}
	v.EventFilter = f
	v.Filtered = f.Kinds+f.Region+f.Actor+f.Instance+f.Session != ""
	found, err := s.ConsoleEvents(ctx, eventCursor(q), f)
	if err != nil {
		return v, err
	}
	v.Events = found.Events
	if found.Next != nil {
		v.Next = q.Next(strconv.FormatUint(found.Next.Tx, 10), found.Next.ID.String())
		v.Cut = len(found.Events) < pageSize
	}
	v.Regions, _, err = s.ConsoleNames(ctx)
	return v, err
}

// eventCursor is where the page begins; a malformed one is the first page.
func eventCursor(q query) db.EventCursor {
	first, second := q.After()
	tx, err := strconv.ParseUint(first, 10, 63)
	if err != nil {
		return db.LatestEvent()
	}
	id, err := uuid.Parse(second)
	if err != nil {
		return db.LatestEvent()
	}
	return db.EventCursor{Tx: tx, ID: id}
}

// subjectPath returns the page of what an event concerns: a deployment, an agent or a game server, which share a column.
func subjectPath(kind, id string) string {
	switch noun, _, _ := strings.Cut(kind, "."); noun {
	case "deployment":
		return deploymentPath(id)
	case "agent", "room", "command":
		return agentPath(id)
	}
	return instancePath(id)
}
