package cycle

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
)

// queue holds the matches that the evaluator has accepted and that are not committed yet. Callers take turns, so that
// one with very many matches does not delay those of the others.
type queue struct {
	matchCount  int         // matches in the queue
	addedCount  int         // matches that were ever added
	callerTurns []uuid.UUID // callers that have matches here, in the order of their turns
	byCaller    map[uuid.UUID][]*candidate
}

func (q *queue) addCandidate(c *candidate) {
	if len(q.byCaller[c.callerID]) == 0 {
		q.callerTurns = append(q.callerTurns, c.callerID)
	}
	c.acceptOrder = q.addedCount
	q.byCaller[c.callerID] = append(q.byCaller[c.callerID], c)
	q.addedCount++
	q.matchCount++
}

// takeBatch takes matches whose weight, the number of matches and their tickets, is at most limit; but at least one. The
// batch is in the order of acceptance, since of two matches that share a ticket the first one is kept.
func (q *queue) takeBatch(limit int) (batch []*candidate) {
	for weight := 0; q.matchCount > 0; {
		caller := q.callerTurns[0]
		first := q.byCaller[caller][0]
		weight += 1 + len(first.proposal.Tickets)
		if weight > limit && len(batch) > 0 {
			break
		}
		batch = append(batch, first)
		q.matchCount--
		q.callerTurns = q.callerTurns[1:]
		q.byCaller[caller] = q.byCaller[caller][1:]
		if len(q.byCaller[caller]) > 0 {
			q.callerTurns = append(q.callerTurns, caller)
		}
	}
	slices.SortFunc(batch, func(a, b *candidate) int { return cmp.Compare(a.acceptOrder, b.acceptOrder) })
	return batch
}
