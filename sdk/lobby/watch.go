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

// pendingChanges are the changes of a list that its watch has not taken yet. There is one for each item, so that they
// are no more than the items. Guarded by the client's mu.
type pendingChanges struct {
	// source is the connection over which they come. nil: the watch has to begin, or to begin again, once the client is
	// connected.
	source *connection
	byItem map[string]json.RawMessage // by the id of the item; nil: it is not in the list any more
}

// watch is how a list is kept up to date.
type watch[Item any] struct {
	eventName string // of the event that has changes
	begin     func(ctx context.Context) ([]Item, error)
	end       func(ctx context.Context)
	itemID    func(Item) string
}

// WatchRooms calls show with the rooms that a search finds, sorted by id, and again with all of them when they change,
// at most once a second, until ctx ends. Errors: ctx ended; [*Error] with invalid; another call of the client watches;
// why the client has ended.
func (c *Client) WatchRooms(ctx context.Context, q RoomQuery, show func([]ListedRoom)) error {
	return followList(ctx, c, watch[ListedRoom]{
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
	return followList(ctx, c, watch[FriendPresence]{
		eventName: eventFriends,
		begin:     func(ctx context.Context) ([]FriendPresence, error) { return ask(ctx, players) },
		end:       func(ctx context.Context) { _, _ = ask(ctx, []string{}) },
		itemID:    func(friend FriendPresence) string { return friend.Player },
	}, show)
}

// followList begins a watch on each connection, and shows the list whenever it has changed.
func followList[Item any](ctx context.Context, c *Client, w watch[Item], show func([]Item)) error {
	pending := &pendingChanges{}
	c.receiveChanges(w.eventName, pending)
	defer c.endWatch(ctx, w.eventName, pending, w.end)
	items := map[string]Item{}
	for {
		isNew := c.adoptConnection(pending)
		if isNew {
			all, err := w.begin(ctx)
			if err != nil {
				return err
			}
			clear(items)
			for _, item := range all {
				items[w.itemID(item)] = item
			}
		}
		mergeItems(c.takeChanges(pending), items)
		show(slices.SortedFunc(maps.Values(items),
			func(a, b Item) int { return cmp.Compare(w.itemID(a), w.itemID(b)) }))
		if err := c.Await(ctx, func() bool { return c.hasNews(w.eventName, pending) }); err != nil {
			return err
		}
		if !c.isReceiving(w.eventName, pending) {
			return errOtherList
		}
	}
}

// mergeItems applies changes to the items of a list. An item whose change cannot be decoded is removed: what is known
// of it is out of date.
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

// receiveChanges collects the changes of an event from now on, in place of the watch that did so before.
func (c *Client) receiveChanges(event string, pending *pendingChanges) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pendingByEvent[event] = pending
	c.signalChange()
}

func (c *Client) isReceiving(event string, pending *pendingChanges) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pendingByEvent[event] == pending
}

// stopReceiving collects no more changes of an event, unless another watch has replaced this one. It reports whether
// none has.
func (c *Client) stopReceiving(event string, pending *pendingChanges) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pendingByEvent[event] != pending {
		return false
	}
	delete(c.pendingByEvent, event)
	return true
}

// endWatch ends a watch, unless another one has replaced it. The end of the connection ends it as well.
func (c *Client) endWatch(ctx context.Context, event string, pending *pendingChanges, end func(context.Context)) {
	if !c.stopReceiving(event, pending) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if c.Status().Connected {
		end(ctx)
		c.restartWatch(event)
	}
}

// restartWatch makes the watch of an event, if there is one, begin anew: the director may have got its beginning before
// the end of the former watch, which ends both.
func (c *Client) restartWatch(event string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if pending := c.pendingByEvent[event]; pending != nil {
		pending.source = nil
		c.signalChange()
	}
}

// adoptConnection makes the present connection that of the changes, and forgets what came over another one. It
// reports whether the watch has to begin anew.
func (c *Client) adoptConnection(pending *pendingChanges) (isNew bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if pending.source != nil && pending.source == c.currentConnection {
		return false
	}
	pending.source, pending.byItem = c.currentConnection, map[string]json.RawMessage{}
	return true
}

// hasNews reports whether there are changes, another connection, or another watch.
func (c *Client) hasNews(event string, pending *pendingChanges) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(pending.byItem) > 0 || c.pendingByEvent[event] != pending ||
		c.currentConnection != nil && c.currentConnection != pending.source
}

func (c *Client) takeChanges(pending *pendingChanges) map[string]json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := pending.byItem
	pending.byItem = map[string]json.RawMessage{}
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
	pending := c.pendingByEvent[f.Type]
	if pending == nil || pending.byItem == nil {
		return
	}
	for _, raw := range append(p.Rooms, p.Players...) {
		var item struct {
			ID     string `json:"id"`
			Player string `json:"player"`
		}
		if json.Unmarshal(raw, &item) == nil {
			pending.byItem[cmp.Or(item.ID, item.Player)] = raw
		}
	}
	for _, id := range p.Removed {
		pending.byItem[id] = nil
	}
}
