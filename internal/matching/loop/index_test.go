package loop

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/db"

	"github.com/google/uuid"
)

// The index finds exactly the tickets that a profile may take, in the order of the queue, whatever came and left
// before.
func TestTheIndexFindsTheTicketsOfAProfile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x, there := newIndex(), map[int]*entry{}
		for range rapid.IntRange(0, 60).Draw(t, "changes") {
			n := rapid.IntRange(0, 20).Draw(t, "ticket")
			if old := there[n]; old != nil {
				x.removeEntry(old)
				delete(there, n)
				continue
			}
			e := &entry{id: fmt.Sprint(n), body: []byte{}}
			e.askedProfiles = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID).Draw(t,
				"profiles")
			if rapid.IntRange(0, 5).Draw(t, "without players") == 0 {
				e.body = nil
			}
			there[n] = e
			x.addEntry(e)
		}
		for _, name := range []string{"a", "b", "d"} {
			for _, hasPool := range []bool{false, true} {
				var want []string
				for _, e := range there {
					if e.isPlayable() &&
						(slices.Contains(e.askedProfiles, name) || hasPool && len(e.askedProfiles) == 0) {
						want = append(want, e.id)
					}
				}
				var got []string
				for _, e := range x.entriesOf(name, hasPool) {
					got = append(got, e.id)
				}
				slices.Sort(want)
				require.Equal(t, want, got, "%s %t", name, hasPool)
			}
		}
	})
}

// Workers that see the same profiles without an owner compute shares that no two of them have, that are all together
// the whole, and that differ by no more than the heaviest profile.
func TestWorkersShareWhatNobodyOwns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		queue := newQueue(Options{}, undecided{})
		var free []db.ProfileOwner
		heaviest := 0
		for p := range rapid.IntRange(1, 30).Draw(t, "profiles") {
			o := db.ProfileOwner{ProfileName: fmt.Sprintf("p%02d", p)}
			free = append(free, o)
			tickets := rapid.IntRange(0, 20).Draw(t, "tickets")
			for n := range tickets {
				queue.byProfile.addEntry(&entry{id: fmt.Sprint(p, n), body: []byte{},
					askedProfiles: []string{o.ProfileName}})
			}
			heaviest = max(heaviest, 1+tickets)
		}
		var workers []db.LoopWorker
		var loops []*Loop
		for range rapid.IntRange(1, 4).Draw(t, "workers") {
			id := uuid.New()
			workers = append(workers, db.LoopWorker{ID: id})
			loops = append(loops, &Loop{lease: &lease{workerID: id}, queue: queue})
		}
		owners, least, most := map[string]int{}, 1<<30, 0
		for i, l := range loops {
			weight := 0
			for name, mine := range l.shareOf(free, workers) {
				if _, taken := owners[name]; mine {
					require.False(t, taken, "%s has two takers", name)
					owners[name], weight = i, weight+l.freeWeight(name)
				}
			}
			least, most = min(least, weight), max(most, weight)
		}
		require.Len(t, owners, len(free))
		require.LessOrEqual(t, most-least, heaviest)
	})
}
