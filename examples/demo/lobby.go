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
	friendsServer = "arena-friends" // in a region of its own, so that chaos does not kill it
	friendsLobby  = "lobby:friday"
	friendsMatch  = "coop" // the type of the match's room
	// roomTypes is DIRECTOR_REALTIME_ROOMS, with the type friendsMatch.
	roomTypes = `{"coop": {"logic": "match", "profile": "friends"}}`
)

var friendNames = []string{"ada", "bo", "cleo", "dan"}

// lobby is the part of the play in the realtime lobby: friends on two replicas go from a private lobby to a game
// server, and lose a replica while they play. It runs beside everything else.
type lobby struct {
	cluster     *cluster
	screen      *screen
	friendGroup friends.Group
	matchRoom   string        // id of the match's room
	allPlaying  chan struct{} // closed when all play; chaos kills the replica afterwards
	facts       friendsFacts
}

// friendsFacts is what happened to the friends. The proofs read it after the play.
type friendsFacts struct {
	replicaCount int           // replicas to which the friends connected
	lineCount    int           // lines of chat that each friend received
	sameOrder    bool          // all received the lines in the same order
	seatedAfter  time.Duration // from the start until the last one was admitted to the game
	sessionID    string        // session in which they played, as region.id
	movedPlayers []string      // those who lost their replica
	backAfter    time.Duration // from that loss until the last of them had resumed its session
	allResumed   bool          // all of them kept their sessions and rooms
	sameState    bool          // all see the same state of both rooms, with the change made meanwhile
	matchOver    bool          // the match's room has said to all that the match is over
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
	// The group is read at the end: after an error it has the friends that were connected before.
	defer func() { l.friendGroup.Close() }()
	if err := l.connectFriends(ctx); err != nil {
		return fmt.Errorf("friends: %w", err)
	}
	for _, step := range []func(context.Context) error{l.meetFriends, l.playMatch} {
		// At the end of the play every step fails. That is no error: the proofs say what has not happened.
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
		if f.Client.Status().URL == url {
			found = append(found, f)
		}
	}
	return found
}

// namesOf names the friends of a group: "ada and bo".
func namesOf(group friends.Group) string {
	var all []string
	for _, f := range group {
		all = append(all, f.Name)
	}
	return strings.Join(all, " and ")
}

// meetFriends brings the friends from a private lobby to the room of their match.
func (l *lobby) meetFriends(ctx context.Context) error {
	if err := l.friendGroup.Meet(ctx, friendsLobby); err != nil {
		return err
	}
	lines, err := l.friendGroup.Chat(ctx, friendsLobby, "shall we?")
	if err != nil {
		return err
	}
	first, second := l.friendsOn(l.cluster.lobbyURLs[0]), l.friendsOn(l.cluster.lobbyURLs[1])
	l.facts.replicaCount = min(len(first), 1) + min(len(second), 1)
	l.screen.eventf("·", "%s (at %s) and %s (at %s) meet in a private lobby; all hear the same %d lines of chat",
		namesOf(first), l.cluster.replicas[0].command.Name, namesOf(second), l.cluster.replicas[1].command.Name,
		len(lines))
	begun := time.Now()
	match, err := l.friendGroup.Start(ctx, friendsLobby, friendsMatch, map[string]int{friendsRegion: 1})
	if err != nil {
		return err
	}
	l.matchRoom = match.Room
	l.facts.seatedAfter = time.Since(begun)
	return nil
}

// playMatch lets the friends play until chaos has killed the replica of some of them and they are connected again.
func (l *lobby) playMatch(ctx context.Context) error {
	leaving, leave := context.WithCancel(ctx)
	defer leave()
	games, gamesCtx := errgroup.WithContext(leaving)
	begun := time.Now()
	// Room for all: one who is admitted after another has failed must not block.
	admitted := make(chan string, len(l.friendGroup))
	for _, f := range l.friendGroup {
		seat, err := f.Client.Room(l.matchRoom).Resolve(ctx)
		if err != nil {
			return err
		}
		l.facts.sessionID = seat.SessionID
		games.Go(func() error { return f.Play(gamesCtx, seat, func() { admitted <- f.Name }) })
	}
	for range l.friendGroup {
		select {
		case <-admitted: // one more
		case <-gamesCtx.Done():
			// The game of one friend has failed, which ends the others'. Nobody else will be admitted.
			return errors.Join(games.Wait(), ctx.Err())
		}
	}
	// This is added to the time until the match was found. Nobody waited between these two steps.
	l.facts.seatedAfter += time.Since(begun)
	l.screen.eventf("✓", "all are ready, %s starts: a match is found, and all play on %s, %.1f s later",
		l.friendGroup[0].Name, friendsServer, l.facts.seatedAfter.Seconds())
	close(l.allPlaying)
	if err := l.awaitFailover(gamesCtx); err != nil {
		return errors.Join(err, games.Wait())
	}
	// The friends leave the game when their context ends: see friends.Play.
	leave()
	if err := games.Wait(); err != nil {
		return err
	}
	return l.awaitEnd(ctx)
}

// awaitFailover waits until the second replica has been killed and its clients are connected to the first one.
// Meanwhile the host changes the lobby.
func (l *lobby) awaitFailover(ctx context.Context) error {
	victims := l.friendsOn(l.cluster.lobbyURLs[1])
	sessions := map[string]string{}
	for _, f := range victims {
		sessions[f.Name] = f.Client.Status().Session
		l.facts.movedPlayers = append(l.facts.movedPlayers, f.Name)
	}
	for _, f := range victims {
		// A client that is back before this line runs is never seen disconnected, but has resumed its session.
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
	l.facts.allResumed = true
	for _, f := range victims {
		isBack := func() bool { return f.Client.Status().Resumed > 0 && f.Client.Status().Connected }
		if err := f.Client.Await(ctx, isBack); err != nil {
			return err
		}
		l.facts.allResumed = l.facts.allResumed && f.Client.Status().Session == sessions[f.Name]
	}
	l.facts.backAfter = time.Since(begun)
	if err := l.awaitAgreement(ctx); err != nil {
		return err
	}
	l.screen.eventf("✓", "%s lost their replica: %.1f s later they are at %s in the same rooms, "+
		"and see the map that %s chose meanwhile; their game went on",
		namesOf(victims), l.facts.backAfter.Seconds(), l.cluster.replicas[0].command.Name, host.Name)
	return nil
}

// awaitAgreement waits until all see the map that the host chose, and the same state of both rooms, after another round
// of chat.
func (l *lobby) awaitAgreement(ctx context.Context) error {
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
	l.facts.sameState = awaitTrue(ctx,
		func() bool { return l.friendGroup.SameState(friendsLobby) && l.friendGroup.SameState(l.matchRoom) })
	l.facts.sameOrder = l.friendGroup.SameOrder(friendsLobby)
	l.facts.lineCount = len(l.friendGroup[0].LinesHeard(friendsLobby))
	return ctx.Err()
}

// awaitEnd waits until the room of the match says to everybody that it has ended.
func (l *lobby) awaitEnd(ctx context.Context) error {
	for _, f := range l.friendGroup {
		hasEnded := func() bool { return f.Client.Room(l.matchRoom).State().Text("phase") == "ended" }
		if err := f.Client.Await(ctx, hasEnded); err != nil {
			return err
		}
	}
	l.facts.matchOver = true
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
