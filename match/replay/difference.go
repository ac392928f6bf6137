package replay

import (
	"fmt"
	"strings"
	"time"
)

// noteDifference notes a ticket that the replay did not match as recorded: it matched the ticket in p at a moment or,
// with nil, with nobody until then. The earliest difference is kept.
func (r *run) noteDifference(w *waitingTicket, p *proposal, at time.Time) {
	was := w.queuedArrival.Recorded
	// Other rules make other matches: only those of the same rules are expected again.
	if was == nil || !r.hasSameRules(was.Version) || !was.DecidedAt.Before(r.input.End) {
		return
	}
	since := was.DecidedAt
	// The replay parts from the history at the earlier of the two decisions.
	if at.Before(since) {
		since = at
	}
	first := r.reproducedCounts.First
	// Matches are compared in the order of the replay: a later one may part from the history earlier.
	if first != nil && !since.Before(first.since) {
		return
	}
	r.reproducedCounts.First = &Difference{Match: was.Match, Decided: was.DecidedAt, Ticket: w.queuedArrival.Ticket.ID,
		Why: r.whyDifferent(w, p, at), since: since}
}

// whyDifferent returns what the replay did with a ticket instead, and what is known of the cause, in words.
func (r *run) whyDifferent(w *waitingTicket, p *proposal, at time.Time) string {
	was := w.queuedArrival.Recorded
	cause := ""
	if was.Seed != r.input.Seed {
		cause = "; another worker, or one that began anew, made the recorded match"
	}
	if p == nil {
		return "the replay matched the ticket with nobody" + cause
	}
	others, gone := r.othersOf(w, p)
	switch {
	case others == "":
		return "the replay put the same tickets into other teams" + cause
	case gone != "":
		cause = "; " + gone + cause
	case cause == "" && at.Before(was.DecidedAt):
		cause = "; the worker decided later, or could not commit that match"
	}
	return fmt.Sprintf("the replay matched the ticket with %s, %s%s", others, apartText(at, was.DecidedAt), cause)
}

// maxNamed bounds the tickets that a difference names.
const maxNamed = 8

// othersOf names the tickets that the replay matched w with and that its recorded match does not have; gone says that
// one of these left at about that time.
func (r *run) othersOf(w *waitingTicket, p *proposal) (others, gone string) {
	var named []string
	for _, o := range p.tickets {
		if o.queuedArrival.Recorded != nil && o.queuedArrival.Recorded.Match == w.queuedArrival.Recorded.Match {
			continue
		}
		named = append(named, o.queuedArrival.Ticket.ID)
		if gone == "" && o.queuedArrival.Recorded == nil && o.queuedArrival.Why != Stayed {
			gone = fmt.Sprintf("%s left the queue %s after that", o.queuedArrival.Ticket.ID,
				o.queuedArrival.LeftAt.Sub(p.proposedAt).Round(time.Millisecond))
			if o.queuedArrival.LeftSeen.IsZero() {
				gone += ", and the history does not record when the worker learned of it"
			}
		}
	}
	// All tickets are of the recorded match, which had more.
	if len(named) == 0 && len(p.tickets) < w.queuedArrival.Recorded.Tickets {
		return "fewer tickets", ""
	}
	if more := len(named) - maxNamed; more > 0 {
		named = append(named[:maxNamed], fmt.Sprintf("%d more", more))
	}
	return strings.Join(named, ", "), gone
}

// apartText returns how far two decisions are apart, in words.
func apartText(at, recorded time.Time) string {
	switch d := at.Sub(recorded).Round(time.Microsecond); {
	case d < 0:
		return fmt.Sprintf("%s earlier", -d)
	case d > 0:
		return fmt.Sprintf("%s later", d)
	}
	return "at the same moment"
}
