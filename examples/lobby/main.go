// Command lobby shows the realtime lobby of a running director, by default that of `director dev`: friends meet in a
// private lobby, chat, become ready, and queue for a match. If the match has a game server of examples/arena, they play
// there. docs/how-to/lobbies.md explains it.
//
//	lobby                                      against director dev
//	lobby -lobby ws://a:4000,ws://b:4000       over several replicas
//
// Package friends is what the friends do, with the client of sdk/lobby; package backend is the backend of their game.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/examples/lobby/backend"
	"github.com/lattice-director/director/examples/lobby/friends"
	"github.com/lattice-director/director/sdk/lobby"
)

// matchTimeout is how long the friends wait for each other and for their match.
const matchTimeout = 30 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := runExample(ctx, os.Stdout, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "lobby:", err)
		os.Exit(1)
	}
}

// config holds the flags. The defaults are the values of `director dev`.
type config struct {
	lobbyURLs, playerNames []string
	backend                backend.Backend
	projectID, projectKey  string
	roomType               string
	playTime               time.Duration
}

func parseFlags(args []string) (c config, err error) {
	flags := flag.NewFlagSet("lobby", flag.ContinueOnError)
	urls := flags.String("lobby", "ws://127.0.0.1:4000", "`addresses` of the lobby's replicas, comma-separated")
	names := flags.String("friends", "ada,bo", "the `names` of the players")
	flags.StringVar(&c.backend.URL, "control", "http://127.0.0.1:3000", "`address` of the control API, which makes the tokens")
	flags.StringVar(&c.backend.InternalToken, "internal-token", "nexis-dev-internal-token", "`secret` of the control API")
	flags.StringVar(&c.projectID, "project", "demo-project", "the `project`")
	flags.StringVar(&c.projectKey, "key", "demo-key", "the project's `key`")
	flags.StringVar(&c.roomType, "room-type", "duel", "the `type` of the match: one with a profile has a game server")
	flags.DurationVar(&c.playTime, "play", 5*time.Second, "how long to play on the game server of the match")
	err = flags.Parse(args)
	c.lobbyURLs, c.playerNames = strings.Split(*urls, ","), strings.Split(*names, ",")
	return c, err
}

// runExample connects the friends, lets them meet and find a match, and plays on its game server if the room type has
// one. It returns the first error, after it has closed all connections.
func runExample(ctx context.Context, out io.Writer, args []string) error {
	c, err := parseFlags(args)
	if err != nil {
		return err
	}
	group, err := c.connectFriends(ctx)
	if err != nil {
		return err
	}
	defer group.Close()
	for i, f := range group {
		fmt.Fprintf(out, "%s is connected to %s, session %s\n", f.Name, c.lobbyURLs[i%len(c.lobbyURLs)],
			f.Client.Status().Session)
	}
	meeting, cancel := context.WithTimeout(ctx, matchTimeout)
	defer cancel()
	match, err := c.meetFriends(meeting, out, group)
	if err != nil {
		return err
	}
	// A room type without a profile makes a match of the lobby alone: there is no game server to connect to.
	if _, hasServer := group[0].Client.Room(match.Room).State().Values["server"]; !hasServer {
		fmt.Fprintf(out, "the match has no game server: the room type %s has no profile\n", c.roomType)
		return nil
	}
	return c.playTogether(ctx, out, group, match.Room)
}

// connectFriends connects the friends, by turns to the replicas.
func (c config) connectFriends(ctx context.Context) (group friends.Group, err error) {
	for i, name := range c.playerNames {
		// The client connects to the first address that answers: each friend has another first one.
		first := i % len(c.lobbyURLs)
		f, err := c.connectFriend(ctx, name, slices.Concat(c.lobbyURLs[first:], c.lobbyURLs[:first]))
		if err != nil {
			group.Close()
			return nil, err
		}
		group = append(group, f)
	}
	return group, nil
}

func (c config) connectFriend(ctx context.Context, name string, urls []string) (*friends.Friend, error) {
	token, err := c.backend.Token(ctx, c.projectID, c.projectKey, name)
	if err != nil {
		return nil, err
	}
	return friends.New(ctx, name, token, urls...)
}

// meetFriends brings the friends from the lobby to a match.
func (c config) meetFriends(ctx context.Context, out io.Writer, group friends.Group) (lobby.MatchFound, error) {
	// A new name for each run: the friends of an earlier run may still be in their room.
	room := "lobby:" + strings.ToLower(rand.Text()[:8])
	if err := group.Meet(ctx, room); err != nil {
		return lobby.MatchFound{}, err
	}
	fmt.Fprintf(out, "all are in %s, which %s owns\n", room, group[0].Name)
	lines, err := group.Chat(ctx, room, "hello")
	if err != nil {
		return lobby.MatchFound{}, err
	}
	if !group.SameOrder(room) {
		return lobby.MatchFound{}, errors.New("not everybody has heard the same chat")
	}
	fmt.Fprintf(out, "everybody has heard %d lines of chat, in the same order\n", len(lines))
	match, err := group.Start(ctx, room, c.roomType, map[string]int{"local": 1})
	if err != nil {
		return lobby.MatchFound{}, err
	}
	fmt.Fprintf(out, "all were ready, and %s started: they are in the match %s\n", group[0].Name, match.Room)
	return match, nil
}

// playTogether plays on the game server of a match.
func (c config) playTogether(ctx context.Context, out io.Writer, group friends.Group, room string) error {
	// The friends leave the game when this context ends: see friends.Play.
	ctx, cancel := context.WithTimeout(ctx, c.playTime)
	defer cancel()
	playing, playCtx := errgroup.WithContext(ctx)
	for _, f := range group {
		seat, err := f.Client.Room(room).Resolve(ctx)
		if err != nil {
			return err
		}
		// Each plays at once, while the others still ask for their seats.
		playing.Go(func() error {
			return f.Play(playCtx, seat, func() { fmt.Fprintf(out, "%s plays at %s\n", f.Name, seat.Endpoint) })
		})
	}
	return playing.Wait()
}
