package sdk

import (
	"context"
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
	queuedReports  []*entry
	sendingReports []*entry
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

// nextBatch moves the entries of the next report from queue to sending. The director applies a report's joins first,
// then its leaves, then its end. A report must therefore not name a player twice, nor both join a player and end the
// session: either would change the order of events.
func (s *session) nextBatch() []*entry {
	s.dropObsolete()
	size, subs := 0, map[string]bool{}
	for len(s.queuedReports) > 0 && len(s.sendingReports) < maxReportEntries {
		e := s.queuedReports[0]
		size += e.jsonSize()
		if size > maxReportBytes || e.kind != ended && subs[e.seat.Sub] ||
			e.kind == ended && countJoins(s.sendingReports...) > 0 {
			break
		}
		s.queuedReports = s.queuedReports[1:]
		s.sendingReports = append(s.sendingReports, e)
		if e.kind == ended {
			break
		}
		subs[e.seat.Sub] = true
	}
	return s.sendingReports
}

// dropObsolete deletes obsolete entries, and moves the leave of a player who is joining again behind all other entries.
// The director does not know yet that this player left: the join takes over the seat, and then makes the leave
// obsolete.
func (s *session) dropObsolete() {
	s.sendingReports = nil
	s.queuedReports = slices.DeleteFunc(s.queuedReports, s.isObsolete)
	rejoining := map[string]bool{}
	for _, e := range s.queuedReports {
		if e.kind == joined {
			rejoining[e.seat.Sub] = true
		}
	}
	var now, later []*entry
	for _, e := range s.queuedReports {
		if e.kind == left && rejoining[e.seat.Sub] {
			later = append(later, e)
		} else {
			now = append(now, e)
		}
	}
	s.queuedReports = slices.Concat(now, later)
}

// putBack moves the entries of an unanswered report to the front of the queue.
func (s *session) putBack(batch []*entry) {
	for _, e := range batch {
		e.sentBefore = true
	}
	s.sendingReports, s.queuedReports = nil, append(batch, s.queuedReports...)
}

// isObsolete returns whether an entry need not be reported: a join whose Admit call ended before it was first sent, or
// a leave of an admission that no longer holds the seat.
func (s *session) isObsolete(e *entry) bool {
	switch e.kind {
	case joined:
		return e.isAbandoned && !e.sentBefore
	case left:
		return s.admissionBySub[e.seat.Sub] != e.seat
	case ended:
	}
	return false
}

// settleReports applies the director's answer, or the error, to the entries of a report.
func (s *session) settleReports(batch []*entry, answer seatsAnswer, err error) {
	s.sendingReports = nil
	joins := 0
	for _, e := range batch {
		switch e.kind {
		case joined:
			s.settleJoin(e, joinResult(answer.Results, joins, e.seat.Sub, err))
			joins++
		case left:
			s.vacateSeat(e.seat, ErrLeft)
		case ended: // The answer has closed set, for which the caller ends the remaining admissions.
		}
	}
}

func (s *session) settleJoin(e *entry, err error) {
	if err == nil {
		if old := s.admissionBySub[e.seat.Sub]; old != nil {
			old.end(ErrReplaced)
		}
		s.admissionBySub[e.seat.Sub] = e.seat
	}
	if err == nil && e.isAbandoned {
		s.queuedReports = append(s.queuedReports, &entry{kind: left, seat: e.seat})
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

// cancelReports ends all admissions, fails all waiting joins, and aborts the report in flight.
func (s *session) cancelReports() {
	s.endAdmissions()
	for _, e := range append(s.sendingReports, s.queuedReports...) {
		if e.kind == joined {
			e.resultQueue <- ErrSessionLost
		}
	}
	s.sendingReports, s.queuedReports = nil, nil
	s.end(ErrSessionLost)
}

// joinResult returns the result of the nth join as an error. Results have the order of the request, joins first.
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
