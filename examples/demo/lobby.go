package main

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/examples/lobby/friends"
)

// friendsProfile matches the friends. Their room type names it.
//
//go:embed friends.yaml
var friendsProfile []byte

const (
	friendsRegion = "home"
	friendsMode   = "coop"
	friendsServer = "arena-friends" // nothing else plays there, so that chaos leaves it alone
	friendsLobby  = "lobby:friday"
	friendsMatch  = "coop" // the type of the match's room
	roomTypes     = `{"coop": {"logic": "match", "profile": "friends"}}`
)

var friendNames = []string{"ada", "bo", "cleo", "dan"}

// lobby is the part of the play in the realtime lobby: friends on two replicas go from a private lobby to a game
// server, and lose a replica while they play. It runs beside everything else.
type lobby struct {
	cluster     *cluster
	screen      *screen
	friendGroup friends.Group
	matchRoom   string        // the room
	allPlaying  chan struct{} // closed when all play; chaos kills the replica afterwards
	together    together
}

// together records what happened to the friends. The proofs read it after the play.
type together struct {
	replicaCount int           // to which they connected
	lineCount    int           // that each of them heard
	sameOrder    bool          // in which they heard them
	seatedAfter  time.Duration // from the start until the last one was admitted to the game
	sessionID    string        // that they played in, as region.id
	movedPlayers []string      // those who lost their replica
	backAfter    time.Duration // until the last of them had resumed its session
	allResumed   bool          // all of them kept their sessions and rooms
	sameState    bool          // of the lobby for all of them, with the change made meanwhile
	matchOver    bool          // the match's room said so to all
}

func newLobby(c *cluster, s *screen) *lobby {
	return &lobby{cluster: c, screen: s, allPlaying: make(chan struct{})}
}

// isPlaying reports whether all friends are on their game server.
func (l *lobby) isPlaying() bool {
	select {
	case <-l.allPlaying:
		return true
	default:
		return false
	}
}

// run returns when the friends have finished their match.
func (l *lobby) run(ctx context.Context) error {
	// Also those that were connected before an error.
	defer func() { l.friendGroup.Close() }()
	if err := l.connectFriends(ctx); err != nil {
		return fmt.Errorf("friends: %w", err)
	}
	for _, step := range []func(context.Context) error{l.meetFriends, l.playMatch} {
		// With the end of the play every step fails, which proves nothing.
		if err := step(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("friends: %w", err)
		}
	}
	return nil
}

// connectFriends makes a project and a token for each friend, and connects the first half to one replica, the others to
// the other.
func (l *lobby) connectFriends(ctx context.Context) error {
	if err := l.cluster.startFriendsServer(ctx); err != nil {
		return err
	}
	project, key, err := l.cluster.backend.Project(ctx, "demo")
	if err != nil {
		return err
	}
	for i, name := range friendNames {
		token, err := l.cluster.backend.Token(ctx, project, key, name)
		if err != nil {
			return err
		}
		urls := slices.Clone(l.cluster.lobbyURLs)
		// A client connects to the first address that answers.
		if i >= len(friendNames)/2 {
			slices.Reverse(urls)
		}
		f, err := friends.New(ctx, name, token, urls...)
		if err != nil {
			return err
		}
		l.friendGroup = append(l.friendGroup, f)
	}
	return nil
}

// friendsOn returns the friends who are connected to a replica.
func (l *lobby) friendsOn(url string) (found friends.Group) {
	for _, f := range l.friendGroup {
		if s := f.Client.Status(); s.URL == url {
			found = append(found, f)
		}
	}
	return found
}

func namesOf(group friends.Group) string {
	var all []string
	for _, f := range group {
		all = append(all, f.Name)
	}
	return strings.Join(all, " and ")
}

func (l *lobby) meetFriends(ctx context.Context) error {
	if err := l.friendGroup.Meet(ctx, friendsLobby); err != nil {
		return err
	}
	lines, err := l.friendGroup.Chat(ctx, friendsLobby, "shall we?")
	if err != nil {
		return err
	}
	first, second := l.friendsOn(l.cluster.lobbyURLs[0]), l.friendsOn(l.cluster.lobbyURLs[1])
	l.together.replicaCount = min(len(first), 1) + min(len(second), 1)
	l.screen.eventf("·", "%s (at %s) and %s (at %s) meet in a private lobby; all hear the same %d lines of chat",
		namesOf(first), l.cluster.replicas[0].command.Name, namesOf(second), l.cluster.replicas[1].command.Name,
		len(lines))
	begun := time.Now()
	match, err := l.friendGroup.Start(ctx, friendsLobby, friendsMatch, map[string]int{friendsRegion: 1})
	if err != nil {
		return err
	}
	l.matchRoom = match.Room
	l.together.seatedAfter = time.Since(begun)
	return nil
}

