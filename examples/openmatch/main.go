// Command openmatch is a small matchmaker as users of Open Match write it: a frontend with players, a director and a
// match function, each in a package of its own that knows Open Match's protocol and nothing else. It runs against Open
// Match as well as against a director; docs/openmatch.md explains it.
//
//	openmatch                     all three, until the players have played
//	openmatch matchfunction       one of them, until Ctrl-C: frontend, director or matchfunction
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := runParts(ctx, slog.New(slog.NewTextHandler(os.Stderr, nil)), os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "openmatch:", err)
		os.Exit(1)
	}
}

// config holds the flags.
type config struct {
	queryAddress, frontendAddress, backendAddress string // where Open Match listens: with a director they are one address
	listenAddress, functionAddress                string // the match function: where it listens, and where Open Match reaches it
	playerCount                                   int
	playerTimeout                                 time.Duration
	partName                                      string // "" is all of them
}

func parseFlags(args []string) (c config, err error) {
	flags := flag.NewFlagSet("openmatch", flag.ContinueOnError)
	flags.StringVar(&c.queryAddress, "query", "localhost:50503", "`address` of Open Match's query service")
	flags.StringVar(&c.frontendAddress, "frontend", "localhost:50504", "`address` of Open Match's frontend service")
	flags.StringVar(&c.backendAddress, "backend", "localhost:50505", "`address` of Open Match's backend service")
	flags.StringVar(&c.listenAddress, "listen", "127.0.0.1:50502", "`address` that the match function listens on")
	flags.StringVar(&c.functionAddress, "function", "",
		"`address` at which Open Match reaches the match function, if it is not the same")
	flags.IntVar(&c.playerCount, "players", 100, "number of players")
	flags.DurationVar(&c.playerTimeout, "timeout", 10*time.Second, "how long each player waits")
	director := flags.String("director", "", "`address` of a director, which is all three services")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	// -director wins over the other three: a director serves all three services at one address.
	if *director != "" {
		c.queryAddress, c.frontendAddress, c.backendAddress = *director, *director, *director
	}
	c.partName = flags.Arg(0)
	return c, nil
}

func runParts(ctx context.Context, log *slog.Logger, args []string) error {
	c, err := parseFlags(args)
	if err != nil {
		return err
	}
	switch c.partName {
	case "":
		return c.runAll(ctx, log)
	case "frontend":
		return c.runPlayers(ctx, log)
	case "director":
		return c.runDirector(ctx, log, c.functionAddr())
	case "matchfunction":
		return c.serveFunction(ctx, log, func(string) {})
	default:
		return fmt.Errorf("there is no part %q: there are frontend, director and matchfunction", c.partName)
	}
}
