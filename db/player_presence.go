package db

import (
	"context"
	"slices"

	"github.com/lattice-director/director/db/query"
)

// MaxPresence is how many players a call of [Store.ReadPlayerPresence] may ask for. Callers must see to it: the
// call does not count them.
const MaxPresence = 1000

// PlayerPresence says whether a player of the realtime lobby is connected, and where.
type PlayerPresence struct {
	Player         string
	IsOnline       bool
	Rooms          []PresenceRoom // up to 4 that are not private, by id
	BlockedPlayers []string       // whom the player has blocked: see SeenBy
}

// PresenceRoom is a room in which a player is.
type PresenceRoom struct{ ID, Type string }

// ReadPlayerPresence returns the presence of up to [MaxPresence] players; unknown ones are not connected. players must
// have each name once. Errors: TooMany, Unavailable.
func (s *Store) ReadPlayerPresence(ctx context.Context, region, project string,
	players []string) (found []PlayerPresence, err error) {
	p := query.PlayerPresenceParams{Region: region, Project: project, Players: players}
	err = s.read(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.PlayerPresence(ctx, p)
		found = make([]PlayerPresence, len(rows))
		for i, r := range rows {
			found[i] = PlayerPresence{Player: r.Player, IsOnline: r.IsOnline, BlockedPlayers: r.Blocked}
			for n, id := range r.Rooms {
				found[i].Rooms = append(found[i].Rooms, PresenceRoom{id, r.Types[n]})
			}
		}
		return err
	})
	return found, err
}

// SeenBy returns the presence as another player sees it, without BlockedPlayers. A player that is blocked sees one that
// is not connected.
func (p PlayerPresence) SeenBy(watcher string) PlayerPresence {
	if slices.Contains(p.BlockedPlayers, watcher) {
		return PlayerPresence{Player: p.Player}
	}
	p.BlockedPlayers = nil
	return p
}

// Equal reports whether two presences look the same to a player that sees both.
func (p PlayerPresence) Equal(other PlayerPresence) bool {
	return p.Player == other.Player && p.IsOnline == other.IsOnline && slices.Equal(p.Rooms, other.Rooms)
}
