package sdk

import (
	"context"
	"errors"
	"slices"
)

const (
	// maxReportBytes keeps a report below the director's limit of 64 KiB, even if JSON escapes each of its bytes.
	maxReportBytes = 56 << 10
	// maxReportEntries is the director's limit for each list of a report.
	maxReportEntries = 1024
)

// session holds the admitted players of one session and the entries still to report. The [seatReporter]'s mutex guards
// it.
type session struct {
	id             string
	ctx            context.Context //nolint:containedctx // ends when the session is no longer reported
	end            context.CancelCauseFunc
	admissionBySub map[string]*Admission // by sub, the admission that holds the seat
	queuedEntries  []*entry
	sendingEntries []*entry
	isWorking      bool
}

type entryKind int

const (
	joined entryKind = iota
	left
	ended
)

// entry is one event to report: a join, a leave or the session's end. Only an Admit call waits for its entry's result.
type entry struct {
	kind        entryKind
	seat        *Admission // nil for ended
	resultQueue chan error
	isAbandoned bool
	sentBefore  bool // went out, with an unknown outcome
}

func countJoins(entries ...*entry) (n int) {
	for _, e := range entries {
		if e.kind == joined {
			n++
		}
	}
	return n
}

// jsonSize is an upper bound of the entry's bytes in a report, with every byte of sub and jti escaped.
func (e *entry) jsonSize() int {
	if e.kind == ended {
		return 0
	}
	return 6*(len(e.seat.Sub)+len(e.seat.TokenID)) + len(e.seat.connectionName) + 48
}

func newSession(life context.Context, id string) *session {
	s := &session{id: id, admissionBySub: map[string]*Admission{}}
	s.ctx, s.end = context.WithCancelCause(life)
	return s
}

// beginBatch moves the entries of the next report from queuedEntries to sendingEntries, and returns them. The director
// applies a report's joins first, then its leaves, then its end. A report must therefore not name a player twice, nor
// both join a player and end the session: either would change the order of events.
func (s *session) beginBatch() []*entry {
	s.sendingEntries = nil
	s.queuedEntries = slices.DeleteFunc(s.queuedEntries, s.isObsolete)
	s.postponeLeaves()
	size, subs := 0, map[string]bool{}
	for len(s.queuedEntries) > 0 && len(s.sendingEntries) < maxReportEntries {
		e := s.queuedEntries[0]
		size += e.jsonSize()
		if size > maxReportBytes || e.kind != ended && subs[e.seat.Sub] ||
			e.kind == ended && countJoins(s.sendingEntries...) > 0 {
			break
		}
		s.queuedEntries = s.queuedEntries[1:]
		s.sendingEntries = append(s.sendingEntries, e)
		if e.kind == ended {
			break
		}
		subs[e.seat.Sub] = true
	}
	return s.sendingEntries
}

// postponeLeaves moves the leave of a player who is joining again behind all other entries. The director does not know
// yet that this player left: the join takes over the seat, and then makes the leave obsolete.
func (s *session) postponeLeaves() {
	rejoining := map[string]bool{}
	for _, e := range s.queuedEntries {
		if e.kind == joined {
			rejoining[e.seat.Sub] = true
		}
	}
	var now, later []*entry
	for _, e := range s.queuedEntries {
		if e.kind == left && rejoining[e.seat.Sub] {
			later = append(later, e)
		} else {
			now = append(now, e)
		}
	}
	s.queuedEntries = slices.Concat(now, later)
}

// putBack moves the entries of an unanswered report to the front of the queue.
func (s *session) putBack(batch []*entry) {
	for _, e := range batch {
		e.sentBefore = true
	}
	s.sendingEntries, s.queuedEntries = nil, slices.Concat(batch, s.queuedEntries)
}

// isObsolete returns whether an entry need not be reported: a join whose Admit call ended before it was first sent, or
// a leave of an admission that no longer holds the seat.
func (s *session) isObsolete(e *entry) bool {
	switch e.kind {
	case joined:
		return e.isAbandoned && !e.sentBefore
	case left:
		return s.admissionBySub[e.seat.Sub] != e.seat
	default: // the end of a session is always reported
		return false
	}
}

// settleEntries applies the director's answer, or the error, to the entries of a report.
func (s *session) settleEntries(batch []*entry, answer seatsAnswer, err error) {
	s.sendingEntries = nil
	joins := 0
	// An end needs nothing here: its answer has closed set, for which the caller ends the remaining admissions.
	for _, e := range batch {
		if e.kind == joined {
			s.settleJoin(e, joinResult(answer.Results, joins, e.seat.Sub, err))
			joins++
		}
		if e.kind == left {
			s.vacateSeat(e.seat, ErrLeft)
		}
	}
}

func (s *session) settleJoin(e *entry, err error) {
	if err == nil {
		if old := s.admissionBySub[e.seat.Sub]; old != nil {
			old.end(ErrReplaced)
		}
		s.admissionBySub[e.seat.Sub] = e.seat
		// Its Admit call has ended, so that nobody plays on the seat.
		if e.isAbandoned {
			s.queuedEntries = append(s.queuedEntries, &entry{kind: left, seat: e.seat})
		}
	}
	e.resultQueue <- err
}

// vacateSeat ends an admission that holds a seat.
func (s *session) vacateSeat(seat *Admission, why error) {
	seat.end(why)
	delete(s.admissionBySub, seat.Sub)
}

// endAdmissions ends the admissions of a session that the director has closed. The queue's entries are still reported.
func (s *session) endAdmissions() {
	for _, seat := range s.admissionBySub {
		s.vacateSeat(seat, ErrSessionLost)
	}
}

// cancelEntries ends all admissions, fails all joins without a result, and aborts the report in flight.
func (s *session) cancelEntries() {
	s.endAdmissions()
	for _, e := range slices.Concat(s.sendingEntries, s.queuedEntries) {
		if e.kind == joined {
			e.resultQueue <- ErrSessionLost
		}
	}
	s.sendingEntries, s.queuedEntries = nil, nil
	s.end(ErrSessionLost)
}

var errShortAnswer = errors.New("sdk: seat report was answered without a result for every entry")

// joinResult returns the result of the nth join, counted from 0, as an error. Results have the order of the request,
// joins first.
func joinResult(results []seatResult, n int, sub string, err error) error {
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
