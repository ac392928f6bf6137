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
	face ticketFace
	out  *rest.Events
	id   string
	sent int            // the version of the last event
	last db.TicketState // of the last event; "" before the first
	step time.Time      // when a rule widens next; zero: none does
}

// watch streams the states of a ticket until it has left the queue.
func (f ticketFace) watch(ctx context.Context, in rest.In[rest.None], out *rest.Events) error {
	s := &stream{face: f, out: out, id: in.Param("id")}
	if text := in.Header("Last-Event-ID"); text != "" {
		var c rest.Check
		n, err := strconv.Atoi(text)
		c.That(err == nil && n >= 0, "Last-Event-ID", "must be the id of an event")
		if err := c.Err(); err != nil {
			return err
		}
		s.sent = n
	} else {
		s.sent = -1 // the states so far are no news
	}
	// Before the first reading: a change between the two would be missed otherwise.
	follower, err := f.tickets.Hub.Follow(s.id)
	if err != nil {
		return err
	}
	defer follower.Stop()
	beat := time.NewTicker(f.tickets.beat)
	defer beat.Stop()
	for {
		lease, final, err := s.update(ctx)
		if err != nil || final {
			return err
		}
		follower.KeepAlive(lease)
		if more, err := s.idle(ctx, follower.Changed(), follower.Stopped(), beat.C); err != nil || !more {
			return err
		}
	}
}

// idle waits for a change of the ticket or of its step, and sends comments meanwhile. It reports false where the stream
// is to end: the caller connects again and loses nothing.
func (s *stream) idle(ctx context.Context, changed, stopped <-chan struct{},
	beat <-chan time.Time) (more bool, err error) {
	var widens <-chan time.Time
	if !s.step.IsZero() {
		// A millisecond later, so that the step is over when the times are compared again.
		timer := time.NewTimer(max(s.step.Sub(s.face.tickets.Store.Now()), 0) + time.Millisecond)
		defer timer.Stop()
		widens = timer.C
	}
	for {
		select {
		case <-changed:
			return true, nil
		case <-widens:
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

// update sends what the caller does not know yet. While the database cannot be reached there is nothing to send.
func (s *stream) update(ctx context.Context) (lease time.Duration, final bool, err error) {
	t, err := s.face.read(ctx, s.id)
	if fault.Is(err, fault.Unavailable) && s.last != "" {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	// Versions were skipped: this stream, or the one before it, read more slowly than the ticket changed.
	if s.sent >= 0 && t.Version > s.sent+1 {
		if err := s.replay(ctx, t); err != nil {
			return 0, false, err
		}
	}
	d := s.face.show(ctx, t)
	widened := s.widened(d.outlook)
	switch {
	// The version alone is not enough: with Last-Event-ID the first event is due although the version is known.
	case t.Version != s.sent || t.State != s.last:
		err = s.out.Send(string(t.State), t.Version, d)
	case widened:
		err = s.out.Send("widened", t.Version, d)
	}
	s.sent, s.last = t.Version, t.State
	return t.Lease, t.State.Final(), err
}

// widened reports whether a rule has widened since the last update, and remembers when it widens next.
func (s *stream) widened(o *outlook) bool {
	due := !s.step.IsZero() && !s.step.After(s.face.tickets.Store.Now())
	s.step = time.Time{}
	if o == nil || o.Step == nil {
		return false
	}
	if o.Step.NextAt != nil {
		s.step = *o.Step.NextAt
	}
	return due
}

// replay sends the states between the last one that the caller knows and the current one.
func (s *stream) replay(ctx context.Context, t db.PlayerTicket) error {
	ctx, cancel := context.WithTimeout(ctx, s.face.tickets.CallTimeout)
	defer cancel()
	events, err := s.face.tickets.Store.TicketEvents(ctx, s.face.tickets.Region, s.id, s.sent)
	if err != nil {
		return err
	}
	for _, e := range events {
		// The current state is sent from the ticket itself, with all of its fields.
		if e.N >= t.Version {
			break
		}
		d := ticket{TicketID: s.id, State: e.State, Version: e.N, Party: t.Party, Profiles: t.Profiles,
			Reason: e.Reason, Detail: match.EndingInWords(e.Reason), MatchID: e.MatchID}
		if err := s.out.Send(string(e.State), e.N, d); err != nil {
			return err
		}
	}
	return nil
}
