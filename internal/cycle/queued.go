package cycle

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
)

// queued are matches that the evaluator has accepted and that are not final yet. Callers take turns, so that the matches
// of one who proposed very many do not hold up those of the others.
type queued struct {
	size  int
	added int
	turns []proposer // of those who have some, the next one first
	of    map[proposer][]numbered
}

// proposer is a call of this replica, or the id of one of another replica.
type proposer struct {
	call   *call
	caller uuid.UUID
}

// numbered is a match with its place in the order of acceptance.
type numbered struct {
	*origin

	n int
}

func (q *queued) add(from *origin) {
	p := proposer{from.call, from.caller}
	if len(q.of[p]) == 0 {
		q.turns = append(q.turns, p)
	}
	if q.of == nil {
		q.of = map[proposer][]numbered{}
	}
	q.of[p] = append(q.of[p], numbered{from, q.added})
	q.added++
	q.size++
}

// next takes as many as weigh no more than limit, counting matches and their tickets, but one at least. They are in the
// order in which they were accepted: of two that share a ticket the first is kept.
func (q *queued) next(limit int) []*origin {
	var taken []numbered
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
	slices.SortFunc(taken, func(a, b numbered) int { return cmp.Compare(a.n, b.n) })
	batch := make([]*origin, len(taken))
	for i, t := range taken {
		batch[i] = t.origin
	}
	return batch
}
