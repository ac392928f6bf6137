package console

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// instanceStore is what the page of a game server reads.
type instanceStore interface {
	ConsoleInstance(ctx context.Context, id string) (db.ConsoleInstance, error)
	ConsoleSessionsOfInstance(ctx context.Context, region, instance string, after uuid.UUID, size db.ConsolePage) (sessions []db.ConsoleSession, more bool, err error)
	ConsoleEvents(ctx context.Context, before db.EventCursor, f db.EventFilter) (db.EventPage, error)
}

// instanceView is what templates/instance.html reads.
type instanceView struct {
	Instance db.ConsoleInstance
	Sessions []db.ConsoleSession // a page
	Next     string
	Events   []db.Event // the latest
}

var instancePage = page[instanceView]{path: "/instances/:id", template: "instance", every: 2 * time.Second, load: loadInstance}

// recentEvents is how many events a page shows that is not the page of events.
const recentEvents = 10

func loadInstance(ctx context.Context, s Store, q query) (v instanceView, err error) {
	if v.Instance, err = s.ConsoleInstance(ctx, q.Param("id")); err != nil {
		return v, err
	}
	_, last := q.After()
	after, _ := uuid.Parse(last) // a malformed one is the first page
	var more bool
	if v.Sessions, more, err = s.ConsoleSessionsOfInstance(ctx, v.Instance.Region, v.Instance.Instance, after, pageSize); err != nil {
		return v, err
	}
	if more {
		v.Next = q.Next("", v.Sessions[len(v.Sessions)-1].ID.String())
	}
	events, err := s.ConsoleEvents(ctx, db.LatestEvent(), db.EventFilter{Instance: v.Instance.Instance, Page: recentEvents})
	v.Events = events.Events
	return v, err
}
