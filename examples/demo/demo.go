// Command demo shows the whole system at work on one machine, and proves that it keeps its promises: a private
// Postgres, two replicas of the director, two workers, six game servers and sixty bots. In a second region there is no
// game server: two more workers start them when players come, and end them when they have left. Some parties of bots
// call /matchmake, the others queue for the profile ranked.yaml, before there is a game server. Four friends meet in
// the realtime lobby, on both replicas, and play a match together while one replica is killed. The demo kills a game
// server, a worker and a replica with kill -9, drains a server in SQL as an operator does, shows stolen tokens to game
// servers, and kills a worker while servers start. It ends with one match explained and with proofs; its exit code is 1
// when one fails. The bots play for $DEMO_SECONDS, by default 60. On a terminal, or with DEMO_STAY=1, the system then
// runs on for half an hour, to be looked at in the console.
//
// demo.go is the main program. start.go and matchmaker.go start the processes of cluster.go, and bots.go the players;
// answers.go records the answers that players get. steps.go says when chaos.go injects which fault, queueing.go those
// of the queue; thief.go and cheat.go try what must be refused. watch.go reads the ops views, pool.go plays in the
// region whose servers the director starts, and servers.go lists these. lobby.go has the friends in the realtime lobby.
// judge.go says what the proofs read; proofs.go, pool_proofs.go and lobby_proofs.go make them, rules.go the one on the
// rules of matches. stay.go waits while somebody looks around, and screen.go prints. The game itself is examples/arena.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// Exit codes. Shells report 130 for a program that Ctrl-C ended.
const (
	exitKept        = 0
	exitBroken      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// extraTime is added to the length of the play for what has not happened in time on a busy machine.
const extraTime = time.Minute

func main() {
	// A terminal that is closed sends SIGHUP.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once; the kernel then kills its children
	opts, err := parseOptions(os.Getenv, isTerminal(os.Stdout))
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(exitUsage)
	}
	os.Exit(runDemo(ctx, opts, os.Stdout))
}

// options are what the environment says.
type options struct {
	playTime time.Duration // how long the bots play
	stayTime time.Duration // how long the system runs on at most; 0: it ends with the play
}

func parseOptions(getenv func(string) string, terminal bool) (o options, err error) {
	length, badLength := parseLength(getenv("DEMO_SECONDS"))
	stay, badStay := parseStay(getenv("DEMO_STAY"), terminal)
	// Both mistakes are reported at once.
	return options{playTime: length, stayTime: stay}, errors.Join(badLength, badStay)
}

// parseLength refuses less than 15 seconds, in which a lease expires and players are seated elsewhere, and more than an
// hour, because the answers of the whole play stay in memory.
func parseLength(seconds string) (time.Duration, error) {
	n, err := strconv.Atoi(cmp.Or(seconds, "60"))
	if err != nil || n < 15 || n > 3600 {
		return 0, fmt.Errorf("DEMO_SECONDS is %q: it must be a number from 15 to 3600", seconds)
	}
	return time.Duration(n) * time.Second, nil
}

// runDemo is the program. All processes that it starts have ended when it returns.
func runDemo(ctx context.Context, opts options, out io.Writer) (code int) {
	s, c := &screen{output: out}, &cluster{}
	end := performPlay(ctx, c, s, opts)
	return concludeDemo(ctx, c, s, end)
}

// ending is how the demo ended.
type ending struct {
	proofs        []proof
	printedProofs int // how many of the proofs are printed
	err           error
}

