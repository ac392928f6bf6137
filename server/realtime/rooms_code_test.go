package realtime

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/realtimetest"
)

// idsOf returns the ids of the rooms of an answer or an event.
func idsOf(rooms any) (ids []string) {
	list, _ := rooms.([]any)
	for _, r := range list {
		room, _ := r.(map[string]any)
		ids = append(ids, fmt.Sprint(room["id"]))
	}
	return ids
}

// Pins a browser of rooms that finds a full one, or one of another map.
func TestRoomsAreSearched(t *testing.T) {
	t.Parallel()
	v := serve(t)
	a, b, c := v.client(), v.client(), v.client()
	a.Join(t, "lobby", "lobby:dust", map[string]any{"metadata": map[string]any{"map": "dust", "skill": float64(10)}})
	b.Join(t, "lobby", "lobby:nuke", map[string]any{"metadata": map[string]any{"map": "nuke", "skill": float64(20)},
		"max_members": float64(1)})
	a.Join(t, "party", "party:secret", map[string]any{"metadata": map[string]any{"map": "dust"}})
	search := func(p map[string]any) []string {
		p["roomType"] = "lobby"
		return idsOf(c.Must(t, "room.list", "", p)["rooms"])
	}
	require.Equal(t, []string{"lobby:nuke", "lobby:dust"}, search(map[string]any{"order": "newest"}))
	require.Equal(t, []string{"lobby:dust"}, search(map[string]any{"joinable": true}))
	require.Equal(t, []string{"lobby:nuke"},
		search(map[string]any{"filter": map[string]any{"skill": map[string]any{"min": float64(11)}}}))
	one := c.Must(t, "room.list", "", map[string]any{"roomType": "lobby",
		"filter": map[string]any{"map": "nuke"}})["rooms"].([]any)[0]
	require.Equal(t, map[string]any{"id": "lobby:nuke", "room_type": "lobby", "members": float64(1),
		"max_members": float64(1), "locked": false,
		"metadata": map[string]any{"map": "nuke", "skill": float64(20)}}, one)
	for _, p := range []map[string]any{{"order": "id"}, {"roomType": "nothing", "joinable": true},
		{"roomType": "lobby", "order": "best"}, {"roomType": "lobby", "subscribe": float64(1)}} {
		require.Equal(t, "invalid", c.Ask(t, "room.list", "", p).Code(), p)
	}
}

// Pins a list that shows what was, on another replica than the one where it changes.
func TestAListIsWatched(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	watcher, owner := here.client(withCodec("msgpack")), there.client()
	p := map[string]any{"roomType": "lobby", "joinable": true, "subscribe": true}
	require.Empty(t, watcher.Must(t, "room.list", "", p)["rooms"])
	events := func(done func(rooms []string, removed []any) bool) {
		watcher.Wait(t, "the change of the list", func(e *realtimetest.View) bool {
			for _, one := range e.Events() {
				removed, _ := one.P["removed"].([]any)
				if one.Type == "room.list.changed" && done(idsOf(one.P["rooms"]), removed) {
					return true
				}
			}
			return false
		})
	}
	owner.Join(t, "lobby", "lobby:1", nil)
	events(func(rooms []string, _ []any) bool { return len(rooms) == 1 && rooms[0] == "lobby:1" })
	owner.Must(t, "room.update", "lobby:1", map[string]any{"max_members": float64(1)})
	events(func(_ []string, removed []any) bool { return len(removed) == 1 && removed[0] == "lobby:1" })

	second := here.client() // joins the search of the first
	second.Must(t, "room.list", "", p)
	watcher.Must(t, "room.unlist", "", nil)
	owner.Must(t, "room.update", "lobby:1",
		map[string]any{"max_members": float64(4), "metadata": map[string]any{"map": "dust"}})
	second.Wait(t, "the room", func(e *realtimetest.View) bool {
		return e.Count("room.list.changed", "") > 0
	})
	second.Must(t, "room.unlist", "", nil)
	here.roomLists.mu.Lock()
	defer here.roomLists.mu.Unlock()
	require.Empty(t, here.roomLists.searchByConn)
	for _, list := range here.roomLists.byName {
		require.Empty(t, list.searchesByKey)
		require.Nil(t, list.followLoop.cancel, "nobody watches the list")
	}
}

// A connection that ends watches nothing.
func TestAClosedConnectionWatchesNothing(t *testing.T) {
	t.Parallel()
	v := serve(t)
	c := v.client()
	c.Must(t, "room.list", "", map[string]any{"roomType": "chat", "subscribe": true})
	for _, conn := range v.openConns() {
		conn.cutOff()
	}
	require.Eventually(t, func() bool {
		v.roomLists.mu.Lock()
		defer v.roomLists.mu.Unlock()
		return len(v.roomLists.searchByConn) == 0
	}, patience, 5e6)
}

// Friends join a private party by its code, which only one room has, however it is typed.
func TestFriendsJoinByCode(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	owner, friend := here.client(), there.client()
	owner.Join(t, "party", "party:1", nil)
	code, _ := owner.Must(t, "room.code", "party:1", nil)["code"].(string)
	require.Regexp(t, `^[A-Z0-9]{3}-[A-Z0-9]{3}$`, code)
	require.Equal(t, code, owner.Must(t, "room.code", "party:1", nil)["code"])
	answer := friend.Must(t, "room.join", "",
		map[string]any{"code": " " + code[:3] + code[4:], "options": map[string]any{"name": "Bo"}})
	require.Equal(t, [2]any{"party:1", "party"}, [2]any{answer["room"], answer["room_type"]})
	friend.Wait(t, "the room", func(e *realtimetest.View) bool { return len(e.Room("party:1").Members) == 2 })
	owner.Wait(t, "the friend", func(e *realtimetest.View) bool { return len(e.Room("party:1").Members) == 2 })
	require.Equal(t, code, owner.Room("party:1").State["code"], "the members see it")
	require.Equal(t, "refused", friend.Ask(t, "room.code", "party:1", map[string]any{"renew": true}).Code())
	owner.Must(t, "room.code", "party:1", map[string]any{"remove": true})
	require.Equal(t, "code_unknown", there.client().Ask(t, "room.join", "", map[string]any{"code": code}).Code())
	for _, bad := range []any{nil, "", "KX7", float64(7), "KX7-4Z!"} {
		require.Equal(t, "invalid", friend.Ask(t, "room.join", "", map[string]any{"code": bad}).Code(), bad)
	}
}

// Pins codes that can be tried as fast as a socket takes them.
func TestCodesCannotBeTriedForLong(t *testing.T) {
	t.Parallel()
	v := serve(t)
	c := v.client()
	codes := map[string]int{}
	for i := range uint64(codeRate.Burst + 20) {
		codes[c.Ask(t, "room.join", "", map[string]any{"code": lobby.CodeOf(i)}).Code()]++
	}
	require.GreaterOrEqual(t, codes["rate_limited"], 10, codes)
	require.Equal(t, codeRate.Burst+20, codes["rate_limited"]+codes["code_unknown"])
}
