// Command browser serves two pages on which players play the arena, with the clients of sdk/ts in a browser: on one
// they queue and see their place in line (docs/how-to/browser.md), on the other they find a room of the realtime lobby,
// chat, become ready and play together (docs/how-to/lobbies.md). It also runs a game server of the arena and some bots
// to play with, and is the login and the backend of its players. It is for one machine and a `director dev`.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/lattice-director/director/examples/arena/bots"
	"github.com/lattice-director/director/examples/arena/server"
	"github.com/lattice-director/director/examples/lobby/backend"
	"github.com/lattice-director/director/sdk"
)

const (
	region  = "local"
	mode    = "ffa"
	profile = "browser" // of profile.yaml
	// roomType is the type of the rooms of matches, whose profile is that of profile.yaml. The Makefile configures it.
	roomType = "arena"
)

// botsPlay is how long bots stay in a match: short, so that one of them is soon in the queue when a player comes.
var botsPlay = bots.Span{Min: 6 * time.Second, Max: 12 * time.Second}

// options are the flags of the program.
type options struct {
	directorURL, listenAddress, issuerKey, sdkDir string
	botCount                                      int
	lobby                                         lobbyAccess
}

// lobbyAccess is how players get into the realtime lobby.
type lobbyAccess struct {
	urls, projectID, projectKey string
	backend                     backend.Backend // mints their tokens
}

func main() {
	var o options
	flag.StringVar(&o.directorURL, "director", cmp.Or(os.Getenv("DIRECTOR_URL"), "http://127.0.0.1:8080"),
		"base URLs of the director's replicas, comma-separated")
	flag.StringVar(&o.listenAddress, "listen", "127.0.0.1:5173",
		"address of the page; the director must allow its origin (DIRECTOR_CORS_ORIGINS)")
	flag.StringVar(&o.issuerKey, "issuer-key", os.Getenv("ARENA_ISSUER_KEY"),
		"file with the Ed25519 private key (JWK) that signs access tokens, which the director must trust")
	flag.StringVar(&o.sdkDir, "sdk", "sdk/ts/dist", "directory of the built client, as make sdk-ts builds it")
	flag.IntVar(&o.botCount, "bots", 3, "how many bots play")
	flag.StringVar(&o.lobby.urls, "lobby", "ws://127.0.0.1:4000",
		"URLs of the replicas' listeners for the lobby, comma-separated")
	flag.StringVar(&o.lobby.backend.URL, "control", "http://127.0.0.1:3000",
		"URL of the control API, which mints tokens of the lobby")
	flag.StringVar(&o.lobby.backend.InternalToken, "internal-token",
		cmp.Or(os.Getenv("DIRECTOR_REALTIME_INTERNAL_TOKEN"),
			"nexis-dev-internal-token"), "secret of the control API")
	flag.StringVar(&o.lobby.projectID, "project", "demo-project", "project of the lobby")
	flag.StringVar(&o.lobby.projectKey, "key", "demo-key", "key of the project")
	flag.Parse()
	if err := runServer(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		os.Exit(1)
	}
}

// runServer serves the page, the game server and the bots until Ctrl-C.
func runServer(ctx context.Context, o options) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	issuer, err := bots.LoadIssuer(o.issuerKey)
	if err != nil {
		return fmt.Errorf("--issuer-key: %w", err)
	}
	urls := strings.Split(o.directorURL, ",")
	director, err := sdk.New(sdk.Options{URLs: urls, Logger: log})
	if err != nil {
		return err
	}
	defer director.Close()
	page, err := newPage(urls, o, issuer)
	if err != nil {
		return err
	}
	// Before the game server registers: if the port is taken, which is the usual mistake, nobody has been seated yet.
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.listenAddress)
	if err != nil {
		return err
	}
	game, err := startGame(ctx, director, log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	web := &http.Server{Handler: page, ReadHeaderTimeout: 5 * time.Second}
	var parts sync.WaitGroup
	parts.Go(func() { _ = web.Serve(listener) }) // returns after Close
	parts.Go(func() { runBots(ctx, o.botCount, director, issuer, log) })
	fmt.Printf(`open http://%[1]s to queue, or http://%[1]s/lobby.html to meet in a room
A match needs two players: the %[2]d bots queue all the time; or open a second tab with another name. Ctrl-C stops it
`, listener.Addr(), max(0, o.botCount))
	// Matches get only one second to end: a person who stops the example looks at no game any more.
	err = game.Run(ctx, time.Second)
	_ = web.Close()
	parts.Wait()
	return err
}

// startGame starts a game server on any free port.
func startGame(ctx context.Context, director *sdk.Client, log *slog.Logger) (*server.Server, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return server.Start(ctx, server.Config{
		Director: director, FleetToken: os.Getenv("FLEET_TOKEN"), InstanceID: "browser-arena", Region: region,
		Modes: []string{mode}, Capacity: 64, Logger: log,
	})
}

// runBots lets bots queue and play until ctx ends. It only logs an error: without bots the page works for two players.
func runBots(ctx context.Context, count int, director *sdk.Client, issuer *bots.Issuer, log *slog.Logger) {
	if count <= 0 {
		return
	}
	swarm, err := bots.New(bots.Config{
		Director: director, AccessToken: issuer.AccessToken, Count: count, Region: region, Modes: []string{mode},
		Profiles: map[string]string{mode: profile}, PlayFor: botsPlay, Logger: log,
	})
	if err != nil {
		log.Error("no bots", slog.Any("error", err))
		return
	}
	swarm.Run(ctx)
}
