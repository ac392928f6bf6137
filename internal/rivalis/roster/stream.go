package roster

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/wait"
)

const (
	maxReplay = 10_000                 // events that are replayed to a stream, before it gets a Resync instead
	settleFor = 250 * time.Millisecond // how long a Resync waits until the copy includes the changes of the log
)

// Stream is one stream of events. Only one goroutine may use it, except for Close.
type Stream struct {
	events    *Events
	closeOnce sync.Once

	isLive        bool
	nextMark      mark     // of the next event in the log, while live
	lastPosition  position // of the last event that Next has returned
	mustLookUp    bool     // lastPosition is that of an event whose row may contain further events
	hasGap        bool     // events are missing: a Resync is next
	replayedCount int      // events replayed since the stream was last live
}

// OpenStream opens a stream after the event with the given id. If that event is not among the last 24 hours and 10,000
// events, the stream begins with a Resync. With an invalid id, such as the empty one, the stream begins at the present:
// it contains all changes that are committed after OpenStream has returned. The caller must close it. Errors: TooMany
// beyond the limit of streams; Unavailable; ctx's.
func (e *Events) OpenStream(ctx context.Context, lastEventID string) (*Stream, error) {
	if !e.takeStream() {
		return nil, &fault.Error{
			Kind: fault.TooMany, Code: "too_many_streams",
			Detail:     "too many streams of events on this replica: retry, another replica may have room",
			RetryAfter: time.Second,
		}
	}
	s := &Stream{events: e, isLive: true}
	if err := e.awaitLog(ctx); err != nil {
		s.Close()
		return nil, err
	}
	s.nextMark, s.lastPosition = e.recent.newestMark()
	if at, ok := parsePosition(lastEventID); ok {
		s.lastPosition, s.isLive, s.mustLookUp = at, false, true
	}
	return s, nil
}

func (e *Events) takeStream() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.streamCount >= e.maxStreams {
		return false
	}
	e.streamCount++
	// Without a stream the log is not read.
	wait.Wake(e.readNow)
	return true
}

// awaitLog waits until Run reads the log.
func (e *Events) awaitLog(ctx context.Context) error {
	timeout := time.NewTimer(beginWithin)
	defer timeout.Stop()
	for {
		running, changed := e.recent.isRunning()
		if running {
			return nil
		}
		select {
		case <-changed:
		case <-e.stopped:
			return unavailableError("this replica is shutting down")
		case <-ctx.Done():
			return ctx.Err()
		case <-timeout.C:
			return unavailableError("the database cannot be reached")
		}
	}
}

// Close ends the stream.
func (s *Stream) Close() {
	s.closeOnce.Do(func() {
		s.events.mu.Lock()
		defer s.events.mu.Unlock()
		s.events.streamCount--
	})
}

// Next waits for events and returns them in order. After an error other than ctx's the caller must close the stream and
// may resume with a new one. Errors: ctx's; TooMany and Unavailable if a stream that is not live cannot be replayed;
// Unavailable if the replica stops.
func (s *Stream) Next(ctx context.Context) ([]Event, error) {
	for {
		entries, err := s.nextStep(ctx)
		if err != nil {
			return nil, err
		}
		if len(entries) > 0 {
			return eventsOf(entries), nil
		}
	}
}

func eventsOf(entries []entry) []Event {
	events := make([]Event, len(entries))
	for i := range entries {
		events[i] = entries[i].event
	}
	return events
}

// nextStep returns the next events. It returns none after it has waited or has changed the stream's state.
func (s *Stream) nextStep(ctx context.Context) ([]entry, error) {
	switch {
	case s.hasGap:
		return s.sendResync(ctx)
	case s.isLive:
		return s.followLog(ctx)
	case s.mustLookUp:
		return s.resumeAtEvent(ctx)
	default:
		return s.replayPage(ctx)
	}
}

// followLog takes events from the log, or waits for them.
func (s *Stream) followLog(ctx context.Context) ([]entry, error) {
	entries, after, wait, behind := s.events.recent.takeNext(s.nextMark)
	// Events that the stream has not read were dropped from memory. The database has them, unless the reader itself has
	// a gap.
	if behind {
		s.isLive, s.hasGap = false, !s.events.recent.isContinuous(s.nextMark.logEpoch)
		return nil, nil
	}
	if len(entries) > 0 {
		s.nextMark = after
		entries = notBefore(s.lastPosition, entries)
		if len(entries) == 0 {
			return nil, nil
		}
		last := &entries[len(entries)-1]
		// A Sync has no id and stands at the end of a read: there is no rest of a row to look up.
		s.lastPosition, s.mustLookUp = last.position, last.event.ID != ""
		return entries, nil
	}
	select {
	case <-wait:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.events.stopped:
		return nil, unavailableError("this replica is shutting down")
	}
}

