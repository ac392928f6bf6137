package watch

import (
	"bytes"
	"context"
	"time"

	"github.com/lattice-director/director/db"
)

// Watch sends a ticket's assignment: at once where it is assigned, and each other one that follows, until there is no such
// ticket any more. Of several that follow each other faster than send returns, it sends the last. The same assignment made
// again is not sent again, but lets the ticket stay for another Timing.AssignedFor.
//
// It always ends with an error: NotFound when the ticket is gone or never was; what send returned; that of ctx; Unavailable
// when the hub ends, too many watch, or the ticket could not be looked at in the beginning. What assignment holds must not be changed.
func (h *Hub) Watch(ctx context.Context, id string, send func(assignment []byte) error) error {
	if err := h.begun(ctx); err != nil {
		return err
	}
	w := &watcher{hub: h, id: id, send: send, news: make(chan db.Settled, 1)}
	if err := h.join(w); err != nil { // before the look, so that what the look does not see is handed out
		return err
	}
	defer h.leave(w)
	t, err := w.look(ctx)
	if err != nil {
		return err
	}
	if t.KeptAlive > 0 {
		defer h.keep(id, t.KeptAlive)()
	}
	if err := w.takeTicket(t); err != nil {
		return err
	}
	return w.follow(ctx)
}

// watcher is one call of Watch.
type watcher struct {
	hub  *Hub
	id   string
	send func(assignment []byte) error
	news chan db.Settled // the last that was handed out, until it is taken

	assignment []byte           // the last that was sent, if any
	at         time.Time        // when it was made; zero when there is none
	again      <-chan time.Time // when to look at the ticket
}

// tell leaves the news. Only the hub's one reader does, so there is room for them when the old ones are out.
func (w *watcher) tell(s db.Settled) {
	select {
	case <-w.news:
	default:
	}
	w.news <- s
}

func (w *watcher) follow(ctx context.Context) error {
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.hub.over:
			return w.hub.ended()
		case s := <-w.news:
			err = w.hear(ctx, s)
		case <-w.again:
			err = w.lookAgain(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// hear takes the news. Those that are older than what is known are old, or the database's clock was put back: the ticket
// itself tells, as it tells whether it is gone.
func (w *watcher) hear(ctx context.Context, s db.Settled) error {
	if !s.Assigned || s.At.Before(w.at) {
		return w.lookAgain(ctx)
	}
	return w.take(s.Assignment, s.At)
}

func (w *watcher) look(ctx context.Context) (db.Ticket, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return w.hub.store.GetTicket(ctx, w.hub.region, w.id)
}

// lookAgain is not put off by a database that is away: nothing happens to the ticket until it is back.
func (w *watcher) lookAgain(ctx context.Context) error {
	t, err := w.look(ctx)
	if db.IsKind(err, db.Unavailable) {
		w.again = time.After(time.Second)
		return nil
	}
	if err != nil {
		return err
	}
	return w.takeTicket(t)
}

func (w *watcher) takeTicket(t db.Ticket) error {
	if t.Assignment == nil {
		return nil
	}
	return w.take(t.Assignment, t.SettledAt)
}

// take sends an assignment that is not the last one sent, and looks again when the ticket's time is over: by then it may
// have been assigned anew.
func (w *watcher) take(assignment []byte, at time.Time) error {
	left := at.Add(w.hub.store.Timing().AssignedFor).Sub(w.hub.store.Now())
	w.again = time.After(max(left, recheck))
	known := !w.at.IsZero() && bytes.Equal(w.assignment, assignment)
	w.assignment, w.at = assignment, at
	if known {
		return nil
	}
	return w.send(assignment)
}
