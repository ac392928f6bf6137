package lobby

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"
)

// The events that keep a list up to date, one list each.
const (
	eventRooms   = "room.list.changed"
	eventFriends = "presence.changed"
)

// errOtherList means that the client watches another list instead.
var errOtherList = errors.New("lobby: another call watches: " +
	"a client watches one search and one list of friends at a time")

// watch is a list that is kept up to date. It holds one change for each item, so that changes which the caller has not
// taken yet are no more than the items.
type watch struct {
	startedOn    *connection                // on which the subscription began; nil: it has not begun
	changedItems map[string]json.RawMessage // by the id of the item; nil: it is not in the list any more
}

// list is what a watch asks for.
type list[Item any] struct {
	eventName string
	begin     func(ctx context.Context) ([]Item, error)
	end       func(ctx context.Context)
	itemID    func(Item) string
}

// WatchRooms calls show with the rooms that a search finds, sorted by id, and again with all of them when they change,
// at most once a second, until ctx ends. Errors: ctx ended; [*Error] with invalid; another call of the client watches;
// why the client has ended.
func (c *Client) WatchRooms(ctx context.Context, q RoomQuery, show func([]ListedRoom)) error {
	return followList(ctx, c, list[ListedRoom]{
		eventName: eventRooms,
		begin: func(ctx context.Context) (rooms []ListedRoom, err error) {
			rooms, _, err = c.listRooms(ctx, listRequest{RoomQuery: q, Subscribe: true})
			return rooms, err
		},
		end:    func(ctx context.Context) { _ = c.Call(ctx, "room.unlist", "", fields{}, nil) },
		itemID: func(room ListedRoom) string { return room.ID },
	}, show)
}

// FriendPresence is a player whose presence is watched.
type FriendPresence struct {
	Player string       `json:"player"`
	Online bool         `json:"online"`
	Rooms  []ListedRoom `json:"rooms"` // up to four that are not private, with their ID and RoomType
}

// WatchFriends calls show with the presence of up to 100 players, sorted by name, and again with all of them when it
// changes, until ctx ends. Errors: as WatchRooms.
func (c *Client) WatchFriends(ctx context.Context, players []string, show func([]FriendPresence)) error {
	ask := func(ctx context.Context, players []string) ([]FriendPresence, error) {
		var answer struct {
			Players []FriendPresence `json:"players"`
		}
		err := c.Repeat(ctx, "presence.watch", "", fields{"players": players}, &answer)
		return answer.Players, err
	}
	return followList(ctx, c, list[FriendPresence]{
		eventName: eventFriends,
		begin:     func(ctx context.Context) ([]FriendPresence, error) { return ask(ctx, players) },
		end:       func(ctx context.Context) { _, _ = ask(ctx, []string{}) },
		itemID:    func(friend FriendPresence) string { return friend.Player },
	}, show)
}

// followList begins a list on each connection, and shows it whenever it has changed.
func followList[Item any](ctx context.Context, c *Client, l list[Item], show func([]Item)) error {
	w := &watch{}
	c.setWatch(l.eventName, w)
	defer c.endWatch(ctx, l.eventName, w, l.end)
	items := map[string]Item{}
	for {
		isNew := c.adoptConnection(w)
		if isNew {
			all, err := l.begin(ctx)
			if err != nil {
				return err
			}
			clear(items)
			for _, item := range all {
				items[l.itemID(item)] = item
			}
		}
		mergeItems(c.takeChanges(w), items)
		show(slices.SortedFunc(maps.Values(items),
			func(a, b Item) int { return cmp.Compare(l.itemID(a), l.itemID(b)) }))
		if err := c.Await(ctx, func() bool { return c.hasNews(l.eventName, w) }); err != nil {
			return err
		}
		if !c.isWatching(l.eventName, w) {
			return errOtherList
		}
	}
}

func mergeItems[Item any](changed map[string]json.RawMessage, items map[string]Item) {
	for id, raw := range changed {
		var item Item
		if raw != nil && json.Unmarshal(raw, &item) == nil {
			items[id] = item
		} else {
			delete(items, id)
		}
	}
}

func (c *Client) setWatch(event string, w *watch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watchByEvent[event] = w
	c.signalChange()
}

func (c *Client) isWatching(event string, w *watch) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watchByEvent[event] == w
}

// endWatch ends the subscription, unless another one has replaced it. The end of the connection ends it as well.
func (c *Client) endWatch(ctx context.Context, event string, w *watch, end func(context.Context)) {
	if !c.isWatching(event, w) {
		return
	}
	c.setWatch(event, nil)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if c.Status().Connected {
		end(ctx)
	}
}

// adoptConnection makes the present connection that of the list, and forgets what came on another one. It reports
// whether the list has to begin anew.
func (c *Client) adoptConnection(w *watch) (isNew bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.startedOn != nil && w.startedOn == c.currentConnection {
		return false
	}
	w.startedOn, w.changedItems = c.currentConnection, map[string]json.RawMessage{}
	return true
}

// hasNews reports whether there are changes, another connection, or another watch.
func (c *Client) hasNews(event string, w *watch) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(w.changedItems) > 0 || c.watchByEvent[event] != w ||
		c.currentConnection != nil && c.currentConnection != w.startedOn
}

func (c *Client) takeChanges(w *watch) map[string]json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := w.changedItems
	w.changedItems = map[string]json.RawMessage{}
	return changed
}

// noteListChange keeps what has changed in a list that is watched.
func (c *Client) noteListChange(f frame) {
	var p struct {
		Rooms   []json.RawMessage `json:"rooms"`
		Players []json.RawMessage `json:"players"`
		Removed []string          `json:"removed"`
	}
	if json.Unmarshal(f.Payload, &p) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.watchByEvent[f.Type]
	if w == nil || w.changedItems == nil {
		return
	}
	for _, raw := range append(p.Rooms, p.Players...) {
		var item struct {
			ID     string `json:"id"`
			Player string `json:"player"`
		}
		if json.Unmarshal(raw, &item) == nil {
			w.changedItems[cmp.Or(item.ID, item.Player)] = raw
		}
	}
	for _, id := range p.Removed {
		w.changedItems[id] = nil
	}
}
