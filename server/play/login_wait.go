package play

import (
	"context"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
)

// countWaiter counts a call that waits. Call done when it no longer does. Errors: Unavailable when too many wait.
func (f loginFace) countWaiter() (done func(), err error) {
	// The counter is raised before it is compared, so that two calls that come at once cannot both take the last place.
	if f.waitingCalls.Add(1) > int64(f.queue.MaxWaiters) {
		f.waitingCalls.Add(-1)
		return nil, fault.NewUnavailable("too many calls wait in the login queue at this replica", nil)
	}
	return func() { f.waitingCalls.Add(-1) }, nil
}

// showPlace answers at once, or when the player is admitted, or when the time to wait is over.
func (f loginFace) showPlace(ctx context.Context, in rest.In[rest.None]) (loginAnswer, error) {
	r, err := f.requestOf(ctx, in)
	if err != nil {
		return loginAnswer{}, err
	}
	var c rest.Check
	wait := c.Wait(in.Query("wait"))
	if err := c.Err(); err != nil {
		return loginAnswer{}, err
	}
	// Most callers are answered at once, so a call counts as one that waits only after a reading.
	l, err := f.readPlace(ctx, r)
	if err != nil || l.WaitingPlace == nil || wait == 0 {
		return answerOf(l), err
	}
	done, err := f.countWaiter()
	if err != nil {
		return loginAnswer{}, err
	}
	defer done()
	l, err = f.awaitAdmission(ctx, r, l, wait)
	return answerOf(l), err
}

// awaitAdmission waits until a player whose last place is known is admitted, or until the wait is over.
func (f loginFace) awaitAdmission(ctx context.Context, r db.LoginRequest, l db.Login,
	wait time.Duration) (db.Login, error) {
	over, step := time.NewTimer(wait), time.NewTicker(f.queue.lookEvery)
	defer over.Stop()
	defer step.Stop()
	for l.WaitingPlace != nil {
		select {
		case <-step.C:
			var err error
			if l, err = f.followPlace(ctx, r, l); err != nil {
				return l, err
			}
		case <-over.C:
			return l, nil
		// The answer of a replica that stops is the place: the client asks again, and another replica answers.
		case <-f.queue.Stopping:
			return l, nil
		case <-ctx.Done():
			return l, ctx.Err()
		}
	}
	return l, nil
}

// A position up to nearPosition is sent when it changes, a later one at most once in farInterval: sending each change
// to a crowd would cost the replica more than all else, and nobody reads the positions faster.
const (
	nearPosition = 100
	farInterval  = 5 * time.Second
)

// streamPlace streams the place of a player until it is admitted.
func (f loginFace) streamPlace(ctx context.Context, in rest.In[rest.None], out *rest.Events) error {
	r, err := f.requestOf(ctx, in)
	if err != nil {
		return err
	}
	l, err := f.readPlace(ctx, r)
	if err != nil {
		return err
	}
	done, err := f.countWaiter()
	if err != nil {
		return err
	}
	defer done()
	s := placeStream{out: out}
	step, beat := time.NewTicker(f.queue.lookEvery), time.NewTicker(f.queue.beatEvery)
	defer step.Stop()
	defer beat.Stop()
	for {
		if err := s.send(l); err != nil || l.WaitingPlace == nil {
			return err
		}
		select {
		// During an outage followPlace returns the last place that is known, and the stream stays open.
		case <-step.C:
			if l, err = f.followPlace(ctx, r, l); err != nil {
				return err
			}
		case <-beat.C:
			if err := out.Beat(); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-f.queue.Stopping:
			return nil // the caller connects again and keeps its place
		}
	}
}

// placeStream sends where a player stands, as it changes.
type placeStream struct {
	out          *rest.Events
	sentEvents   int       // numbers the events, from 1
	lastPosition int       // of the last one
	sentAt       time.Time // of the last one
}

func (s *placeStream) send(l db.Login) error {
	if l.WaitingPlace == nil {
		return s.sendEvent(stateAdmitted, l)
	}
	position := l.WaitingPlace.Position
	if !s.isDue(position) {
		return nil
	}
	s.lastPosition, s.sentAt = position, time.Now()
	return s.sendEvent(stateWaiting, l)
}

// isDue reports whether a position is to be sent now: the first, and each that is another one, but not too often.
func (s *placeStream) isDue(position int) bool {
	if s.sentEvents == 0 {
		return true
	}
	return position != s.lastPosition && (position <= nearPosition || time.Since(s.sentAt) >= farInterval)
}

func (s *placeStream) sendEvent(name string, l db.Login) error {
	s.sentEvents++
	return s.out.Send(name, s.sentEvents, answerOf(l))
}
