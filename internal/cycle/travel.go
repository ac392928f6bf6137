package cycle

import (
	"maps"
	"math"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match"
)

// What travels together at most.
const (
	maxTogether      = 512
	maxTogetherBytes = 4 << 20
)

// batch is what is said at once.
type batch struct {
	proposals []db.CycleProposal
	sent      map[*call]int
	finished  []*call
}

func (b batch) finishedIDs() []uuid.UUID {
	ids := make([]uuid.UUID, len(b.finished))
	for i, c := range b.finished {
		ids[i] = c.id
	}
	return ids
}

// gatherBatch takes what was proposed since, in the order of each caller, as much as may travel together.
func (f *follower) gatherBatch() batch {
	b := batch{sent: map[*call]int{}}
	size := 0
	for _, c := range f.ours() {
		if f.departed[c] || c.isOver() {
			continue
		}
		from := f.sent[c]
		more, done := c.since(from)
		n := 0
		for n < len(more) && len(b.proposals) < maxTogether && size < maxTogetherBytes {
			p := f.pack(c, from+n, more[n])
			b.proposals = append(b.proposals, p)
			size += len(p.Match) + len(more[n].BackfillBody) + len(p.MatchID) + 24*len(p.Tickets)
			n++
		}
		b.sent[c] = from + n
		if done && n == len(more) && !f.finished[c] {
			b.finished = append(b.finished, c)
		}
	}
	return b
}

func (f *follower) note(b batch) {
	maps.Copy(f.sent, b.sent)
	for _, c := range b.finished {
		f.finished[c] = true
	}
}

// pack makes of a proposal what travels.
func (f *follower) pack(c *call, index int, p Proposal) db.CycleProposal {
	out := db.CycleProposal{Caller: c.id, Seq: int32(index + 1), MatchID: p.ID, Score: math.Inf(-1), Tickets: p.Tickets, Backfill: p.backfill()}
	if p.Score != nil {
		out.Score = *p.Score
	}
	if f.outside {
		out.Match = p.Match
	}
	return out
}

// proposalOf is what has travelled. A score that was not given is less than any, as the least is.
func proposalOf(p db.CycleProposal) Proposal {
	out := Proposal{Proposal: match.Proposal{ID: p.MatchID, Score: &p.Score, Tickets: p.Tickets}, Match: p.Match}
	if p.Backfill != nil {
		out.Backfill, out.Generation, out.BackfillBody = p.Backfill.ID, p.Backfill.Generation, p.Backfill.Body
	}
	return out
}

func (p Proposal) backfill() *db.MatchBackfill {
	if p.BackfillBody == nil && p.Backfill == "" {
		return nil
	}
	return &db.MatchBackfill{ID: p.Backfill, Generation: p.Generation, Body: p.BackfillBody}
}
