package ops

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
)

const (
	// readAtOnce is how many events one reading of the log passes, and maxRead how many a call for a page of JSON lines
	// does: a filter that selects few must not read the whole log in one call.
	readAtOnce, maxRead = 1000, 10_000
	maxLines            = 1000 // of a page
	maxName             = 128  // of a region, an instance or a session, in characters
	// followEvery is how often a stream reads what is new.
	followEvery = time.Second
	// beatEvery keeps proxies from ending a silent stream.
	beatEvery = 15 * time.Second
	// maxPageBytes bounds a page of JSON lines, which may have one line more.
	maxPageBytes = 4 << 20
	// maxStreams bounds the streams of a replica: each reads the log once a second.
	maxStreams = 64
)

// Events configures the routes of the event log. All fields are required.
type Events struct {
	EventLog    opsview.Querier
	EventKinds  []string      // those that there are
	CallTimeout time.Duration // of a reading
	Stopping    <-chan struct{}
}

type eventsFace struct {
	options     Events
	streamSlots chan struct{} // a slot for each stream
}

// eventsRequest is what a call asks for.
type eventsRequest struct {
	selection   opsview.Selection
	afterCursor opsview.EventCursor
	hasCursor   bool
	maxEvents   int
}

// readRequest reads the parameters of a call. lastEventID is the header of that name, which counts more than after; ""
// is none.
func (f *eventsFace) readRequest(query func(string) string, lastEventID string) (a eventsRequest, err error) {
	var check rest.Check
	a.selection = opsview.Selection{Region: query("region"), Instance: query("instance"), Session: query("session")}
	for _, name := range []string{"region", "instance", "session"} {
		// Only the length is checked: the log may have events of what is not there any more.
		check.That(utf8.RuneCountInString(query(name)) <= maxName, name, "must have at most 128 characters")
	}
	if text := query("kinds"); text != "" {
		a.selection.Kinds = strings.Split(text, ",")
	}
	// A misspelt kind would select no event, for ever, without an error.
	if err := opsview.CheckKinds(a.selection.Kinds, f.options.EventKinds); err != nil {
		check.That(false, "kinds", err.Error())
	}
	name, text := "after", query("after")
	if lastEventID != "" {
		// Browsers send the header with a stream that continues, whose URL still has the first cursor.
		name, text = "Last-Event-ID", lastEventID
	}
	if text != "" {
		a.afterCursor, a.hasCursor = opsview.ParseEventCursor(text)
		check.That(a.hasCursor, name, "must be the cursor of an event, number/uuid")
	}
	a.maxEvents = maxLines
	if text := query("limit"); text != "" {
		a.maxEvents, err = strconv.Atoi(text)
		check.That(err == nil && a.maxEvents >= 1 && a.maxEvents <= maxLines, "limit",
			"must be a whole number from 1 to 1000")
	}
	return a, check.Err()
}

// readPage reads a page of the log within [Events.CallTimeout]: a filter that selects little may read far, and holds a
// connection meanwhile.
func (f *eventsFace) readPage(ctx context.Context, a eventsRequest, limit int) (opsview.FeedPage, error) {
	ctx, cancel := context.WithTimeout(ctx, f.options.CallTimeout)
	defer cancel()
	page, err := opsview.ReadFeed(ctx, f.options.EventLog, a.afterCursor, nil, a.selection, limit)
	return page, unavailableError(err)
}

// checkCursor checks that the log still has what follows the cursor of a call.
func (f *eventsFace) checkCursor(ctx context.Context, a eventsRequest) error {
	ctx, cancel := context.WithTimeout(ctx, f.options.CallTimeout)
	defer cancel()
	err := opsview.CheckCursor(ctx, f.options.EventLog, a.afterCursor)
	// Events after the cursor may have been dropped with their day: a caller that went on would not notice the gap.
	if errors.Is(err, opsview.ErrCursorGone) {
		return fault.New(fault.Gone, "cursor_gone", "%s", err)
	}
	return unavailableError(err)
}

// unavailableError is the error of a log that could not be read.
func unavailableError(err error) error {
	if err == nil {
		return nil
	}
	return &fault.Error{Kind: fault.Unavailable, Code: "unavailable", Detail: "the event log cannot be read now",
		RetryAfter: time.Second, Err: err}
}
