// Package friends is what a game's client does with the realtime lobby, from the invitation to the game: friends meet
// in a private lobby, chat, become ready, queue together, and play a match on a game server. docs/how-to/lobbies.md
// explains the messages.
//
// friends.go has one friend, group.go what they do together, and play.go the game of one of them.
package friends

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/lattice-director/director/sdk/lobby"
)

// Friend is a player who is connected to the lobby.
type Friend struct {
	Client *lobby.Client
	Name   string

	mu           sync.Mutex
	invitedTo    []string // ids of rooms
	foundMatches []lobby.MatchFound
	heardLines   []Line
}

// Line is something that a member of a room has said.
type Line struct{ Room, From, Text string } // From is a session

// New connects a player. The caller closes it. Errors: those of [lobby.Connect].
func New(ctx context.Context, name, token string, urls ...string) (*Friend, error) {
	f := &Friend{Name: name}
	var err error
	f.Client, err = lobby.Connect(ctx, lobby.Options{URLs: urls, Token: lobby.StaticToken(token), OnEvent: f.noteEvent})
	return f, err
}

// noteEvent keeps the events that the steps of a group wait for.
func (f *Friend) noteEvent(event lobby.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch e := event.(type) {
	case lobby.Invited:
		f.invitedTo = append(f.invitedTo, e.Room)
	case lobby.MatchFound:
		f.foundMatches = append(f.foundMatches, e)
	case lobby.Message:
		var line struct {
			Text string `json:"text"`
		}
		// Only messages of the type "say" are chat.
		if e.Type == "say" && json.Unmarshal(e.Data, &line) == nil {
			f.heardLines = append(f.heardLines, Line{e.Room, e.From, line.Text})
		}
	}
}

// LinesHeard returns the lines that the friend has received in a room, in their order.
func (f *Friend) LinesHeard(room string) (lines []Line) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.heardLines {
		if l.Room == room {
			lines = append(lines, l)
		}
	}
	return lines
}

func (f *Friend) isInvited(room string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.invitedTo, room)
}

// newestMatch returns the newest match that was found.
func (f *Friend) newestMatch() (m lobby.MatchFound, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.foundMatches) == 0 {
		return lobby.MatchFound{}, false
	}
	return f.foundMatches[len(f.foundMatches)-1], true
}
