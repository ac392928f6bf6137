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
	err := run(ctx, slog.New(slog.NewTextHandler(os.Stderr, nil)), os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "openmatch:", err)
		os.Exit(1)
	}
}

// config holds the flags.
type config struct {
	query, frontend, backend string // where Open Match listens: with a director they are one address
	listen, function         string // the match function: where it listens, and where Open Match reaches it
	players                  int
	timeout                  time.Duration
	part                     string // "" is all of them
}

func parse(args []string) (c config, err error) {
	flags := flag.NewFlagSet("openmatch", flag.ContinueOnError)
	flags.StringVar(&c.query, "query", "localhost:50503", "`address` of Open Match's query service")
	flags.StringVar(&c.frontend, "frontend", "localhost:50504", "`address` of Open Match's frontend service")
	flags.StringVar(&c.backend, "backend", "localhost:50505", "`address` of Open Match's backend service")
	flags.StringVar(&c.listen, "listen", "127.0.0.1:50502", "`address` that the match function listens on")
	flags.StringVar(&c.function, "function", "", "`address` at which Open Match reaches the match function, if it is not the same")
	flags.IntVar(&c.players, "players", 100, "number of players")
	flags.DurationVar(&c.timeout, "timeout", 10*time.Second, "how long each player waits")
	director := flags.String("director", "", "`address` of a director, which is all three services")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if *director != "" {
		c.query, c.frontend, c.backend = *director, *director, *director
	}
	c.part = flags.Arg(0)
	return c, nil
}

func run(ctx context.Context, log *slog.Logger, args []string) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	switch c.part {
	case "":
		return c.runAll(ctx, log)
	case "frontend":
		return c.play(ctx, log)
	case "director":
		return c.direct(ctx, log, c.functionAddr())
	case "matchfunction":
		return c.serveFunction(ctx, log, func(string) {})
	default:
		return fmt.Errorf("there is no part %q: there are frontend, director and matchfunction", c.part)
	}
}
