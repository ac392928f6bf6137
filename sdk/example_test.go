package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/sdk/sdktest"
)

// demo starts a director in memory and one registered game server, where a program would use real addresses.
func demo() (client *sdk.Client, server *sdk.GameServer, stop func()) {
	d, err := sdktest.New(sdktest.Options{})
	if err != nil {
		panic(err)
	}
	web := httptest.NewServer(d)
	client, err = sdk.New(sdk.Options{URLs: []string{web.URL}})
	if err != nil {
		panic(err)
	}
	server, err = sdk.Start(context.Background(), client, sdk.ServerOptions{
		InstanceID: "arena-1", Endpoint: "203.0.113.7:7777", Region: "eu", Modes: []string{"duel"}, Capacity: 64,
	})
	if err != nil {
		panic(err)
	}
	return client, server, func() {
		_ = server.Close(context.Background())
		client.Close()
		web.Close()
	}
}

// A game server registers, and deregisters when it stops.
func ExampleStart() {
	director, err := sdktest.New(sdktest.Options{FleetToken: "a-long-shared-secret"})
	if err != nil {
		panic(err)
	}
	web := httptest.NewServer(director)
	defer web.Close()
	client, err := sdk.New(sdk.Options{URLs: []string{web.URL}})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	var players atomic.Int64
	server, err := sdk.Start(context.Background(), client, sdk.ServerOptions{
		InstanceID: "arena-1",
		Endpoint:   "203.0.113.7:7777",
		Region:     "eu",
		Modes:      []string{"duel"},
		Capacity:   64,
		FleetToken: "a-long-shared-secret",
		Load:       func() float64 { return float64(players.Load()) / 64 },
	})
	if err != nil {
		panic(err)
	}
	// A program that only serves would block here: err = server.RunUntilSignal(ctx, time.Minute)
	fmt.Println("in service:", director.Instances()["arena-1"].Available, "seats")
	fmt.Println("left:", server.Close(context.Background()))
	// Output:
	// in service: 64 seats
	// left: <nil>
}

// Seat returns an endpoint and a session token in one call.
func ExamplePlayer_Seat() {
	client, _, stop := demo()
	defer stop()
	alice := sdk.NewPlayer(client, func(context.Context) (string, error) { return "alice", nil })
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	seat, err := alice.Seat(ctx, sdk.MatchRequest{Region: "eu", Mode: "duel"})
	if err != nil {
		panic(err)
	}
	fmt.Printf("connect to %s, player %d of %d\n", seat.Endpoint, seat.PlayerCount, seat.MaxPlayers)
	// Output: connect to 203.0.113.7:7777, player 1 of 8
}

// A party is seated together: one member calls Matchmake, and each member resolves the handle that it returned.
func ExamplePlayer_Matchmake() {
	client, _, stop := demo()
	defer stop()
	login := func(sub string) *sdk.Player {
		return sdk.NewPlayer(client, func(context.Context) (string, error) { return sub, nil })
	}
	ctx := context.Background()
	party := []string{"alice", "bob"}
	match, err := login("alice").Matchmake(ctx, sdk.MatchRequest{Region: "eu", Mode: "duel", Party: party})
	if err != nil {
		panic(err)
	}
	for _, sub := range party {
		ticket, err := login(sub).Resolve(ctx, match.Handle)
		fmt.Println(sub, ticket.SessionID == match.SessionID, err)
	}
	_, err = login("mallory").Resolve(ctx, match.Handle)
	fmt.Println("mallory", errors.Is(err, sdk.ErrForbidden))
	// Output:
	// alice true <nil>
	// bob true <nil>
	// mallory true
}

// A game server calls Admit for each new connection, and then watches Done while it serves the connection.
func ExampleGameServer_Admit() {
	client, server, stop := demo()
	defer stop()
	alice := sdk.NewPlayer(client, func(context.Context) (string, error) { return "alice", nil })
	seat, err := alice.Seat(context.Background(), sdk.MatchRequest{Region: "eu", Mode: "duel"})
	if err != nil {
		panic(err)
	}

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	admission, err := server.Admit(ctx, seat.SessionToken)
	if err != nil {
		panic(err)
	}
	fmt.Println(admission.Sub, "plays")
	_, err = server.Admit(ctx, seat.SessionToken)
	fmt.Println(err)
	server.End(admission.SessionID)
	<-admission.Done()
	fmt.Println(admission.Err())
	// Output:
	// alice plays
	// sdk: session token was used before
	// sdk: session was ended
}

// A party queues with one ticket, which all of its members follow, and accepts the match that was found.
func ExamplePlayer_Queue() {
	d, err := sdktest.New(sdktest.Options{})
	if err != nil {
		panic(err)
	}
	web := httptest.NewServer(d)
	defer web.Close()
	client, err := sdk.New(sdk.Options{URLs: []string{web.URL}})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	server, err := sdk.Start(ctx, client, sdk.ServerOptions{
		InstanceID: "arena-1", Endpoint: "203.0.113.7:7777", Region: "eu", Modes: []string{"duel"}, Capacity: 64,
	})
	if err != nil {
		panic(err)
	}
	defer func() { _ = server.Close(ctx) }()

	alice := sdk.NewPlayer(client, func(context.Context) (string, error) { return "alice", nil })
	ticket, err := alice.Queue(ctx, sdk.TicketRequest{Profiles: []string{"duel"}, Attributes: map[string]any{"skill": 1480}})
	if err != nil {
		panic(err)
	}
	go func() { _ = d.Match("eu", "duel", true, ticket.ID()) }() // what the director does when it has found a match
	states, failed := ticket.Watch(ctx)
	for status := range states {
		fmt.Println(status.State)
		switch status.State {
		case sdk.QueueAccepting:
			if _, err := ticket.Accept(ctx, status.MatchID); err != nil {
				panic(err)
			}
		case sdk.QueueAssigned:
			connect, err := alice.Resolve(ctx, status.Handle)
			fmt.Println("connect to", connect.Endpoint, err)
		default: // a user interface shows it
		}
	}
	fmt.Println(failed())
	// Output:
	// accepting
	// assigned
	// connect to 203.0.113.7:7777 <nil>
	// <nil>
}
