// Command first is the game server of docs/tutorial.md. Players connect over TCP and send their session token as the
// first line. The game is an echo.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/lattice-director/director/sdk"
)

func main() {
	director := flag.String("director", "http://localhost:8080", "URL of the director")
	addr := flag.String("addr", "127.0.0.1:7777", "where players connect")
	flag.Parse()
	ctx := context.Background()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", *addr)
	if err == nil {
		err = serve(ctx, *director, listener)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "first:", err)
		os.Exit(1)
	}
}

// serve runs the game server until SIGTERM or Ctrl-C, until ctx ends, or until another process registers under its
// instance id. It closes the listener.
func serve(ctx context.Context, director string, listener net.Listener) error {
	defer listener.Close()
	endpoint := listener.Addr().String()
	client, err := sdk.New(sdk.Options{URLs: []string{director}})
	if err != nil {
		return err
	}
	defer client.Close()
	server, err := sdk.Start(ctx, client, sdk.ServerOptions{
		InstanceID: "go-server", Endpoint: endpoint, Region: "local", Modes: []string{"duel"}, Capacity: 64,
		FleetToken: os.Getenv("FLEET_TOKEN"),
	})
	if err != nil {
		return err
	}
	fmt.Printf("process %d is registered; players connect to %s\n", os.Getpid(), endpoint)
	go accept(listener, server)
	return server.RunUntilSignal(ctx, 10*time.Second)
}

func accept(listener net.Listener, server *sdk.GameServer) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return // the listener is closed
		}
		go play(conn, server)
	}
}

// play admits one player and then echoes each line until the connection or the admission ends.
func play(conn net.Conn, server *sdk.GameServer) {
	defer func() { _ = conn.Close() }()
	lines := bufio.NewScanner(conn)
	if !lines.Scan() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	player, err := server.Admit(ctx, lines.Text())
	if err != nil {
		fmt.Fprintln(conn, "refused:", err)
		return
	}
	defer player.Leave()
	go func() {
		<-player.Done() // the player left, or the director ended the session
		_ = conn.Close()
	}()

	fmt.Println(player.Sub, "joins", player.SessionID)
	fmt.Fprintf(conn, "welcome %s to a %s for %d\n", player.Sub, player.Mode, player.MaxPlayers)
	for lines.Scan() {
		fmt.Fprintln(conn, "you said:", lines.Text())
	}
	fmt.Println(player.Sub, "leaves")
}