// playMatch lets the friends play until the replica of some was killed and they are back.
func (l *lobby) playMatch(ctx context.Context) error {
	gaming, leave := context.WithCancel(ctx)
	defer leave()
	games, stage := errgroup.WithContext(gaming)
	begun := time.Now()
	// Room for all: one who is admitted after another has failed must not block.
	admitted := make(chan string, len(l.friendGroup))
	for _, f := range l.friendGroup {
		seat, err := f.Client.Room(l.matchRoom).Resolve(ctx)
		if err != nil {
			return err
		}
		l.together.sessionID = seat.SessionID
		games.Go(func() error { return f.Play(stage, seat, func() { admitted <- f.Name }) })
	}
	for range l.friendGroup {
		select {
		case <-admitted:
		// A game that ended: nobody else will be admitted.
		case <-stage.Done():
			return errors.Join(games.Wait(), ctx.Err())
		}
	}
	// Without the time between both steps, in which nobody waits.
	l.together.seatedAfter += time.Since(begun)
	l.screen.eventf("✓", "all are ready, %s starts: a match is found, and all play on %s, %.1f s later",
		l.friendGroup[0].Name, friendsServer, l.together.seatedAfter.Seconds())
	close(l.allPlaying)
	if err := l.losesReplica(stage); err != nil {
		return errors.Join(err, games.Wait())
	}
	// The end of their context is how the friends leave: see friends.Play.
	leave()
	if err := games.Wait(); err != nil {
		return err
	}
	return l.waitForEnd(ctx)
}

// losesReplica waits for the end of a replica, and until its clients are at another. Meanwhile the host changes the
// lobby.
func (l *lobby) losesReplica(ctx context.Context) error {
	victims := l.friendsOn(l.cluster.lobbyURLs[1])
	sessions := map[string]string{}
	for _, f := range victims {
		sessions[f.Name] = f.Client.Status().Session
		l.together.movedPlayers = append(l.together.movedPlayers, f.Name)
	}
	for _, f := range victims {
		// A client may be back before this looks, so that nobody ever sees it disconnected.
		hasLost := func() bool { return !f.Client.Status().Connected || f.Client.Status().Resumed > 0 }
		if err := f.Client.Await(ctx, hasLost); err != nil {
			return err
		}
	}
	begun := time.Now()
	host := l.friendGroup[0]
	if err := host.Client.Room(friendsLobby).Set(ctx, "map", "dust"); err != nil {
		return err
	}
	l.together.allResumed = true
	for _, f := range victims {
		isBack := func() bool { return f.Client.Status().Resumed > 0 && f.Client.Status().Connected }
		if err := f.Client.Await(ctx, isBack); err != nil {
			return err
		}
		l.together.allResumed = l.together.allResumed && f.Client.Status().Session == sessions[f.Name]
	}
	l.together.backAfter = time.Since(begun)
	if err := l.agreeOnMap(ctx); err != nil {
		return err
	}
	l.screen.eventf("✓", "%s lost their replica: %.1f s later they are at %s in the same rooms, and see the map that %s chose meanwhile; their game went on",
		namesOf(victims), l.together.backAfter.Seconds(), l.cluster.replicas[0].command.Name, host.Name)
	return nil
}

// agreeOnMap waits until all see the same state of the lobby and have heard another line of everybody.
func (l *lobby) agreeOnMap(ctx context.Context) error {
	for _, f := range l.friendGroup {
		var settings struct{ Map string }
		seen := func() bool {
			return f.Client.Room(friendsLobby).State().Decode("settings", &settings) && settings.Map == "dust"
		}
		if err := f.Client.Await(ctx, seen); err != nil {
			return err
		}
	}
	if _, err := l.friendGroup.Chat(ctx, friendsLobby, "still here"); err != nil {
		return err
	}
	l.together.sameState = awaitTrue(ctx,
		func() bool { return l.friendGroup.SameState(friendsLobby) && l.friendGroup.SameState(l.matchRoom) })
	l.together.sameOrder, l.together.lineCount = l.friendGroup.SameOrder(friendsLobby), len(l.friendGroup[0].LinesHeard(friendsLobby))
	return ctx.Err()
}

// waitForEnd waits until the room of the match says to everybody that it has ended.
func (l *lobby) waitForEnd(ctx context.Context) error {
	for _, f := range l.friendGroup {
		if err := f.Client.Await(ctx, func() bool { return f.Client.Room(l.matchRoom).State().Text("phase") == "ended" }); err != nil {
			return err
		}
	}
	l.together.matchOver = true
	l.screen.eventf("✓", "the friends leave the game: the room of their match says to all that it has ended")
	return nil
}

// startFriendsServer applies the profile of the friends, and starts their game server.
func (c *cluster) startFriendsServer(ctx context.Context) error {
	file := filepath.Join(c.workDir, "friends.yaml")
	if err := os.WriteFile(file, friendsProfile, 0o600); err != nil {
		return err
	}
	if err := c.newCommand("director", "profiles", c.directorEnv, "profiles", "apply", "-f", file, "--reason",
		"the demo").Run(ctx); err != nil {
		return err
	}
	return c.runCommand(c.newCommand("arena", friendsServer, []string{"FLEET_TOKEN=" + c.fleetKey},
		"server", "--director", strings.Join(c.replicaURLs, ","), "--instance-id", friendsServer, "--region",
		friendsRegion, "--modes", friendsMode, "--capacity", fmt.Sprint(len(friendNames)), "--heartbeat-every",
		heartbeatEvery.String(), "--grace", "3s",
		"--empty-for", "1s"))
}

// lobbySettings makes the settings of the realtime lobby, which all processes share, with a new secret for its tokens.
func (c *cluster) lobbySettings() []string {
	return []string{
		"DIRECTOR_REALTIME_ROOMS=" + roomTypes, "DIRECTOR_REALTIME_MASTER_SECRET=" + rand.Text(),
		"DIRECTOR_REALTIME_INTERNAL_TOKEN=" + c.backend.InternalToken,
	}
}
