package cycle

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
)

// queue holds the matches that the evaluator has accepted and that are not committed yet. Callers take turns, so that
// one with very many matches does not delay those of the others.
type queue struct {
	size     int
	added    int
	turns    []uuid.UUID // callers that have matches here, in the order of their turns
	byCaller map[uuid.UUID][]*candidate
}

func (q *queue) add(c *candidate) {
	if len(q.byCaller[c.caller]) == 0 {
		q.turns = append(q.turns, c.caller)
	}
	c.place = q.added
	q.byCaller[c.caller] = append(q.byCaller[c.caller], c)
	q.added++
	q.size++
}

// next takes matches whose weight, the number of matches and their tickets, is at most limit; but at least one. They
// are in the order of acceptance: of two that share a ticket the first is kept.
func (q *queue) next(limit int) (batch []*candidate) {
	for weight := 0; q.size > 0; {
		caller := q.turns[0]
		first := q.byCaller[caller][0]
		if weight += 1 + len(first.Tickets); weight > limit && len(batch) > 0 {
			break
		}
		batch = append(batch, first)
		q.size--
		q.turns = q.turns[1:]
		if q.byCaller[caller] = q.byCaller[caller][1:]; len(q.byCaller[caller]) > 0 {
			q.turns = append(q.turns, caller)
		}
	}
	slices.SortFunc(batch, func(a, b *candidate) int { return cmp.Compare(a.place, b.place) })
	return batch
}
