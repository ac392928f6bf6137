package db

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func agentRoom(agent, process string, joined int64, local bool, id string) namedRoom {
	return namedRoom{agent, process, time.Unix(joined, 0), local, id == "", id}
}

func TestRoomsOfOneBase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rooms []namedRoom
		want  []string
	}{
		"alone": {[]namedRoom{agentRoom("a", "p_a", 1, true, "")}, []string{"x"}},
		"fleet before local": {[]namedRoom{agentRoom("a", "p_a", 1, true, ""),
			agentRoom("b", "p_b", 2, false, "")}, []string{"p_a~x", "x"}},
		"two fleets, first to join": {[]namedRoom{agentRoom("a", "p_a", 2, false, ""),
			agentRoom("b", "p_b", 1, false, "")}, []string{"p_a~x", "x"}},
		"two at once, lower id": {[]namedRoom{agentRoom("b", "p_b", 1, true, ""),
			agentRoom("a", "p_a", 1, true, "")}, []string{"p_b~x", "x"}},
		"the base is kept": {[]namedRoom{agentRoom("a", "p_a", 9, false, "x"),
			agentRoom("b", "p_b", 1, false, "")}, []string{"x", "p_b~x"}},
		"local keeps it from local": {[]namedRoom{agentRoom("a", "p_a", 9, true, "x"),
			agentRoom("b", "p_b", 1, true, "")}, []string{"x", "p_b~x"}},
		"fleet takes it from local": {[]namedRoom{agentRoom("a", "p_a", 1, true, "x"),
			agentRoom("b", "p_b", 2, false, "")}, []string{"p_a~x", "x"}},
		"nobody is promoted": {[]namedRoom{agentRoom("a", "p_a", 1, false, "p_a~x")}, []string{"p_a~x"}},
		"nor against a local one": {[]namedRoom{agentRoom("a", "p_a", 1, false, "p_a~x"),
			agentRoom("b", "p_b", 2, true, "x")}, []string{"p_a~x", "x"}},
		"a new one gets a free one": {[]namedRoom{agentRoom("a", "p_a", 1, false, "p_a~x"),
			agentRoom("b", "p_b", 2, true, "")}, []string{"p_a~x", "x"}},
		"three of one process": {
			[]namedRoom{agentRoom("a", "p", 1, false, ""), agentRoom("b", "p", 2, false, ""),
				agentRoom("c", "p", 3, false, "")},
			[]string{"x", "p~x", "p~c~x"},
		},
		"the displaced one of a process that has its name already": {
			[]namedRoom{agentRoom("a", "p", 1, true, "x"), agentRoom("b", "p", 2, true, "p~x"),
				agentRoom("c", "q", 3, false, "")},
			[]string{"p~a~x", "p~x", "x"},
		},
		"any text as a process": {
			[]namedRoom{agentRoom("a", "", 1, false, "x"), agentRoom("b", "", 2, false, ""),
				agentRoom("c", "a~/", 3, false, ""), agentRoom("d", strings.Repeat("p", 65), 4, false, "")},
			[]string{"x", "~x", "a%7E%2F~x", "d~x"},
		},
	} {
		require.Equal(t, c.want, choosePublicIDs("x", c.rooms), name)
	}
}

// For any rooms: ids are distinct, each is kept while its room lives except that of a local room that the fleet
// displaces, the order in which rooms are given does not matter, and naming again changes nothing.
func TestRoomNamesProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var rooms []namedRoom
		base := rapid.SampledFrom([]string{"", "x", "lobby%20%231"}).Draw(t, "base")
		for round := range 3 { // rooms come and go between rounds
			rooms = slices.DeleteFunc(rooms, func(namedRoom) bool { return rapid.Bool().Draw(t, "gone") })
			for i := range rapid.IntRange(0, 5).Draw(t, "new") {
				process := rapid.SampledFrom([]string{"p", "q", "", "p~q", strings.Repeat("long", 20)}).Draw(t,
					"process")
				joined := rapid.Int64Range(0, 3).Draw(t, "joined")
				rooms = append(rooms, agentRoom(fmt.Sprintf("%d%d", round, i), process, joined,
					rapid.Bool().Draw(t, "local"), ""))
			}

			ids := choosePublicIDs(base, rooms)
			after, has := slices.Clone(rooms), map[string]bool{}
			byFleet := slices.ContainsFunc(rooms, func(r namedRoom) bool { return r.isNew && !r.isLocal })
			news := slices.ContainsFunc(rooms, func(r namedRoom) bool { return r.isNew })
			for i, r := range rooms {
				require.False(t, has[ids[i]], "%q twice", ids[i])
				has[ids[i]] = true
				displaced := !r.isNew && r.publicID == base && r.isLocal && byFleet
				require.True(t, r.isNew || r.publicID == ids[i] || displaced, "%q was %q", ids[i], r.publicID)
				require.False(t, displaced && ids[i] == base, "a room of the fleet takes the base from a local one")
				after[i].isNew, after[i].publicID = false, ids[i]
			}
			require.True(t, has[base] || !news, "somebody has the base")
			require.Equal(t, ids, choosePublicIDs(base, after))

			order := rapid.Permutation(indexes(len(rooms))).Draw(t, "order")
			shuffled := make([]namedRoom, len(rooms))
			for to, from := range order {
				shuffled[to] = rooms[from]
			}
			for to, id := range choosePublicIDs(base, shuffled) {
				require.Equal(t, ids[order[to]], id)
			}
			rooms = after
		}
	})
}

func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
