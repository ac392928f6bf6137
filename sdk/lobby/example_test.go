package lobby_test

import (
	"context"
	"fmt"
	"time"

	"github.com/lattice-director/director/sdk/lobby"
)

// A player joins the match that a friend's party finds, and connects to its game server.
func ExampleConnect() { //nolint:testableexamples // it needs a director
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	token := lobby.StaticToken("what the game's backend minted")
	invitations, matches := make(chan lobby.Invited, 8), make(chan lobby.MatchFound, 8)

	client, err := lobby.Connect(ctx, lobby.Options{URLs: []string{"ws://127.0.0.1:4000"}, Token: token,
		OnEvent: func(event lobby.Event) {
			switch e := event.(type) {
			case lobby.Invited:
				invitations <- e
			case lobby.MatchFound:
				matches <- e
			}
		}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	invited := <-invitations
	if _, err := client.Join(ctx, invited.RoomType, invited.Room, lobby.JoinOptions{Name: "Bo"}); err != nil {
		fmt.Println(err)
		return
	}
	found := <-matches
	match, err := client.Join(ctx, found.RoomType, found.Room, lobby.JoinOptions{Name: "Bo"})
	if err != nil {
		fmt.Println(err)
		return
	}
	seat, err := match.Resolve(ctx)
	fmt.Println(seat.Endpoint, err)
}
