package webhooks

import (
	"time"

	"github.com/lattice-director/director/db"
)

// batch are letters of one subject, in order, and what became of them: the first sent of them were delivered, and the
// next one failed, unless it was not tried.
type batch struct {
	letters     []db.Letter
	sentCount   int
	lastFailure *failure // of the letter behind those that were sent; nil: it was not tried
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
	sentCount    int
	firstFailure *failure // of the first batch that failed
	retryAfter   time.Duration
	isGone       bool
}

func sumTotals(batches []*batch) (t totals) {
	for _, b := range batches {
		t.sentCount += b.sentCount
		if b.lastFailure == nil {
			continue
		}
		if t.firstFailure == nil {
			t.firstFailure = b.lastFailure
		}
		// The longest: all requests of a round go to one endpoint.
		t.retryAfter = max(t.retryAfter, b.lastFailure.retryAfter)
		t.isGone = t.isGone || b.lastFailure.isGone
	}
	return t
}

// isDown reports whether an endpoint takes nothing: something was tried, and nothing was delivered.
func (t totals) isDown() bool { return t.sentCount == 0 && t.firstFailure != nil }

func (t totals) summaryText() string {
	if t.firstFailure == nil {
		return ""
	}
	return t.firstFailure.operatorText
}

// deliveredLetters returns the letters that were delivered.
func deliveredLetters(batches []*batch) (all []db.Letter) {
	for _, b := range batches {
		all = append(all, b.letters[:b.sentCount]...)
	}
	return all
}

// undeliveredLetters returns the letters that are to be stored. jitter returns numbers in [0, 1).
func undeliveredLetters(batches []*batch, jitter func() float64) (all []db.Undelivered) {
	for _, b := range batches {
		rest := b.letters[b.sentCount:]
		if len(rest) == 0 {
			continue
		}
		all = append(all, b.firstUndelivered(rest[0], jitter()))
		// Behind one that failed or was not tried: letters of one subject keep their order.
		for _, l := range rest[1:] {
			all = append(all, db.Undelivered{Letter: l, IsBehind: true})
		}
	}
	return all
}

// firstUndelivered is the letter at which a batch ended.
func (b *batch) firstUndelivered(l db.Letter, jitter float64) db.Undelivered {
	if b.lastFailure == nil {
		return db.Undelivered{Letter: l} // it was not tried: due at once
	}
	// A letter counts the attempts that failed, not those that were left out behind another one.
	l.FailedAttempts++
	return db.Undelivered{
		Letter: l, AttemptError: b.lastFailure.operatorText, IsDead: l.TriedFor >= GiveUpAfter,
		NextPause: atLeast(letterPause(l.FailedAttempts, jitter), b.lastFailure.retryAfter),
	}
}

// probeSubjects is how many subjects are tried while a webhook fails: more than one, because one letter that the
// endpoint cannot take must not look as if it took none.
const probeSubjects = 4

// probeLetters returns the first letters of a page, of at most probeSubjects subjects.
func probeLetters(letters []db.Letter) []db.Letter {
	seen := map[string]bool{}
	for i, l := range letters {
		seen[l.Subject] = true
		if len(seen) > probeSubjects {
			return letters[:i]
		}
	}
	return letters
}

// expiredLetters returns the first letters of a page that happened before a time, as dead letters.
func expiredLetters(letters []db.Letter, before time.Time, text string) (dead []db.Undelivered) {
	for _, l := range letters {
		if !l.HappenedAt.Before(before) {
			return dead
		}
		dead = append(dead, db.Undelivered{Letter: l, AttemptError: text, IsDead: true})
	}
	return dead
}
