package sdk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// SessionRoster is an open session on a game server and its players.
type SessionRoster struct {
	SessionID     string    `json:"session_id"`
	SessionHandle string    `json:"session_handle"`
	Mode          string    `json:"mode"`
	PlayerCount   int       `json:"player_count"` // seats taken
	MaxPlayers    int       `json:"max_players"`
	OpenedAt      time.Time `json:"opened_at"`

	// MatchID is the match that opened the session. It and the next four fields are empty for a session of Matchmake.
	MatchID        string `json:"match_id"`
	Profile        string `json:"profile"`
	ProfileVersion int    `json:"profile_version"`
	// Chosen is what the profile's common rules chose, such as the map, by attribute.
	Chosen map[string]string `json:"chosen"`
	Data   json.RawMessage   `json:"data"` // the profile's data for game servers; nil: none

	// Bots are how many your game adds to each team, by its name. When a player joins or leaves, the next list has
	// other numbers. Empty: none.
	Bots map[string]int `json:"bots"`

	Players []RosterPlayer `json:"players"` // sorted by Sub
}

// RosterPlayer is a player of a session. It says who is expected; [GameServer.Admit] says who may play.
type RosterPlayer struct {
	Sub      string    `json:"sub"`
	State    SeatState `json:"state"`
	Team     string    `json:"team"` // empty outside of matches
	Role     string    `json:"role"`
	TicketID string    `json:"ticket_id"` // the same for the players of a party
	// Attributes are those that `tell` of the profile lists: numbers, texts and lists of texts.
	Attributes map[string]any `json:"attributes"`
	// Sources say who vouches for attributes, "claim" or "backend", by name. An attribute that is missing here is the
	// word of the player's client, which can be a lie.
	Sources map[string]string `json:"sources"`
}

// SeatState is the state of a player's seat.
type SeatState string

// The states of a seat.
const (
	SeatReserved  SeatState = "reserved"  // the player is expected
	SeatConnected SeatState = "connected" // this server reported that the player joined
	SeatLeft      SeatState = "left"      // the player of the match left, or did not connect in time
)

type sessionsAnswer struct {
	Cursor   string          `json:"cursor"`
	Sessions []SessionRoster `json:"sessions"`
	Next     string          `json:"next"`
}

// Sessions returns a channel of lists of the server's open sessions, oldest first: the current list, then a list after
// each change. Newly seated players are listed within milliseconds, other changes within five seconds. A slow receiver
// skips lists, and is at most one behind. The channel is closed when ctx ends or the server does. Sessions retries
// after outages; sessions that ended with a lost lease are not in the next list.
func (s *GameServer) Sessions(ctx context.Context) <-chan []SessionRoster {
	out := make(chan []SessionRoster)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.lifeContext, cancel)
	go func() {
		defer close(out)
		defer cancel()
		defer stop()
		s.followSessions(ctx, out)
	}()
	return out
}

func (s *GameServer) followSessions(ctx context.Context, out chan<- []SessionRoster) {
	pause, known := newPacer(s.client.clientOptions), ""
	for ctx.Err() == nil {
		asked := time.Now()
		list, cursor, err := s.nextSessions(ctx, known)
		switch {
		case err == nil && cursor != known:
			select {
			case out <- list:
			case <-ctx.Done():
			}
			known = cursor
			pause.Reset()
			continue
		case err == nil && time.Since(asked) >= pollWait/2:
			pause.Reset()
			continue // nothing has changed
		case err != nil && ctx.Err() == nil && !errors.Is(err, ErrUnknownInstance):
			s.log.LogAttrs(ctx, slog.LevelWarn, "could not read the sessions", slog.Any("error", err))
		}
		// also after an early answer, from a stopping replica or because several programs poll for this instance
		pause.noteResult(err)
		_ = sleepPause(ctx, pause)
	}
}

// nextSessions returns all sessions once they differ from those of the cursor known, or after pollWait.
func (s *GameServer) nextSessions(ctx context.Context, known string) (list []SessionRoster, cursor string, err error) {
	query := url.Values{"wait": {pollWait.String()}, "cursor": {known}}
	for {
		var answer sessionsAnswer
		if err := s.readSessions(ctx, query, &answer); err != nil {
			return nil, "", err
		}
		list, cursor = append(list, answer.Sessions...), cmp.Or(cursor, answer.Cursor)
		if answer.Next == "" || cursor == known {
			return list, cursor, nil
		}
		query = url.Values{"after": {answer.Next}}
	}
}

func (s *GameServer) readSessions(ctx context.Context, query url.Values, answer *sessionsAnswer) error {
	return s.callAsIncarnation(ctx, func(ref instanceRef) (cell string, err error) {
		query.Set("instance_id", ref.InstanceID)
		if ref.Incarnation != "" {
			query.Set("incarnation", ref.Incarnation)
		}
		k := call{method: http.MethodGet, path: "/fleet/sessions?" + query.Encode(), header: s.fleetHeader(),
			region: s.serverOptions.Region}
		if query.Has("wait") {
			k.maxWait = pollWait
		}
		return s.client.doAt(ctx, k, answer)
	})
}
