package cycle

import (
	"cmp"
	"slices"
)

// queue holds the matches that the evaluator has accepted and that are not committed yet. Proposers take turns, so that
// one with very many matches does not delay those of the others. The zero queue is empty.
type queue struct {
	size  int
	added int
	turns []proposer // that have matches here, in the order of their turns
	of    map[proposer][]queued
}

// queued is a match with its place in the order of acceptance.
type queued struct {
	*candidate

	place int
}

func (q *queue) add(c *candidate) {
	if len(q.of[c.from]) == 0 {
		q.turns = append(q.turns, c.from)
	}
	if q.of == nil {
		q.of = map[proposer][]queued{}
	}
	q.of[c.from] = append(q.of[c.from], queued{c, q.added})
	q.added++
	q.size++
}

// next takes matches whose weight, the number of matches and their tickets, is at most limit; but at least one. They are
// in the order of acceptance: of two that share a ticket the first is kept.
func (q *queue) next(limit int) []*candidate {
	var taken []queued
	for weight := 0; q.size > 0; {
		p := q.turns[0]
		first := q.of[p][0]
		if weight += 1 + len(first.Tickets); weight > limit && len(taken) > 0 {
			break
		}
		taken = append(taken, first)
		q.size--
		q.turns = q.turns[1:]
		if q.of[p] = q.of[p][1:]; len(q.of[p]) > 0 {
			q.turns = append(q.turns, p)
		}
	}
	slices.SortFunc(taken, func(a, b queued) int { return cmp.Compare(a.place, b.place) })
	batch := make([]*candidate, len(taken))
	for i, t := range taken {
		batch[i] = t.candidate
	}
	return batch
}
