package sdk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/cenkalti/backoff/v5"
)

// AccessToken yields the player's access token, which the game's own login issued. It is asked before each call, so it
// may renew an expiring one. It must be safe for concurrent use if the [Player] is used concurrently.
type AccessToken func(ctx context.Context) (string, error)

// Player makes the calls of one player. It is safe for concurrent use.
type Player struct {
	client *Client
	token  AccessToken
}

// NewPlayer returns the calls of the player whose access token the function yields.
func NewPlayer(client *Client, token AccessToken) *Player {
	return &Player{client: client, token: token}
}

// MatchRequest asks for seats in one session.
type MatchRequest struct {
	Region string `json:"region"`
	Mode   string `json:"mode"`
	// Party lists all who must be seated together, the caller among them. Empty: the caller alone.
	Party []string `json:"party,omitempty"`
	// MaxPlayers is the size of the session wanted, 1 to 1024. 0: the director's default for the mode.
	MaxPlayers int `json:"max_players,omitempty"`
	// AwaitServers has [Player.Seat] wait also while no game server offers the mode or the region, nor did in the last
	// day: for players that start before the first server does. Otherwise Seat takes that for a misspelt name.
	AwaitServers bool `json:"-"`
}

// Match is a session that has seats for the caller. The handle is a secret of those who play in it.
type Match struct {
	SessionID   string `json:"session_id"`
	Handle      string `json:"session_handle"`
	Endpoint    string `json:"endpoint"`
	Region      string `json:"region"`
	Mode        string `json:"mode"`
	PlayerCount int    `json:"player_count"`
	MaxPlayers  int    `json:"max_players"`
}

// Ticket is what a player shows to the game server: connect to Endpoint and present SessionToken, within its short
// life (2 minutes by default). The token is a secret.
type Ticket struct {
	SessionID    string `json:"session_id"`
	Endpoint     string `json:"endpoint"`
	SessionToken string `json:"session_token"`
}

// Seat is a match the caller can connect to right now.
type Seat struct {
	Match
	SessionToken string
}

// Matchmake asks for seats and answers with the session that has them. Asking again before connecting returns the same
// seats; a player who was cut off gets the running session back. The call carries one Idempotency-Key over all its
// attempts, so an answer that was lost on the way is found again. Errors: [ErrNoCapacity], [ErrNotOffered],
// [ErrPartyConflict], [ErrInvalid], [ErrUnauthorized].
func (p *Player) Matchmake(ctx context.Context, req MatchRequest) (Match, error) {
	var match Match
	key := http.Header{"Idempotency-Key": {rand.Text()}}
	err := p.do(ctx, call{method: http.MethodPost, path: "/matchmake", header: key, body: req}, &match)
	return match, err
}

// Resolve exchanges a session handle for a ticket of the caller. Every member of a party resolves for itself, with the
// handle that whoever called Matchmake passed on. Errors: [ErrNotFound], [ErrGone], and [ErrForbidden] without a seat.
func (p *Player) Resolve(ctx context.Context, handle string) (Ticket, error) {
	var ticket Ticket
	body := map[string]string{"session_handle": handle}
	err := p.do(ctx, call{method: http.MethodPost, path: "/resolve", body: body}, &ticket)
	return ticket, err
}

// Session tells how a session stands. Errors: [ErrNotFound], [ErrGone].
func (p *Player) Session(ctx context.Context, id string) (Match, error) {
	var match Match
	err := p.do(ctx, call{method: http.MethodGet, path: "/sessions/" + url.PathEscape(id)}, &match)
	return match, err
}

// Seat does all that leads to a game: matchmake, resolve, and once more from the start when the session closed or the
// seat was lost in between. While there is no capacity it waits and asks again. Only ctx bounds that, so give it a
// deadline; what it returns then tells the last reason. Errors that waiting cannot mend are returned at once, among them
// [ErrNotOffered], unless the request says to wait for servers.
func (p *Player) Seat(ctx context.Context, req MatchRequest) (Seat, error) {
	var last error
	seat, err := backoff.Retry(ctx, func() (seat Seat, err error) {
		seat, err = p.seatOnce(ctx, req)
		last = err
		if err != nil && !req.worthAnother(err) {
			return seat, backoff.Permanent(err)
		}
		return seat, err
	}, backoff.WithBackOff(newPacer(p.client.opts)), backoff.WithMaxElapsedTime(0))
	if err != nil && req.worthAnother(last) {
		return Seat{}, fmt.Errorf("sdk: no seat: %w; last attempt: %w", err, last)
	}
	return seat, err
}

func (p *Player) seatOnce(ctx context.Context, req MatchRequest) (Seat, error) {
	match, err := p.Matchmake(ctx, req)
	if err != nil {
		return Seat{}, err
	}
	ticket, err := p.Resolve(ctx, match.Handle)
	if err != nil {
		return Seat{}, err
	}
	// The ticket is newer than the match, which may be a replayed answer.
	match.Endpoint, match.SessionID = ticket.Endpoint, ticket.SessionID
	return Seat{Match: match, SessionToken: ticket.SessionToken}, nil
}

// worthAnother says whether asking again may help. 403 belongs here because an outage between the two calls can outlast a
// reserved seat.
func (r MatchRequest) worthAnother(err error) bool {
	return errors.Is(err, ErrNoCapacity) || errors.Is(err, ErrGone) || errors.Is(err, ErrForbidden) ||
		r.AwaitServers && errors.Is(err, ErrNotOffered)
}

func (p *Player) do(ctx context.Context, k call, out any) error {
	token, err := p.token(ctx)
	if err != nil {
		return fmt.Errorf("sdk: access token: %w", err)
	}
	if k.header == nil {
		k.header = http.Header{}
	}
	k.header.Set("Authorization", "Bearer "+token)
	return p.client.do(ctx, k, out)
}
