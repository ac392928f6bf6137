// Command arena is a small multiplayer game whose players a director seats: "arena server" runs a game server, "arena
// bots" runs players. The game servers are in package server, the players in package bots, the shared rules in package
// game; this package is the command line.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/sdk"
)

func main() {
	if err := newCommand().ExecuteContext(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "arena:", err)
		os.Exit(1)
	}
}

// common holds the flags of both sub-commands.
type common struct {
	directorURLs []string
	logsJSON     bool
}

func newCommand() *cobra.Command {
	var c common
	root := &cobra.Command{
		// Silent, because main prints the error itself.
		Use: "arena", Short: "A small multiplayer game for the director", SilenceUsage: true, SilenceErrors: true,
	}
	root.PersistentFlags().StringSliceVar(&c.directorURLs, "director", nil,
		"base URLs of the director's replicas, comma-separated (default $DIRECTOR_URL, else http://127.0.0.1:8080)")
	root.PersistentFlags().BoolVar(&c.logsJSON, "log-json", false, "log JSON instead of text")
	root.AddCommand(serverCommand(&c), botsCommand(&c))
	return root
}

func (c *common) newLogger() *slog.Logger {
	if c.logsJSON {
		return slog.New(slog.NewJSONHandler(os.Stderr, nil))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, nil))
}

// newClient returns a client of the replicas that --director or $DIRECTOR_URL names.
func (c *common) newClient(log *slog.Logger) (*sdk.Client, error) {
	urls := c.directorURLs
	if len(urls) == 0 {
		urls = strings.Split(cmp.Or(os.Getenv("DIRECTOR_URL"), "http://127.0.0.1:8080"), ",")
	}
	return sdk.New(sdk.Options{URLs: urls, Logger: log, UserAgent: "arena"})
}