// notBefore returns the entries without those that a stream at pos has received: the stream has replayed these from the
// database before this replica read them. A Sync at pos may be a new one.
func notBefore(pos position, entries []entry) []entry {
	for i := range entries {
		if c := entries[i].position.compare(pos); c > 0 || c == 0 && entries[i].event.Type == Sync {
			return entries[i:]
		}
	}
	return nil
}

// resumeAtEvent finds the event at the stream's position, in memory or in the database, and returns the remaining
// events of its row.
func (s *Stream) resumeAtEvent(ctx context.Context) ([]entry, error) {
	if m, ok := s.events.recent.findEvent(s.lastPosition); ok {
		return s.goLive(ctx, m)
	}
	row, found, err := s.events.store.FindAgentEvent(ctx, s.events.region,
		db.AgentEventPoint{Tx: s.lastPosition.rowTx, ID: s.lastPosition.rowID})
	if err != nil {
		return nil, err
	}
	s.mustLookUp, s.hasGap = false, !found
	if !found {
		return nil, nil
	}
	rest := s.events.expandAll([]db.AgentEvent{row})
	rest = rest[min(s.lastPosition.rowIndex+1, len(rest)):]
	// The rest of the row is returned here: replayPage continues after the row.
	s.lastPosition.rowIndex = maxInRow
	return s.countReplayed(rest), nil
}

// replayPage reads events from the database until the following events are in memory.
func (s *Stream) replayPage(ctx context.Context) ([]entry, error) {
	if m, ok := s.events.recent.enterAfter(s.lastPosition); ok {
		return s.goLive(ctx, m)
	}
	page, err := s.events.store.ReplayAgentEvents(ctx, s.events.region,
		db.AgentEventPoint{Tx: s.lastPosition.rowTx, ID: s.lastPosition.rowID})
	if err != nil {
		return nil, err
	}
	s.lastPosition = position{rowTx: page.NextPoint.Tx, rowID: page.NextPoint.ID,
		rowIndex: lastOfRow(page.NextPoint.ID)}
	return s.countReplayed(s.events.expandAll(page.Events)), nil
}

// countReplayed counts replayed events. Beyond the limit it drops them and schedules a Resync.
func (s *Stream) countReplayed(entries []entry) []entry {
	s.replayedCount += len(entries)
	// Reading the lists again costs the client and the database less than so many events.
	if s.replayedCount > maxReplay {
		s.hasGap = true
		return nil
	}
	return entries
}

// goLive switches from the database to the events in memory. It returns a Sync, because the stream may have been cut
// before the Sync that was due.
func (s *Stream) goLive(ctx context.Context, m mark) ([]entry, error) {
	// If the log was started again since the stream was opened, events before its new beginning may be missing.
	if m.logEpoch != s.nextMark.logEpoch {
		s.hasGap = true
		return nil, nil
	}
	s.isLive, s.mustLookUp, s.nextMark, s.replayedCount = true, false, m, 0
	return s.statsEvent(ctx, Sync, s.lastPosition)
}

// sendResync starts again at the end of the log, and returns a Resync.
func (s *Stream) sendResync(ctx context.Context) ([]entry, error) {
	m, end := s.events.recent.newestMark()
	s.isLive, s.hasGap, s.mustLookUp, s.nextMark, s.lastPosition, s.replayedCount = true, false, false, m, end, 0
	return s.statsEvent(ctx, Resync, end)
}

// statsEvent waits until the copy includes the changes of all events up to a position, and returns an event with the
// totals.
func (s *Stream) statsEvent(ctx context.Context, kind string, upTo position) ([]entry, error) {
	waiting, cancel := context.WithTimeout(ctx, settleFor)
	defer cancel()
	last := upTo.rowTx
	if upTo.rowID == (uuid.UUID{}) {
		last-- // the position is before all events of this transaction
	}
	_ = s.events.roster.WaitFor(waiting, last) // in an outage the last copy is used
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s.events.eventCounts.countSent(kind)
	return []entry{{Event{Type: kind, Data: s.events.roster.View().fleetStats.AppendJSON(nil)}, upTo}}, nil
}

func unavailableError(detail string) error {
	return &fault.Error{Kind: fault.Unavailable, Code: "unavailable", Detail: detail, RetryAfter: time.Second}
}