// performPlay starts everything, plays, proves and stops everything.
func performPlay(ctx context.Context, c *cluster, s *screen, opts options) (end ending) {
	s.printf("Lattice Director: the whole system on this machine, for %.0f s. Ctrl-C ends it.\n\n",
		opts.playTime.Seconds())
	defer func() {
		// After everything, also an error: no process may outlive the demo.
		stopErr := c.stopAll()
		if end.err == nil {
			end.proofs = append(end.proofs, endedWell(stopErr))
		}
	}()
	if err := c.startAll(ctx, s); err != nil {
		return ending{err: err}
	}
	s.printf("  %-9s %s  (watch it in a browser)\n", "console", c.consoleLink)
	players, err := newPlayers(c)
	if err != nil {
		return ending{err: err}
	}
	defer players.close()
	if err := players.storeFacts(ctx, c.rankingToken); err != nil {
		return ending{err: fmt.Errorf("the ranking: %w", err)}
	}
	s.printf("  %-9s %d bots, alone or in parties of up to %d; they know both replicas\n\n", "players", botCount,
		largestParty)
	end.proofs, end.err = playFor(ctx, c, players, s, opts.playTime)
	if end.err == nil && opts.stayTime > 0 {
		// concludeDemo prints only what follows these.
		end.printedProofs = len(end.proofs)
		s.showSummary(end.proofs, end.proofs)
		end.err = inspection{maxTime: opts.stayTime, consoleLink: c.consoleLink, runBots: players.botSwarm.Run,
			unexpectedExit: c.unexpectedExit}.await(ctx, s)
	}
	return end
}

// playFor runs the bots and the chaos until all steps are done, and then makes the proofs.
func playFor(ctx context.Context, c *cluster, players *players, s *screen, length time.Duration) ([]proof, error) {
	s.startedAt = time.Now()
	timed, end := context.WithTimeout(ctx, length+extraTime)
	defer end()
	group, playCtx := errgroup.WithContext(timed) // the first error ends the play
	friends := newLobby(c, s)
	chaos := &chaos{cluster: c, screen: s, proofJudge: judge{dbPool: c.dbPool, players: players},
		friendsPlay: friends.isPlaying}
	w := &watcher{cluster: c, players: players, screen: s}
	group.Go(func() error { players.botSwarm.Run(playCtx); return nil })
	group.Go(func() error { return w.runWatch(playCtx) })
	provisioning := &provisioning{cluster: c, screen: s}
	group.Go(func() error {
		// Bots and watcher run until the chaos, the guests and the friends are done.
		defer end()
		parts, partsCtx := errgroup.WithContext(playCtx)
		parts.Go(func() error { return chaos.runSteps(partsCtx, length) })
		parts.Go(func() error { return provisioning.runGuests(partsCtx) })
		parts.Go(func() error { return friends.run(partsCtx) })
		return parts.Wait()
	})
	// ctx and not timed: the end of the play's time is no error, and the proofs say what is missing.
	if err := errors.Join(group.Wait(), ctx.Err()); err != nil {
		return nil, err
	}
	j := &chaos.proofJudge
	j.fleetTally, j.poolFacts, j.friendsFacts = w.fleetTally, provisioning.facts, friends.facts
	explanation, err := j.explainMatch(ctx, c)
	if err != nil {
		return nil, err
	}
	s.printf("\nWhy one of the matches was made, as `director explain match` says:\n\n%s", explanation)
	return j.collectProofs(ctx), nil
}

// concludeDemo prints the result, and returns the exit code. It keeps the logs when a promise was broken.
func concludeDemo(ctx context.Context, c *cluster, s *screen, end ending) (code int) {
	// After the proofs, Ctrl-C is the usual end and no interruption.
	if ctx.Err() != nil && end.printedProofs == 0 {
		c.removeDir()
		s.printf("\nInterrupted; everything has been stopped and removed.\n")
		return exitInterrupted
	}
	var kept bool
	if end.err != nil {
		s.printf("\nThe demo failed: %v\n", end.err)
	} else {
		kept = s.showSummary(end.proofs[end.printedProofs:], end.proofs)
	}
	if !kept {
		s.printf("The logs of all processes are in %s\n", c.logsDir())
		return exitBroken
	}
	c.removeDir()
	if end.printedProofs == 0 {
		s.printf("%s", howToLook)
	}
	return exitKept
}

// howToLook are the last lines of a demo that ends with its play, as in CI.
const howToLook = `
Look around in the console of this system:  make demo DEMO_STAY=1
Run a director to try, with a console:      make dev
Make your first game server:                docs/tutorial.md
`
