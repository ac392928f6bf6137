package ops

import (
	"context"
	"encoding/json"
	"time"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
)

// follow streams events until the caller disconnects or the replica stops.
func (f *eventsFace) follow(ctx context.Context, in rest.In[rest.None], out *rest.Events) error {
	a, err := f.read(in.Query, in.Header("Last-Event-ID"))
	if err != nil {
		return err
	}
	select {
	// Taken before the database is asked: streams that are refused cost nothing.
	case f.streams <- struct{}{}:
		defer func() { <-f.streams }()
	default:
		return &fault.Error{Kind: fault.TooMany, Code: "too_many_streams", RetryAfter: beatEvery,
			Detail: "this replica has as many streams of events as it may have"}
	}
	if a, err = f.start(ctx, a); err != nil {
		return err
	}
	out.Begin()
	s := eventStream{face: f, out: out, request: a, reached: a.cursor}
	return s.run(ctx)
}

// start returns where a stream begins: at its cursor, or at the end of the log.
func (f *eventsFace) start(ctx context.Context, a asked) (asked, error) {
	if a.hasCursor {
		return a, f.begin(ctx, a)
	}
	ctx, cancel := context.WithTimeout(ctx, f.options.CallTimeout)
	defer cancel()
	var err error
	a.cursor, err = opsview.FeedEnd(ctx, f.options.Log)
	return a, unavailable(err)
}

// eventStream is one caller that follows the log. What it sends is read when it sends, so that a caller that reads
// slowly costs no memory.
type eventStream struct {
	face    *eventsFace
	out     *rest.Events
	request asked
	reached opsview.EventCursor // the last cursor that the caller has
}

func (s *eventStream) run(ctx context.Context) error {
	read, beat := time.NewTicker(followEvery), time.NewTicker(beatEvery)
	defer read.Stop()
	defer beat.Stop()
	for {
		more, err := s.send(ctx)
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
			if err := s.beat(); err != nil {
				return err
			}
		case <-s.face.options.Stopping:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// send sends a page. It reports whether more may follow at once.
func (s *eventStream) send(ctx context.Context) (more bool, err error) {
	page, err := s.face.page(ctx, s.request, scanned)
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
		s.reached = e.Cursor()
	}
	// Also over what was not selected, which need not be read again.
	s.request.cursor = page.Next
	return page.IsFull, nil
}

// beat keeps a silent stream open. It moves the caller's cursor over events that it did not ask for, so that it does not
// make the log be read again from its last event, or find that dropped.
func (s *eventStream) beat() error {
	if s.reached == s.request.cursor {
		return s.out.Beat()
	}
	s.reached = s.request.cursor
	data, err := json.Marshal(map[string]string{"cursor": s.reached.String()})
	if err != nil {
		return err
	}
	return s.out.SendJSON("cursor", s.reached.String(), data)
}
