package realtime

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/lobby"
)

func friendNames(from, to int) (names []string) {
	for i := from; i < to; i++ {
		names = append(names, fmt.Sprintf("player-%05d", i))
	}
	return names
}

// Pins a list of friends that is refused and ends the one before, and players that count once for each who watches them.
func TestAListOfFriendsThatIsRefusedChangesNothing(t *testing.T) {
	t.Parallel()
	l := newPresences(&Server{})
	watch := func(c *conn, players []string) bool {
		return l.watchPlayers(c, players, map[string]db.PlayerPresence{})
	}
	crowd, ada := &conn{project: "p1"}, &conn{project: "p1"}
	require.True(t, watch(crowd, friendNames(0, maxWatched-50)))
	require.True(t, watch(ada, friendNames(maxWatched-50, maxWatched)))
	require.False(t, watch(ada, friendNames(maxWatched, maxWatched+51)), "one more than it watched before")
	require.Equal(t, friendNames(maxWatched-50, maxWatched), l.friendsByConn[ada].friendNames)
	require.True(t, l.byProject[projectName{project: "p1"}].watchersByPlayer[friendNames(maxWatched-1, maxWatched)[0]][ada])

	require.True(t, watch(ada, friendNames(maxWatched-30, maxWatched+20)), "as many as before")
	require.True(t, watch(ada, friendNames(0, 100)), "they are watched already")
	require.Len(t, l.byProject[projectName{project: "p1"}].watchersByPlayer, maxWatched-50)
	require.True(t, watch(&conn{project: "p2"}, friendNames(0, 100)), "another project has a bound of its own")
	l.forgetConn(crowd)
	l.forgetConn(ada)
	require.Nil(t, l.byProject[projectName{project: "p1"}])
}

// Pins a bound that is checked under one lock and used under another, and a search that is refused and ends the one
// before.
func TestSearchesAreBoundedWhenManyComeAtOnce(t *testing.T) {
	t.Parallel()
	l := newRoomLists(&Server{})
	name := listName{project: "p1", roomType: "lobby"}
	search := func(key int) lobby.Search { return lobby.Search{Key: fmt.Sprint(key)} }
	conns := make([]conn, 2*maxSearches)
	var watching atomic.Int64
	var asking sync.WaitGroup
	for i := range conns {
		asking.Go(func() {
			if _, err := l.addWatcher(&conns[i], name, search(i), nil); err == nil {
				watching.Add(1)
			}
		})
	}
	asking.Wait()
	require.Equal(t, int64(maxSearches), watching.Load())
	require.Len(t, l.byName[name].searchesByKey, maxSearches)

	var ada *conn
	for c := range l.searchByConn {
		ada = c
	}
	_, err := l.addWatcher(ada, name, search(-1), nil)
	require.NoError(t, err, "in place of its own")
	other := listName{project: "p1", roomType: "chat"}
	w, err := l.addWatcher(ada, other, search(-1), nil)
	require.NoError(t, err)
	_, err = l.addWatcher(new(conn), name, search(-2), nil)
	require.NoError(t, err, "its place is free")
	_, err = l.addWatcher(ada, name, search(-3), nil)
	require.Error(t, err)
	require.Same(t, w, l.searchByConn[ada])
	_, err = l.addWatcher(ada, name, search(-2), nil)
	require.NoError(t, err, "the same search of many is one")
	l.startWatcher(ada, w, nil)
	require.False(t, w.watchingConns[ada], "it watches another one by now")
}
