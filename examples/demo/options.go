package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// options are what the demo can be told.
type options struct {
	length  time.Duration // of the play
	servers int
	bots    int
	bin     string // directory with director and arena; empty: they are built
	plain   bool
}

// The fleet's measures. The lease is short, so that a killed server is missed within the run.
const (
	leaseTTL       = 5 * time.Second
	heartbeatEvery = 1500 * time.Millisecond
	sessionSize    = 8
	largestParty   = 4
	region         = "local"
)

var modes = []string{"ffa", "teams"}

// shortest is what all that happens needs: a lease that runs out, and time to be seated elsewhere.
const shortest = 15 * time.Second

func parseOptions(args []string, stderr io.Writer) (o options, err error) {
	seconds, err := strconv.Atoi(envOr("DEMO_SECONDS", "60"))
	if err != nil {
		return o, fmt.Errorf("DEMO_SECONDS is no number: %w", err)
	}
	f := flag.NewFlagSet("demo", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&seconds, "seconds", seconds, "how long the bots play; also $DEMO_SECONDS")
	f.IntVar(&o.servers, "servers", 6, "how many game servers")
	f.IntVar(&o.bots, "bots", 60, "how many players")
	f.StringVar(&o.bin, "bin", "", "directory with the binaries director and arena (default: build them)")
	f.BoolVar(&o.plain, "plain", envOr("CI", "") == "true" || envOr("TERM", "") == "dumb", "plain lines even on a terminal; also $CI=true")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.length = time.Duration(seconds) * time.Second
	return o, o.check()
}

func (o options) check() error {
	switch {
	case o.length < shortest || o.length > 24*time.Hour:
		return fmt.Errorf("the demo takes %s to a day", shortest)
	case o.servers < 4 || o.servers > 20:
		return errors.New("4 to 20 servers, for one is killed and one is drained")
	case o.bots < 10 || o.bots > 500:
		return errors.New("10 to 500 bots")
	}
	return nil
}

// capacity is that of the i-th server. Without one that was killed and one that takes nobody new, the fleet has about a
// fifth more seats than there are bots: enough for all, and few enough that matches fill up.
func (o options) capacity(i int) int {
	sessions := ceil(ceil(o.bots*3/2, sessionSize), o.servers-2)
	return (sessions - i%2) * sessionSize
}

func ceil(n, by int) int { return (n + by - 1) / by }

func envOr(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}
