package play

import (
	"context"
	"strconv"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/server/rest"
)

// stream is one caller that follows a ticket. What it sends is what the database holds when it sends, so a caller that
// reads slowly costs no memory: states that it has missed are read again.
type stream struct {
	face        ticketFace
	out         *rest.Events
	ticketID    string
	sentVersion int            // the version of the last event
	sentState   db.TicketState // of the last event; "" before the first
	widensAt    time.Time      // when a rule widens next; zero: none does
	isStale     bool           // the last reading failed
}

// streamTicket streams the states of a ticket until it has left the queue.
func (f ticketFace) streamTicket(ctx context.Context, in rest.In[rest.None], out *rest.Events) error {
	s := &stream{face: f, out: out, ticketID: in.Param("id")}
	var err error
	if s.sentVersion, err = lastEventOf(in); err != nil {
		return err
	}
	// A follower that began after the first reading would miss a change between the two.
	follower, err := f.tickets.Hub.Follow(s.ticketID)
	if err != nil {
		return err
	}
	defer follower.Stop()
	beat := time.NewTicker(f.tickets.beatEvery)
	defer beat.Stop()
	for {
		lease, isFinal, err := s.sendUpdate(ctx)
		if err != nil || isFinal {
			return err
		}
		follower.KeepAlive(lease)
		if more, err := s.awaitChange(ctx, follower.Changed(), follower.Stopped(), beat.C); err != nil || !more {
			return err
		}
	}
}

// lastEventOf returns the version of the last event that a caller got before it connected again; -1 for a caller that
// connects for the first time, and is not sent the states so far.
func lastEventOf(in rest.In[rest.None]) (version int, err error) {
	text := in.Header("Last-Event-ID")
	if text == "" {
		return -1, nil
	}
	var c rest.Check
	version, err = strconv.Atoi(text)
	c.That(err == nil && version >= 0, "Last-Event-ID", "must be the id of an event")
	return version, c.Err()
}

// awaitChange waits for a change of the ticket or of its step, and sends comments meanwhile. It returns false when the
// stream must end: the caller connects again and loses nothing.
func (s *stream) awaitChange(ctx context.Context, changed, stopped <-chan struct{},
	beat <-chan time.Time) (more bool, err error) {
	var widens <-chan time.Time // nil unless a rule widens
	if !s.widensAt.IsZero() {
		// A millisecond more, so that noteStep finds the step taken.
		timer := time.NewTimer(max(s.widensAt.Sub(s.face.tickets.Store.Now()), 0) + time.Millisecond)
		defer timer.Stop()
		widens = timer.C
	}
	var readAgain <-chan time.Time // nil unless the last reading failed
	if s.isStale {
		readAgain = time.After(readAgainAfter)
	}
	for {
		select {
		case <-changed:
			return true, nil
		case <-widens:
			return true, nil
		case <-readAgain:
			return true, nil
		case <-beat:
			if err := s.out.Beat(); err != nil {
				return false, err
			}
		case <-ctx.Done():
			return false, ctx.Err()
		case <-s.face.tickets.Stopping:
			return false, nil
		case <-stopped:
			return false, nil
		}
	}
}

// sendUpdate sends what the caller does not know yet, and returns how long the ticket stays while somebody waits for it
// and whether its state is final. While the database cannot be reached there is nothing to send.
func (s *stream) sendUpdate(ctx context.Context) (lease time.Duration, isFinal bool, err error) {
	t, err := s.face.readTicket(ctx, s.ticketID)
	s.isStale = fault.Is(err, fault.Unavailable)
	// Before the first event the caller gets the error, and another replica may answer its next try.
	if s.isStale && s.sentState != "" {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	// Versions were skipped: this stream, or the one before it, read more slowly than the ticket changed.
	if s.sentVersion >= 0 && t.StateVersion > s.sentVersion+1 {
		if err := s.replayStates(ctx, t); err != nil {
			return 0, false, err
		}
	}
	d := s.face.describeTicket(ctx, t)
	widened := s.noteStep(d.outlook)
	switch {
	// The state is compared as well: after Last-Event-ID the first event is due although its version is known.
	case t.StateVersion != s.sentVersion || t.State != s.sentState:
		err = s.out.Send(string(t.State), t.StateVersion, d)
	case widened:
		err = s.out.Send("widened", t.StateVersion, d)
	}
	s.sentVersion, s.sentState = t.StateVersion, t.State
	return t.LeaseTTL, t.State.IsFinal(), err
}

// noteStep notes when a rule widens next, and returns whether one has widened since the last update.
func (s *stream) noteStep(o *outlook) (widened bool) {
	widened = !s.widensAt.IsZero() && !s.widensAt.After(s.face.tickets.Store.Now())
	s.widensAt = time.Time{}
	if o == nil || o.Step == nil {
		return false
	}
	if o.Step.NextAt != nil {
		s.widensAt = *o.Step.NextAt
	}
	return widened
}

// replayStates sends the states between the last one that the caller knows and the current one.
func (s *stream) replayStates(ctx context.Context, t db.PlayerTicket) error {
	ctx, cancel := context.WithTimeout(ctx, s.face.tickets.CallTimeout)
	defer cancel()
	events, err := s.face.tickets.Store.TicketEvents(ctx, s.face.tickets.Region, s.ticketID, s.sentVersion)
	if err != nil {
		return err
	}
	for _, e := range events {
		// The current state is sent from the ticket itself, with all of its fields.
		if e.EventNumber >= t.StateVersion {
			break
		}
		d := ticket{TicketID: s.ticketID, State: e.State, Version: e.EventNumber, Party: t.Party,
			Profiles: t.ProfileNames,
			Reason:   e.Reason, Detail: match.EndingInWords(e.Reason), MatchID: e.MatchID}
		if err := s.out.Send(string(e.State), e.EventNumber, d); err != nil {
			return err
		}
	}
	return nil
}
