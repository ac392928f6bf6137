package webhooks

import (
	"time"

	"github.com/lattice-director/director/db"
)

// batch are letters of one subject, in order, and what became of them: the first sent of them were delivered, and the
// next one failed, unless it was not tried.
type batch struct {
	letters []db.Letter
	sent    int
	failed  *failure // of the letter behind those that were sent; nil: it was not tried
}

// inBatches makes batches of letters, in the order in which their subjects appear first.
func inBatches(letters []db.Letter) []*batch {
	bySubject := map[string]*batch{}
	var all []*batch
	for _, l := range letters {
		b := bySubject[l.Subject]
		if b == nil {
			b = &batch{}
			bySubject[l.Subject] = b
			all = append(all, b)
		}
		b.letters = append(b.letters, l)
	}
	return all
}

// totals are sums over the batches of a round.
type totals struct {
	sent       int
	failed     *failure // the first
	retryAfter time.Duration
	isGone     bool
}

func sum(batches []*batch) (t totals) {
	for _, b := range batches {
		t.sent += b.sent
		if b.failed == nil {
			continue
		}
		if t.failed == nil {
			t.failed = b.failed
		}
		t.retryAfter = max(t.retryAfter, b.failed.retryAfter)
		t.isGone = t.isGone || b.failed.isGone
	}
	return t
}

// isDown reports whether an endpoint takes nothing: something was tried, and nothing was delivered.
func (t totals) isDown() bool { return t.sent == 0 && t.failed != nil }

func (t totals) text() string {
	if t.failed == nil {
		return ""
	}
	return t.failed.text
}

// settled returns the letters that were delivered.
func settled(batches []*batch) (all []db.Letter) {
	for _, b := range batches {
		all = append(all, b.letters[:b.sent]...)
	}
	return all
}

// undelivered returns the letters that are to be stored. jitter returns numbers in [0, 1).
func undelivered(batches []*batch, jitter func() float64) (all []db.Undelivered) {
	for _, b := range batches {
		rest := b.letters[b.sent:]
		if len(rest) == 0 {
			continue
		}
		all = append(all, b.first(rest[0], jitter()))
		// Behind one that failed or was not tried: letters of one subject keep their order.
		for _, l := range rest[1:] {
			all = append(all, db.Undelivered{Letter: l, IsBehind: true})
		}
	}
	return all
}

// first is the letter at which a batch ended.
func (b *batch) first(l db.Letter, jitter float64) db.Undelivered {
	if b.failed == nil {
		return db.Undelivered{Letter: l} // due at once
	}
	l.Attempts++
	return db.Undelivered{
		Letter: l, Error: b.failed.text, IsDead: l.TriedFor >= GiveUpAfter,
		Pause: atLeast(letterPause(l.Attempts, jitter), b.failed.retryAfter),
	}
}

// probeSubjects is how many subjects are tried while a webhook fails: more than one, because one letter that the
// endpoint cannot take must not look as if it took none.
const probeSubjects = 4

// probe returns the first letters of a page, of at most probeSubjects subjects.
func probe(letters []db.Letter) []db.Letter {
	seen := map[string]bool{}
	for i, l := range letters {
		if seen[l.Subject] = true; len(seen) > probeSubjects {
			return letters[:i]
		}
	}
	return letters
}

// expired returns the first letters of a page that happened before a time, as dead letters.
func expired(letters []db.Letter, before time.Time, text string) (dead []db.Undelivered) {
	for _, l := range letters {
		if !l.HappenedAt.Before(before) {
			return dead
		}
		dead = append(dead, db.Undelivered{Letter: l, Error: text, IsDead: true})
	}
	return dead
}
