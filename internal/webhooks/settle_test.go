package webhooks

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
)

func drawLetters(t *rapid.T) (all []db.Letter) {
	for n := range rapid.IntRange(1, 40).Draw(t, "letters") {
		all = append(all, db.Letter{
			Cursor:   opsview.EventCursor{Tx: uint64(n), ID: uuid.UUID{byte(n)}},
			Subject:  fmt.Sprint(rapid.IntRange(0, 6).Draw(t, "subject")),
			TriedFor: time.Duration(rapid.IntRange(0, 100).Draw(t, "hours")) * time.Hour,
		})
	}
	return all
}

// Whatever is delivered and what fails, each letter is delivered or stored, once; of each subject those that were
// delivered are its first, and at most the first of the others is due.
func TestNoLetterIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		letters := drawLetters(t)
		batches := inBatches(letters)
		for _, b := range batches {
			b.sentCount = rapid.IntRange(0, len(b.letters)).Draw(t, "sent")
			if b.sentCount < len(b.letters) && rapid.Bool().Draw(t, "tried") {
				b.lastFailure = &failure{operatorText: "it answered 500"}
			}
		}
		state := map[opsview.EventCursor]string{}
		for _, l := range deliveredLetters(batches) {
			require.Empty(t, state[l.Cursor])
			state[l.Cursor] = "sent"
		}
		for _, u := range undeliveredLetters(batches, func() float64 { return 0.5 }) {
			require.Empty(t, state[u.Letter.Cursor])
			state[u.Letter.Cursor] = "due"
			switch {
			case u.IsDead:
				require.GreaterOrEqual(t, u.Letter.TriedFor, GiveUpAfter)
				state[u.Letter.Cursor] = "dead"
			case u.IsBehind:
				state[u.Letter.Cursor] = "behind"
			}
		}
		reached := map[string]int{}
		for _, l := range letters {
			order := map[string]int{"sent": 0, "dead": 1, "due": 1, "behind": 2}
			place, known := order[state[l.Cursor]]
			require.True(t, known, "a letter is lost")
			require.GreaterOrEqual(t, place, reached[l.Subject])
			if place == 1 {
				require.Zero(t, reached[l.Subject], "two of a subject are due")
			}
			reached[l.Subject] = place
		}
	})
}

// A probe is the beginning of a page: the place in the log can move to its end.
func TestAProbeIsTheBeginningOfAPage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		letters := drawLetters(t)
		probed := probeLetters(letters)
		require.Equal(t, letters[:len(probed)], probed)
		require.NotEmpty(t, probed)
		require.LessOrEqual(t, len(inBatches(probed)), probeSubjects)
		if len(probed) < len(letters) {
			require.Len(t, inBatches(letters[:len(probed)+1]), probeSubjects+1, "as many as possible")
		}
	})
}
