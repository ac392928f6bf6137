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
	// defaultPresenceEvery is how often the presence of watched players is read: one statement for 1,000 of them,
	// whoever watches them.
	defaultPresenceEvery = 5 * time.Second
	maxFriends           = 100    // that a connection watches
	maxWatched           = 20_000 // players of a project, on a replica
)

// projectName is a project, with the region that its players are in.
type projectName struct{ region, project string }

// presences are the players that clients of this replica watch. Safe for concurrent use.
type presences struct {
	server *Server

	mu            sync.Mutex
	byProject     map[projectName]*watchedPlayers
	friendsByConn map[*conn]*friendList
}

// watchedPlayers are the players of one project that clients of this replica watch.
type watchedPlayers struct {
	projectName      projectName
	watchersByPlayer map[string]map[*conn]bool
	readLoop         watchLoop
}

// friendList is the players that a connection watches, which are called its friends.
type friendList struct {
	watchedPlayers *watchedPlayers
	friendNames    []string
	sentPresence   map[string]db.PlayerPresence // as it was sent last, by player; absent: nothing was sent yet
}

func newPresences(s *Server) *presences {
	return &presences{server: s, byProject: map[projectName]*watchedPlayers{}, friendsByConn: map[*conn]*friendList{}}
}

// watchPresence lets a connection watch players. It replaces those that it watched before.
func watchPresence(ctx context.Context, c *conn, e wire.Envelope) (rpcAnswer, error) {
	players, failed := friendsOf(e)
	if failed != nil {
		return rpcAnswer{}, failed
	}
	if len(players) == 0 {
		c.server.presences.forgetConn(c)
		return rpcAnswer{P: map[string]any{"players": []any{}}}, nil
	}
	found, err := c.server.store.ReadPlayerPresence(ctx, c.region, c.project, players)
	if err != nil {
		return rpcAnswer{}, err
	}
	sent := make(map[string]db.PlayerPresence, len(found))
	list := make([]any, len(found))
	for i, p := range found {
		// A player that has blocked this one is offline to it, as in every later change.
		p = p.SeenBy(c.player)
		sent[p.Player], list[i] = p, presencePayload(p)
	}
	if !c.server.presences.watchPlayers(c, players, sent) {
		return rpcAnswer{}, &wire.Failure{Code: wire.CodeRateLimited, Text: "too many players are watched",
			RetryAfter: time.Minute}
	}
	return rpcAnswer{P: map[string]any{"players": list}, EventType: "presence.changed"}, nil
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

func presencePayload(p db.PlayerPresence) map[string]any {
	rooms := make([]any, len(p.Rooms))
	for i, r := range p.Rooms {
		rooms[i] = map[string]any{"id": r.ID, "room_type": r.Type}
	}
	return map[string]any{"player": p.Player, "online": p.IsOnline, "rooms": rooms}
}

// watchPlayers lets a connection watch players, sorted, in place of those that it watched. It reports false, and
// changes nothing, if too many players of the project would be watched.
func (l *presences) watchPlayers(c *conn, players []string, sent map[string]db.PlayerPresence) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.countWatched(c, players) > maxWatched {
		return false
	}
	l.forgetLocked(c)
	name := projectName{c.region, c.project}
	w := l.byProject[name]
	if w == nil {
		w = &watchedPlayers{projectName: name, watchersByPlayer: map[string]map[*conn]bool{}}
	}
	l.byProject[name] = w
	l.friendsByConn[c] = &friendList{watchedPlayers: w, friendNames: players, sentPresence: sent}
	for _, player := range players {
		if w.watchersByPlayer[player] == nil {
			w.watchersByPlayer[player] = map[*conn]bool{}
		}
		w.watchersByPlayer[player][c] = true
	}
	w.readLoop.start(l.server, func(ctx context.Context) { l.followPlayers(ctx, w) })
	return true
}

// countWatched returns how many players of the project are watched once the connection watches these. A player whom
// several connections watch counts once: it is read once.
func (l *presences) countWatched(c *conn, players []string) int {
	w := l.byProject[projectName{c.region, c.project}]
	if w == nil {
		return len(players)
	}
	count := len(w.watchersByPlayer)
	for _, player := range players {
		if w.watchersByPlayer[player] == nil {
			count++
		}
	}
	former := l.friendsByConn[c]
	if former == nil {
		return count
	}
	for _, player := range former.friendNames {
		_, stays := slices.BinarySearch(players, player)
		if !stays && len(w.watchersByPlayer[player]) == 1 { // nobody else watches it
			count--
		}
	}
	return count
}

// forgetConn ends what a connection watches.
func (l *presences) forgetConn(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetLocked(c)
}

func (l *presences) forgetLocked(c *conn) {
	list := l.friendsByConn[c]
	if list == nil {
		return
	}
	delete(l.friendsByConn, c)
	w := list.watchedPlayers
	for _, player := range list.friendNames {
		delete(w.watchersByPlayer[player], c)
		if len(w.watchersByPlayer[player]) == 0 {
			delete(w.watchersByPlayer, player)
		}
	}
	if len(w.watchersByPlayer) > 0 {
		return
	}
	// Nobody of the project is watched any more: the loop would read nothing until the replica stops.
	delete(l.byProject, w.projectName)
	w.readLoop.stop()
}

// followPlayers reads the presence of the watched players of a project, and sends what changes.
func (l *presences) followPlayers(ctx context.Context, w *watchedPlayers) {
	follow.Loop{
		Name: "presence", Every: l.server.options.timing.presenceEvery, Timeout: watchTimeout, Guard: l.server.guard,
		Report: l.server.outageLog.Call("presence").Report,
		Do: func(ctx context.Context, _ bool) error {
			// A copy of the names: the lock is not held while the database is asked.
			for page := range slices.Chunk(l.playersOf(w), db.MaxPresence) {
				found, err := l.server.store.ReadPlayerPresence(ctx, w.projectName.region, w.projectName.project, page)
				if err != nil {
					return err
				}
				l.sendChanges(w, found)
			}
			return nil
		},
	}.Run(ctx)
}

// playersOf returns whom connections of this replica watch in a project.
func (l *presences) playersOf(w *watchedPlayers) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(w.watchersByPlayer))
}

// sendChanges sends each connection what is new about the players that it watches, in one message.
func (l *presences) sendChanges(w *watchedPlayers, found []db.PlayerPresence) {
	l.mu.Lock()
	defer l.mu.Unlock()
	changed := map[*conn][]any{}
	for _, p := range found {
		// Only connections that still watch it: some may have left since the names were copied.
		for c := range w.watchersByPlayer[p.Player] {
			seen, sent := p.SeenBy(c.player), l.friendsByConn[c].sentPresence
			if !sent[p.Player].Equal(seen) {
				sent[p.Player] = seen
				changed[c] = append(changed[c], presencePayload(seen))
			}
		}
	}
	for c, players := range changed {
		c.sendFrame(delivery.PushEvent, wire.Outgoing{Type: "presence.changed", P: map[string]any{"players": players}})
	}
}
