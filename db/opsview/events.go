package opsview

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Event is something that happened.
type Event struct {
	At     time.Time `db:"at" json:"at"`
	Region string    `db:"region" json:"region"`
	Kind   string    `db:"kind" json:"kind"` // noun.verb
	Actor  string    `db:"actor" json:"actor"`
	// Instance is the instance, agent or deployment concerned; "": none.
	Instance string `db:"instance" sql:"coalesce(instance, '')" json:"instance,omitempty"`
	// Session is the session concerned, as region.uuid; "": none.
	Session string          `db:"session" sql:"coalesce(session, '')" json:"session,omitempty"`
	Detail  json.RawMessage `db:"detail" json:"detail"`
	ID      uuid.UUID       `db:"id" json:"-"`
	Tx      uint64          `db:"tx" json:"-"`
}

// Events is the log, latest first. An event of a transaction that is still in progress may appear later, behind events
// that are there already.
var Events = View[Event, EventFilter]{name: "events", order: Order{"-tx", "-id"}}

// EventFeed is the log, oldest first, for programs that must not miss an event: none appears behind a cursor later.
var EventFeed = View[Event, FeedFilter]{name: "event_feed", order: Order{"tx", "id"}}

// ByTime is the order of events of one subject.
var ByTime = Order{"at"}

// EventFilter selects events. Empty fields select all.
type EventFilter struct {
	Kinds    string // the beginning of their kinds, such as "session."
	Region   string
	Actor    string
	Instance string
	Session  string    // region.uuid
	Since    time.Time // zero: from the beginning of the log
	Text     string    // that the detail contains, as JSON, in whichever case
	Settled  bool      // only those that the feed shows: later events all come after them
}

func (f EventFilter) selectRows(w *where) {
	w.addIndexed("instance", f.Instance)
	w.addPrefix("kind", f.Kinds)
	w.addEqual("region", f.Region)
	w.addEqual("actor", f.Actor)
	w.addEqual("session", f.Session)
	if !f.Since.IsZero() {
		w.add("at >= ?", f.Since)
	}
	if f.Text != "" {
		w.add("strpos(lower(detail::text), lower(?)) > 0", f.Text)
	}
	if f.Settled {
		w.add("tx < pg_snapshot_xmin(pg_current_snapshot())")
	}
}

// Selects reports whether the filter selects an event of the feed.
func (f EventFilter) Selects(e Event) bool {
	return strings.HasPrefix(e.Kind, f.Kinds) && isWanted(f.Region, e.Region) && isWanted(f.Actor, e.Actor) &&
		isWanted(f.Instance, e.Instance) && isWanted(f.Session, e.Session)
}

// isWanted reports whether a field of a filter selects a value; "" selects all.
func isWanted(wanted, value string) bool { return wanted == "" || value == wanted }

// FeedFilter selects events of the feed. Fields that are nil select all.
type FeedFilter struct {
	Since *time.Time   // from this time on
	Only  *EventCursor // the event at this place
}

func (f FeedFilter) selectRows(w *where) {
	if f.Since != nil {
		w.add("at >= ?", *f.Since)
	}
	if f.Only != nil {
		w.add("tx = ? AND id = ?", f.Only.Tx, f.Only.ID)
	}
}

// EventCursor is a place in the log: right behind the event with these values, in the direction of reading. The zero
// cursor is before the first event.
type EventCursor struct {
	Tx uint64
	ID uuid.UUID
}

// LatestEvent is the cursor after every event.
func LatestEvent() EventCursor { return EventCursor{Tx: math.MaxInt64, ID: uuid.Max} }

// Cursor returns the place of the event.
func (e Event) Cursor() EventCursor { return EventCursor{e.Tx, e.ID} }

// IsBefore reports whether a cursor is before another one in the log.
func (c EventCursor) IsBefore(other EventCursor) bool {
	return c.Tx < other.Tx || c.Tx == other.Tx && bytes.Compare(c.ID[:], other.ID[:]) < 0
}

// String returns the cursor as people and programs pass it on: number/uuid.
func (c EventCursor) String() string { return strconv.FormatUint(c.Tx, 10) + "/" + c.ID.String() }

// ParseEventCursor is the inverse of [EventCursor.String].
func ParseEventCursor(text string) (c EventCursor, ok bool) {
	number, rest, _ := strings.Cut(text, "/")
	tx, err := strconv.ParseUint(number, 10, 64)
	id, idErr := uuid.Parse(rest)
	if err != nil || idErr != nil {
		return EventCursor{}, false
	}
	return EventCursor{Tx: tx, ID: id}, true
}

// EventLine is an event in a file of JSON lines, with its place in the log.
type EventLine struct {
	Cursor string `json:"cursor"`

	Event
}

// Line returns the event as a line of a file.
func (e Event) Line() EventLine { return EventLine{e.Cursor().String(), e} }

// Key returns the cursor as the After of a Page.
func (c EventCursor) Key() []any { return []any{c.Tx, c.ID} }

// EventPage is a page of events, latest first.
type EventPage struct {
	Events []Event
	// Next is where the next, older page begins; nil: there are no older events. A page may have few events, or none,
	// and a next one: reading ended after 5,000 events.
	Next *EventCursor
}

// eventScan is how many events one page reads at most, so that a filter which selects few events costs no more than
// one that selects all.
const eventScan = 5000

// ReadEvents returns a page of the events before a cursor that a filter selects, at most limit.
func ReadEvents(ctx context.Context, q Querier, before EventCursor, f EventFilter, limit int) (p EventPage, err error) {
	from := Page{After: before.Key(), Limit: limit, Scan: eventScan}
	events, more, err := Events.List(ctx, q, f, from)
	if err != nil {
		return p, err
	}
	p.Events = events
	if more {
		next := events[len(events)-1].Cursor()
		p.Next = &next
		return p, nil
	}
	// The last event that the scan read; none: the log ended before it had read eventScan events.
	lastScanned, err := Events.Read(ctx, q, EventFilter{Instance: f.Instance},
		Page{After: before.Key(), Skip: eventScan - 1, Limit: 1})
	if err != nil {
		return p, err
	}
	if len(lastScanned) > 0 && !lastScanned[0].At.Before(f.Since.Add(-maxDisorder)) {
		next := lastScanned[0].Cursor()
		p.Next = &next
	}
	return p, nil
}

// maxDisorder is by how much an event may be older than one before it in the log: an event has the time at which its
// transaction began.
const maxDisorder = 10 * time.Minute

// FeedEnd returns the cursor after the latest event of the feed. The view event_feed is sorted: it cannot be read from
// its end.
func FeedEnd(ctx context.Context, q Querier) (EventCursor, error) {
	latest, err := Events.Read(ctx, q, EventFilter{Settled: true}, Page{Limit: 1})
	if err != nil || len(latest) == 0 {
		return EventCursor{}, err
	}
	return latest[0].Cursor(), nil
}
