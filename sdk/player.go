package sdk

import (
	"context"
	"fmt"
)

// AccessToken returns the player's access token, which the game's own login issued. The [Player] calls it before each
// call to the director, so it may renew an expiring token. It must be safe for concurrent use if the Player is used
// concurrently.
type AccessToken func(ctx context.Context) (string, error)

// Player makes the calls of one player. It is safe for concurrent use.
type Player struct {
	apiClient   *Client
	accessToken AccessToken
}

// NewPlayer returns a Player that calls the director with the access tokens that token returns.
func NewPlayer(client *Client, token AccessToken) *Player {
	return &Player{apiClient: client, accessToken: token}
}

func (p *Player) callAPI(ctx context.Context, k call, out any) error {
	_, err := p.doAt(ctx, k, out)
	return err
}

// doAt is callAPI that also returns the address of the cell that answered.
func (p *Player) doAt(ctx context.Context, k call, out any) (cell string, err error) {
	token, err := p.accessToken(ctx)
	if err != nil {
		return "", fmt.Errorf("sdk: access token: %w", err)
	}
	return p.apiClient.doAt(ctx, k.withToken(token), out)
}
