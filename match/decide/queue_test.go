package decide

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
)

// The queue is a list that is sorted at each look.
func TestQueue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := queue{slotIndex: timerSlot}
		var all []*candidate
		keys := map[*candidate]int64{}
		for i := range 20 {
			all = append(all, &candidate{ticket: &match.Ticket{ID: string(rune('a' + i))},
				queueSlots: [slots]int32{absent, absent}})
		}
		pick := func() *candidate { return rapid.SampledFrom(all).Draw(t, "candidate") }
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				c := pick()
				keys[c] = rapid.Int64Range(0, 5).Draw(t, "key")
				q.putAt(c, keys[c])
			},
			"remove": func(*rapid.T) {
				c := pick()
				q.removeCandidate(c)
				delete(keys, c)
			},
			"pop": func(t *rapid.T) {
				if q.len() == 0 {
					t.Skip("empty")
				}
				delete(keys, q.popFirst())
			},
			"": func(t *rapid.T) {
				require.Len(t, q.items, len(keys))
				if len(keys) == 0 {
					return
				}
				var first *candidate
				for _, c := range all {
					if key, ok := keys[c]; ok &&
						(first == nil || key < keys[first] || key == keys[first] && c.isOlder(first)) {
						first = c
					}
				}
				require.Same(t, first, q.items[0].c)
			},
		})
	})
}

// The tree is a sorted list, and counts what it holds.
func TestTree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var tr tree
		held := []entry{}
		for i := range rapid.IntRange(0, 800).Draw(t, "entries") {
			e := entry{float64(rapid.IntRange(0, 60).Draw(t, "key")),
				&candidate{createdNanos: int64(i), playerCount: i%3 + 1, ticket: &match.Ticket{}}}
			tr.insert(e.sortKey, e.c)
			held = append(held, e)
		}
		for range rapid.IntRange(0, len(held)).Draw(t, "removed") {
			i := rapid.IntRange(0, len(held)-1).Draw(t, "which")
			tr.remove(held[i].sortKey, held[i].c)
			held = slices.Delete(held, i, i+1)
		}
		slices.SortFunc(held, func(a, b entry) int {
			if a.precedes(b) {
				return -1
			}
			return 1
		})
		found := []entry{}
		for at := (cursor{}); !tr.isEnd(at); at = tr.nextCursor(at) {
			found = append(found, tr.entryAt(at))
		}
		require.Equal(t, held, found)

		// A walk goes outward from somewhere, as sorted by distance.
		middle := float64(rapid.IntRange(-5, 65).Draw(t, "middle"))
		low, high := middle-float64(rapid.IntRange(0, 40).Draw(t, "low")), middle+
			float64(rapid.IntRange(0, 40).Draw(t, "high"))
		want := slices.DeleteFunc(slices.Clone(held), func(e entry) bool { return e.sortKey < low || e.sortKey > high })
		slices.SortFunc(want, func(a, b entry) int {
			if x, y := distanceFrom(a.sortKey, middle), distanceFrom(b.sortKey, middle); x != y {
				return int(x - y)
			}
			return byAge(a.c, b.c)
		})
		players := 0
		w := newWalk(&tr, middle, low, high)
		for _, e := range want {
			require.Same(t, e.c, w.nextCandidate())
			players += e.c.playerCount
		}
		require.Nil(t, w.nextCandidate())
		var sum counts
		require.True(t, tr.offersBetween(low, high, &demand{minPlayers: players}, &sum))
		require.False(t, tr.offersBetween(low, high, &demand{minPlayers: players + 1}, &sum))
	})
}
