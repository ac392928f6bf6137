package ops

import (
	"context"
	"encoding/json"
	"time"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
)

// streamEvents streams events until the caller disconnects or the replica stops.
func (f *eventsFace) streamEvents(ctx context.Context, in rest.In[rest.None], out *rest.Events) error {
	a, err := f.readRequest(in.Query, in.Header("Last-Event-ID"))
	if err != nil {
		return err
	}
	// The slot is taken before the database is asked, so that a stream that is refused costs nothing.
	select {
	case f.streamSlots <- struct{}{}:
		defer func() { <-f.streamSlots }()
	default:
		return &fault.Error{Kind: fault.TooMany, Code: "too_many_streams", RetryAfter: beatEvery,
			Detail: "this replica has as many streams of events as it may have"}
	}
	if a, err = f.startCursor(ctx, a); err != nil {
		return err
	}
	// From here on an error ends the stream, and can have no status of its own.
	out.Begin()
	s := eventStream{face: f, out: out, request: a, sentCursor: a.afterCursor}
	return s.run(ctx)
}

// startCursor returns where a stream begins: at its cursor, or at the end of the log.
func (f *eventsFace) startCursor(ctx context.Context, a eventsRequest) (eventsRequest, error) {
	if a.hasCursor {
		return a, f.checkCursor(ctx, a)
	}
	ctx, cancel := context.WithTimeout(ctx, f.options.CallTimeout)
	defer cancel()
	var err error
	a.afterCursor, err = opsview.FeedEnd(ctx, f.options.EventLog)
	return a, unavailableError(err)
}

// eventStream is one caller that follows the log. What it sends is read when it sends, so that a caller that reads
// slowly costs no memory.
type eventStream struct {
	face       *eventsFace
	out        *rest.Events
	request    eventsRequest
	sentCursor opsview.EventCursor // the last cursor that the caller has
}

// run sends pages until the caller disconnects or the replica stops.
func (s *eventStream) run(ctx context.Context) error {
	read, beat := time.NewTicker(followEvery), time.NewTicker(beatEvery)
	defer read.Stop()
	defer beat.Stop()
	for {
		more, err := s.sendPage(ctx)
		if err != nil && !fault.Is(err, fault.Unavailable) { // an outage is silent: the stream goes on after it
			return err
		}
		// A stream that is far behind reads page after page, without waiting for the next second.
		if more {
			select {
			case <-s.face.options.Stopping:
				return nil
			default:
				continue
			}
		}
		select {
		case <-read.C:
		case <-beat.C:
			if err := s.sendBeat(); err != nil {
				return err
			}
		case <-s.face.options.Stopping:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sendPage sends a page. It reports whether more may follow at once.
func (s *eventStream) sendPage(ctx context.Context) (more bool, err error) {
	page, err := s.face.readPage(ctx, s.request, readAtOnce)
	if err != nil {
		return false, err
	}
	for _, e := range page.Events {
		data, err := json.Marshal(e.Line())
		if err != nil {
			return false, err
		}
		if err := s.out.SendJSON(e.Kind, e.Cursor().String(), data); err != nil {
			return false, err
		}
		s.sentCursor = e.Cursor()
	}
	// The next page begins after all that was read, selected or not.
	s.request.afterCursor = page.Next
	return page.IsFull, nil
}

// sendBeat keeps a silent stream open. It moves the caller's cursor over events that it did not ask for: otherwise a
// reconnect would read the log from the caller's last event, or find that dropped.
func (s *eventStream) sendBeat() error {
	if s.sentCursor == s.request.afterCursor {
		return s.out.Beat()
	}
	s.sentCursor = s.request.afterCursor
	data, err := json.Marshal(map[string]string{"cursor": s.sentCursor.String()})
	if err != nil {
		return err
	}
	return s.out.SendJSON("cursor", s.sentCursor.String(), data)
}
