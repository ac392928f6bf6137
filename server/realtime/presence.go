package realtime

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/server/realtime/delivery"
	"github.com/lattice-director/director/server/realtime/wire"
	"github.com/lattice-director/director/token"
)

const (
	// presenceEvery is how often the presence of watched players is read: one statement for 1,000 of them, whoever
	// watches them.
	presenceEvery = 5 * time.Second
	maxFriends    = 100    // that a connection watches
	maxWatched    = 20_000 // players of a project, on a replica
)

// projectName names a project.
type projectName struct{ region, project string }

// presences are the players that clients of this replica watch. Safe for concurrent use.
type presences struct {
	server *Server

	mu        sync.Mutex
	byProject map[projectName]*watchedPlayers
	friends   map[*conn]*friendList
}

// watchedPlayers are those of a project.
type watchedPlayers struct {
	name     projectName
	watchers map[string]map[*conn]bool // by player
	loop     watchLoop
}

// friendList is what a connection watches, and what it was told of each: nothing yet if it is absent.
type friendList struct {
	watched      *watchedPlayers
	players      []string
	toldPresence map[string]db.PlayerPresence
}

func newPresences(s *Server) *presences {
	return &presences{server: s, byProject: map[projectName]*watchedPlayers{}, friends: map[*conn]*friendList{}}
}

// watchPresence lets a connection watch players. It replaces those that it watched before.
func watchPresence(ctx context.Context, c *conn, e wire.Envelope) (sendable, error) {
	players, failed := friendsOf(e)
	if failed != nil {
		return sendable{}, failed
	}
	if len(players) == 0 {
		c.server.presences.forget(c)
		return sendable{P: map[string]any{"players": []any{}}}, nil
	}
	found, err := c.server.store.PlayerPresence(ctx, c.region, c.project, players)
	if err != nil {
		return sendable{}, err
	}
	told := make(map[string]db.PlayerPresence, len(found))
	list := make([]any, len(found))
	for i, p := range found {
		p = p.SeenBy(c.player)
		told[p.Player], list[i] = p, presenceMessage(p)
	}
	if !c.server.presences.watch(c, players, told) {
		return sendable{}, &wire.Failure{Code: wire.CodeRateLimited, Text: "too many players are watched",
			RetryAfter: time.Minute}
	}
	return sendable{P: map[string]any{"players": list}, Event: "presence.changed"}, nil
}

// friendsOf reads the players of a request, each once.
func friendsOf(e wire.Envelope) ([]string, *wire.Failure) {
	list, is := e.PayloadFields()["players"].([]any)
	if !is || len(list) > maxFriends {
		return nil, wire.InvalidField("players", "has to be a list of at most 100 names of players")
	}
	players := make([]string, 0, len(list))
	for _, one := range list {
		name, is := one.(string)
		if !is || !token.ValidSubject(name) {
			return nil, wire.InvalidField("players", "has to be a list of at most 100 names of players")
		}
		players = append(players, name)
	}
	slices.Sort(players)
	return slices.Compact(players), nil
}

func presenceMessage(p db.PlayerPresence) map[string]any {
	rooms := make([]any, len(p.Rooms))
	for i, r := range p.Rooms {
		rooms[i] = map[string]any{"id": r.ID, "room_type": r.Type}
	}
	return map[string]any{"player": p.Player, "online": p.IsOnline, "rooms": rooms}
}

// watch reports false if too many players of the project are watched.
func (l *presences) watch(c *conn, players []string, told map[string]db.PlayerPresence) bool {
	l.forget(c)
	l.mu.Lock()
	defer l.mu.Unlock()
	name := projectName{c.region, c.project}
	w := l.byProject[name]
	if w == nil {
		w = &watchedPlayers{name: name, watchers: map[string]map[*conn]bool{}}
	}
	// Not yet in byProject if it is new: a list that is refused leaves nothing behind.
	if len(w.watchers)+len(players) > maxWatched {
		return false
	}
	l.byProject[name], l.friends[c] = w, &friendList{watched: w, players: players, toldPresence: told}
	for _, player := range players {
		if w.watchers[player] == nil {
			w.watchers[player] = map[*conn]bool{}
		}
		w.watchers[player][c] = true
	}
	w.loop.start(l.server, func(ctx context.Context) { l.follow(ctx, w) })
	return true
}

// forget ends what a connection watches.
func (l *presences) forget(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.friends[c]
	if list == nil {
		return
	}
	delete(l.friends, c)
	w := list.watched
	for _, player := range list.players {
		delete(w.watchers[player], c)
		if len(w.watchers[player]) == 0 {
			delete(w.watchers, player)
		}
	}
	if len(w.watchers) > 0 {
		return
	}
	delete(l.byProject, w.name)
	w.loop.end()
}

// follow sends what changes.
func (l *presences) follow(ctx context.Context, w *watchedPlayers) {
	follow.Loop{
		Name: "presence", Every: l.server.options.timing.presence, Timeout: listTimeout, Guard: l.server.guard,
		Report: l.server.outages.Call("presence").Report,
		Do: func(ctx context.Context, _ bool) error {
			// A copy of the names: the lock is not held while the database is asked.
			for page := range slices.Chunk(l.playersOf(w), db.MaxPresence) {
				found, err := l.server.store.PlayerPresence(ctx, w.name.region, w.name.project, page)
				if err != nil {
					return err
				}
				l.send(w, found)
			}
			return nil
		},
	}.Run(ctx)
}

func (l *presences) playersOf(w *watchedPlayers) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(w.watchers))
}

func (l *presences) send(w *watchedPlayers, found []db.PlayerPresence) {
	l.mu.Lock()
	defer l.mu.Unlock()
	changed := map[*conn][]any{}
	for _, p := range found {
		// Only those that watch it still; whoever has left since the names were copied is no longer among them.
		for c := range w.watchers[p.Player] {
			seen, told := p.SeenBy(c.player), l.friends[c].toldPresence
			if !told[p.Player].Equal(seen) {
				told[p.Player] = seen
				changed[c] = append(changed[c], presenceMessage(seen))
			}
		}
	}
	for c, players := range changed {
		c.send(delivery.PushEvent, wire.Outgoing{Type: "presence.changed", P: map[string]any{"players": players}})
	}
}
