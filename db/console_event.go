package db

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/query"
)

// eventScan is how many events one page reads at most, so that a filter which selects few events costs no more than one that selects all.
const eventScan = 5000

// EventCursor is a place in the log: between the event with these values and its neighbour. The zero cursor is before the first event.
type EventCursor struct {
	Tx uint64
	ID uuid.UUID
}

// LatestEvent is the cursor after every event.
func LatestEvent() EventCursor { return EventCursor{Tx: math.MaxInt64, ID: uuid.Max} }

// Event is a row of ops.events.
type Event struct {
	Tx       uint64
	ID       uuid.UUID
	At       time.Time
	Region   string
	Kind     string // noun.verb
	Actor    string
	Instance string // the instance, agent or deployment concerned; "": none
	Session  string // region.uuid; "": none
	Detail   json.RawMessage
}

// Cursor returns the place of the event.
func (e Event) Cursor() EventCursor { return EventCursor{e.Tx, e.ID} }

// EventFilter selects events. Empty fields select all.
type EventFilter struct {
	Kinds    string // the beginning of their kinds, such as "session."
	Region   string
	Actor    string
	Instance string
	Session  string // region.uuid
	Page     ConsolePage
}

// EventPage is a page of events, latest first.
type EventPage struct {
	Events []Event
	// Next is where the next, older page begins; nil: there are no older events. A page may have few events, or none, and a next one:
	// reading ended after 5,000 events.
	Next *EventCursor
}

// ConsoleEvents returns the events before a cursor that a filter selects. Events of transactions that are still in progress may appear
// later, before the latest ones: a tail reads ConsoleTail instead. Errors: TooMany, Unavailable.
func (s *Store) ConsoleEvents(ctx context.Context, before EventCursor, f EventFilter) (p EventPage, err error) {
	most := int(f.Page.rows())
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := readEventsBefore(ctx, q, before, f, int32(most)+1)
		p = eventPage(rows, most)
		return err
	})
	return p, err
}

// ConsoleEventsUntil returns the cursor before the events of a time and later ones: ConsoleEvents with it returns the events until then. An
// event has the time at which its transaction began, so that beside those of a long transaction it may be off by the length of that.
// Errors: TooMany, Unavailable.
func (s *Store) ConsoleEventsUntil(ctx context.Context, until time.Time) (c EventCursor, err error) {
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		c.Tx, err = q.ConsoleEventsUntil(ctx, until)
		return err
	})
	return c, err
}

func readEventsBefore(ctx context.Context, q *query.Queries, before EventCursor, f EventFilter, most int32) ([]query.ConsoleEventsBeforeRow, error) {
	if f.Instance == "" {
		return q.ConsoleEventsBefore(ctx, query.ConsoleEventsBeforeParams{
			Tx: before.Tx, ID: before.ID, Scan: eventScan, Most: most, Kinds: f.Kinds, Region: f.Region, Actor: f.Actor, Session: f.Session,
		})
	}
	rows, err := q.ConsoleEventsOfInstance(ctx, query.ConsoleEventsOfInstanceParams{
		Instance: f.Instance, Tx: before.Tx, ID: before.ID, Scan: eventScan, Most: most, Kinds: f.Kinds, Region: f.Region, Actor: f.Actor, Session: f.Session,
	})
	all := make([]query.ConsoleEventsBeforeRow, len(rows))
	for i, r := range rows {
		all[i] = query.ConsoleEventsBeforeRow(r)
	}
	return all, err
}

// eventPage makes a page of at most so many events. The last row may be one that the filter does not select: where reading ended.
func eventPage(rows []query.ConsoleEventsBeforeRow, most int) (p EventPage) {
	for i, r := range rows {
		e := Event{r.Tx, r.ID, r.At, r.Region, r.Kind, r.Actor, r.Instance, r.Session, r.Detail}
		cut := r.Scanned == eventScan && i == len(rows)-1
		switch {
		case len(p.Events) < most && r.Selected:
			p.Events = append(p.Events, e)
			if cut {
				p.Next = at(e)
			}
		case len(p.Events) == most && (r.Selected || cut):
			p.Next = at(p.Events[most-1])
		case cut:
			p.Next = at(e)
		}
	}
	return p
}

func at(e Event) *EventCursor {
	c := e.Cursor()
	return &c
}

// FeedCursor returns the cursor after the latest event that ConsoleTail returns now. Errors: TooMany, Unavailable.
func (s *Store) FeedCursor(ctx context.Context) (c EventCursor, err error) {
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		r, err := q.ConsoleFeedEnd(ctx)
		c = EventCursor(r)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return c, err
}

// ConsoleTail returns the events after a cursor in the order of the feed, oldest first: read on after the last one. No event appears behind
// a cursor later. Errors: TooMany, Unavailable.
func (s *Store) ConsoleTail(ctx context.Context, after EventCursor, size ConsolePage) (events []Event, err error) {
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ConsoleEventsAfter(ctx, query.ConsoleEventsAfterParams{Tx: after.Tx, ID: after.ID, Most: size.rows()})
		for _, r := range rows {
			events = append(events, Event{r.Tx, r.ID, r.At, r.Region, r.Kind, r.Actor, r.Instance, r.Session, r.Detail})
		}
		return err
	})
	return events, err
}

// Selects reports whether the filter selects an event of a tail.
func (f EventFilter) Selects(e Event) bool {
	return strings.HasPrefix(e.Kind, f.Kinds) && is(f.Region, e.Region) && is(f.Actor, e.Actor) && is(f.Instance, e.Instance) && is(f.Session, e.Session)
}

func is(wanted, value string) bool { return wanted == "" || wanted == value }
