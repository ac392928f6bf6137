package sdk

import (
	"context"
	"slices"
)

const (
	// maxReport keeps a report under the director's 64 KiB even if every byte of it has to be escaped.
	maxReport = 56 << 10
	// maxEntries is the director's bound on either list of a report.
	maxEntries = 1024
)

// room is one session: who was admitted, and what is still to be reported. The [seatBook]'s mutex guards it.
type room struct {
	session string
	ctx     context.Context //nolint:containedctx // ends when the session is no longer reported
	end     context.CancelCauseFunc
	players map[string]*Admission // by sub, the admission that holds the seat
	queue   []*entry
	sending []*entry
	working bool
}

type entryKind int

const (
	joined entryKind = iota
	left
	ended
)

// entry is one thing to report. Only joins have somebody waiting for the verdict.
type entry struct {
	kind      entryKind
	seat      *Admission // nil for ended
	verdict   chan error
	abandoned bool
	tried     bool // went out, with an unknown outcome
}

func countJoins(entries ...*entry) (n int) {
	for _, e := range entries {
		if e.kind == joined {
			n++
		}
	}
	return n
}

// size is how many bytes the entry can take in a report.
func (e *entry) size() int {
	if e.kind == ended {
		return 0
	}
	return 6*(len(e.seat.Sub)+len(e.seat.TokenID)) + len(e.seat.connection) + 48
}

func newRoom(life context.Context, session string) *room {
	r := &room{session: session, players: map[string]*Admission{}}
	r.ctx, r.end = context.WithCancelCause(life)
	return r
}

// nextBatch moves to sending what can go into one report. The director applies joins before leaves before the end, so
// a report that mentions a player twice, or ends a session somebody joins, would change the order of events.
func (r *room) nextBatch() []*entry {
	r.tidy()
	size, subs := 0, map[string]bool{}
	for len(r.queue) > 0 && len(r.sending) < maxEntries {
		e := r.queue[0]
		size += e.size()
		if size > maxReport || e.kind != ended && subs[e.seat.Sub] || e.kind == ended && countJoins(r.sending...) > 0 {
			break
		}
		r.queue = r.queue[1:]
		r.sending = append(r.sending, e)
		if e.kind == ended {
			break
		}
		subs[e.seat.Sub] = true
	}
	return r.sending
}

// tidy drops what has nothing to tell, and lets the leave of a player who is at the door again wait for that: the
// director has not heard that the player was away, so the seat is kept, and once the join is through, no leave is needed.
func (r *room) tidy() {
	r.sending = nil
	r.queue = slices.DeleteFunc(r.queue, r.needless)
	back := map[string]bool{}
	for _, e := range r.queue {
		if e.kind == joined {
			back[e.seat.Sub] = true
		}
	}
	var now, later []*entry
	for _, e := range r.queue {
		if e.kind == left && back[e.seat.Sub] {
			later = append(later, e)
		} else {
			now = append(now, e)
		}
	}
	r.queue = slices.Concat(now, later)
}

// putBack returns a report that was not answered to the front of the queue.
func (r *room) putBack(batch []*entry) {
	for _, e := range batch {
		e.tried = true
	}
	r.sending, r.queue = nil, append(batch, r.queue...)
}

// needless says that an entry has nothing to tell: the player gave up at the door before the report went out, or a
// newer admission of the same player holds the seat.
func (r *room) needless(e *entry) bool {
	switch e.kind {
	case joined:
		return e.abandoned && !e.tried
	case left:
		return r.players[e.seat.Sub] != e.seat
	case ended:
	}
	return false
}

// settle applies the results to the entries of a report that was answered, or the error that it came to.
func (r *room) settle(batch []*entry, answer seatsAnswer, err error) {
	r.sending = nil
	joins := 0
	for _, e := range batch {
		switch e.kind {
		case joined:
			r.settleJoin(e, verdict(answer.Results, joins, e.seat.Sub, err))
			joins++
		case left:
			r.vacate(e.seat, ErrLeft)
		case ended: // The answer says "closed", which strands whoever is left.
		}
	}
}

func (r *room) settleJoin(e *entry, err error) {
	if err == nil {
		if old := r.players[e.seat.Sub]; old != nil {
			old.end(ErrReplaced)
		}
		r.players[e.seat.Sub] = e.seat
	}
	if err == nil && e.abandoned {
		r.queue = append(r.queue, &entry{kind: left, seat: e.seat})
	}
	e.verdict <- err
}

// vacate ends an admission that holds its seat.
func (r *room) vacate(seat *Admission, why error) {
	seat.end(why)
	delete(r.players, seat.Sub)
}

// strand voids the admissions of a session that is over; what is queued is still asked.
func (r *room) strand() {
	for _, seat := range r.players {
		r.vacate(seat, ErrSessionLost)
	}
}

// giveUp voids everything and stops the report in flight.
func (r *room) giveUp() {
	r.strand()
	for _, e := range append(r.sending, r.queue...) {
		if e.kind == joined {
			e.verdict <- ErrSessionLost
		}
	}
	r.sending, r.queue = nil, nil
	r.end(ErrSessionLost)
}

// verdict finds the result of the nth join: results come in the order of the request, joins first.
func verdict(results []seatResult, n int, sub string, err error) error {
	switch {
	case err != nil:
		return err
	case n >= len(results) || results[n].Sub != sub:
		return errShortAnswer
	}
	switch results[n].Result {
	case "ok":
		return nil
	case "replay":
		return ErrReplay
	case "seat_gone":
		return ErrSeatGone
	}
	return ErrNoSeat
}
