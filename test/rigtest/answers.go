package rigtest

import (
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
)

// Answer is an answer that a player or a game server got.
type Answer struct {
	Sub, ID string // ID of the session or the ticket
	GotAt   time.Time
}

// Answers are the answers to one kind of call. Safe for concurrent use.
type Answers struct {
	Rig *Rig
	// Missing is a condition in SQL: the database does not have what an answer gave the player a.sub, with the id a.id.
	Missing string

	mu   sync.Mutex
	list []Answer
}

// NoSeat is the condition [Answers].Missing of acknowledged seats.
const NoSeat = "NOT EXISTS (SELECT FROM seats st WHERE st.region || '.' || st.session_id = a.id AND st.sub = a.sub)"

// Add adds an answer that was got now.
func (a *Answers) Add(sub, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, Answer{sub, id, time.Now()})
}

// Count returns how many answers there are.
func (a *Answers) Count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.list)
}

// ListAfter returns the answers that were got after a moment.
func (a *Answers) ListAfter(at time.Time) []Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(a.list), func(got Answer) bool { return !got.GotAt.After(at) })
}

// Await waits for n more answers, and returns how long that took.
func (a *Answers) Await(n int) time.Duration {
	a.Rig.T.Helper()
	began, target := time.Now(), a.Count()+n
	require.Eventually(a.Rig.T, func() bool { return a.Count() >= target }, time.Minute, 5*time.Millisecond)
	return time.Since(began)
}

// FindLost returns the answers of which the database does not have what they gave.
func (a *Answers) FindLost() (lost []Answer) {
	a.Rig.T.Helper()
	all := a.ListAfter(time.Time{})
	subs, ids := make([]string, len(all)), make([]string, len(all))
	for i, got := range all {
		subs[i], ids[i] = got.Sub, got.ID
	}
	// One query for all answers. It returns their indexes.
	missing := QueryOne[[]int](a.Rig, `SELECT coalesce(array_agg(a.n - 1 ORDER BY a.n), '{}')
		FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS a(sub, id, n) WHERE `+a.Missing, subs, ids)
	for _, i := range missing {
		lost = append(lost, all[i])
	}
	return lost
}

// LongestGap returns the longest time without an answer of any of these kinds, from a moment until now.
func LongestGap(from time.Time, kinds ...*Answers) (longest time.Duration) {
	times := []time.Time{from, time.Now()}
	for _, a := range kinds {
		for _, got := range a.ListAfter(from) {
			times = append(times, got.GotAt)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	for i := range len(times) - 1 {
		longest = max(longest, times[i+1].Sub(times[i]))
	}
	return longest
}
