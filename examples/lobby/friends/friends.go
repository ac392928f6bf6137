// Package friends is what a game's client does with the realtime lobby, from the invitation to the game: friends meet
// in a private lobby, chat, become ready, queue together, and play a match on a game server. docs/how-to/lobbies.md
// explains the messages.
//
// friends.go is one of them, group.go what they do together, and play.go their game.
package friends

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/lattice-director/director/examples/lobby/client"
)

// Friend is a player who is connected to the lobby.
type Friend struct {
	*client.Client

	Name string

	mu           sync.Mutex
	invited      []string // rooms
	foundMatches []Match
	said         []Line
}

// Line is something that a member of a room has said.
type Line struct{ Room, From, Text string } // From is a session

// Match is a match that the director has found for a session.
type Match struct {
	Room         string   `json:"room"`
	RoomType     string   `json:"room_type"`
	Participants []string `json:"participants"` // sessions
}

// New connects a player. The caller closes it. Errors: those of [client.Connect].
func New(ctx context.Context, name, token string, urls ...string) (*Friend, error) {
	f := &Friend{Name: name}
	var err error
	f.Client, err = client.Connect(ctx, client.Options{URLs: urls, Token: token, OnEvent: f.note})
	return f, err
}

// note keeps what the steps of a group wait for.
func (f *Friend) note(e client.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch e.Type {
	case "room.invited":
		f.invited = append(f.invited, e.Room)
	case "match.found":
		var m Match
		if json.Unmarshal(e.P, &m) == nil {
			f.foundMatches = append(f.foundMatches, m)
		}
	case "room.message":
		var m struct {
			Type string `json:"type"`
			From string `json:"from"`
			Data struct {
				Text string `json:"text"`
			} `json:"data"`
		}
		if json.Unmarshal(e.P, &m) == nil && m.Type == "say" {
			f.said = append(f.said, Line{e.Room, m.From, m.Data.Text})
		}
	}
}

// LinesHeard returns what the friend has heard in a room, in its order.
func (f *Friend) LinesHeard(room string) (lines []Line) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.said {
		if l.Room == room {
			lines = append(lines, l)
		}
	}
	return lines
}

// Say says something to all members of a room.
func (f *Friend) Say(ctx context.Context, room, text string) error {
	return f.Send(ctx, room, "say", map[string]any{"text": text})
}

func (f *Friend) isInvited(room string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.invited, room)
}

// newest returns the newest match that was found.
func (f *Friend) newest() (m Match, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.foundMatches) == 0 {
		return Match{}, false
	}
	return f.foundMatches[len(f.foundMatches)-1], true
}

// member is a member in the state of a lobby, under the key "m:" and its session.
type member struct {
	Name  string
	Ready bool
	Away  bool
}

// sees returns the members of a room, by session, as the friend sees them.
func (f *Friend) sees(room string) map[string]member {
	members := map[string]member{}
	known, _ := f.Room(room)
	for key := range known.State {
		var m member
		if session, ok := sessionOf(key); ok && known.Decode(key, &m) {
			members[session] = m
		}
	}
	return members
}
