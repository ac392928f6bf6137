package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
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

// options are those of the command line.
type options struct {
	length        time.Duration // of the play
	servers, bots int
	bin           string // directory with director and arena; empty: they are built
}

// Sizes and intervals of the fleet. The lease is short, so that the lease of a killed server expires within the run.
const (
	leaseTTL       = 5 * time.Second
	heartbeatEvery = 1500 * time.Millisecond
	sessionSize    = 8
	largestParty   = 4
	region         = "local"
	shortest       = 15 * time.Second // enough for a lease to expire and for players to be seated elsewhere
	extraTime      = 30 * time.Second // for what has not happened in time on a busy machine
)

var modes = []string{"ffa", "teams"}

func parseOptions(args []string, stderr io.Writer) (o options, err error) {
	seconds, err := strconv.Atoi(cmp.Or(os.Getenv("DEMO_SECONDS"), "60"))
	if err != nil {
		return o, fmt.Errorf("DEMO_SECONDS is no number: %w", err)
	}
	f := flag.NewFlagSet("demo", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&seconds, "seconds", seconds, "how long the bots play; also $DEMO_SECONDS")
	f.IntVar(&o.servers, "servers", 6, "how many game servers")
	f.IntVar(&o.bots, "bots", 60, "how many players")
	f.StringVar(&o.bin, "bin", "", "directory with the binaries director and arena (default: build them)")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.length = time.Duration(seconds) * time.Second
	switch {
	case o.length < shortest || o.length > 24*time.Hour:
		err = fmt.Errorf("the demo takes %s to a day", shortest)
	case o.servers < 4 || o.servers > 20:
		err = errors.New("4 to 20 servers, for one is killed and one is drained")
	case o.bots < 10 || o.bots > 500:
		err = errors.New("10 to 500 bots")
	}
	return o, err
}

// capacity is the number of seats of the i-th server. Without the killed and the drained server the fleet has about a fifth
// more seats than there are bots: enough for all, and few enough that matches fill up.
func (o options) capacity(i int) int {
	sessions := ceil(ceil(o.bots*3/2, sessionSize), o.servers-2)
	return (sessions - i%2) * sessionSize
}

func ceil(n, by int) int { return (n + by - 1) / by }

// run is the program. All processes that it starts have ended when it returns.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	o, err := parseOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitKept
	}
	if err != nil {
		fmt.Fprintln(stderr, "demo:", err)
		return exitUsage
	}
	s := newScreen(stdout)
	c := &cluster{options: o}
	proofs, err := perform(ctx, c, s)
	return conclude(ctx, c, s, proofs, err)
}

// perform starts everything, plays, proves and stops everything.
func perform(ctx context.Context, c *cluster, s *screen) (proofs []proof, err error) {
	s.linef("%s: the whole system on this machine, for %.0f s. Ctrl-C ends it.\n", s.bold("Lattice Director"), c.options.length.Seconds())
	defer func() {
		stopped := c.stop()
		if err == nil {
			proofs = append(proofs, endedWell(stopped))
		}
	}()
	if err := c.start(ctx, s); err != nil {
		return nil, err
	}
	players, err := newPlayers(c)
	if err != nil {
		return nil, err
	}
	defer players.close()
	s.linef("  %-9s %d bots, alone or in parties of up to %d; they know both replicas\n", "players", c.options.bots, largestParty)
	return play(ctx, c, players, s)
}

// play runs the bots and the chaos until all steps are done, and then makes the proofs.
func play(ctx context.Context, c *cluster, players *players, s *screen) ([]proof, error) {
	s.begin(c.options.length)
	chaos := &chaos{cluster: c, players: players, screen: s}
	timed, end := context.WithTimeout(ctx, c.options.length+extraTime)
	defer end()
	w := &watcher{cluster: c, players: players, screen: s}
	group, stage := errgroup.WithContext(timed) // the first error ends the play
	group.Go(func() error { players.Run(stage); return nil })
	group.Go(func() error { return w.run(stage) })
	group.Go(func() error {
		defer end()
		return chaos.run(stage, c.options.length)
	})
	if err := errors.Join(group.Wait(), ctx.Err()); err != nil {
		return nil, err
	}
	s.end()
	judge := judge{options: c.options, ledger: ledger{c.db}, players: players, tally: w.tally, record: chaos.record}
	return judge.proofs(ctx)
}

// conclude prints the result. It keeps the logs when a promise was broken.
func conclude(ctx context.Context, c *cluster, s *screen, proofs []proof, err error) (code int) {
	s.end()
	switch {
	case ctx.Err() != nil:
		c.remove()
		s.linef("\nInterrupted; everything has been stopped and removed.")
		return exitInterrupted
	case err != nil:
		s.linef("\n%s %v", s.in(red, "The demo failed:"), err)
	case s.summary(proofs):
		c.remove()
		return exitKept
	}
	if c.dir != "" {
		s.linef("The logs of all processes are in %s", c.logs())
	}
	return exitBroken
}
