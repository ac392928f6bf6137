package bench

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// The scenarios: what a caller does over and over.
const (
	matchmake   = "matchmake"    // another player each time asks for a seat
	resolve     = "resolve"      // another player each time exchanges the handle of a seat, reserved beforehand, for a token
	heartbeat   = "heartbeat"    // a game server of the caller's own beats
	sessionLife = "session-life" // another player each time gets a seat, resolves it, joins and leaves
)

// scenarios are the turns. What they do with [caller.timed] is measured; making access tokens is not, which a login does.
var scenarios = map[string]func(*caller, context.Context) error{
	matchmake:   (*caller).matchmake,
	resolve:     (*caller).resolve,
	heartbeat:   (*caller).heartbeat,
	sessionLife: (*caller).sessionLife,
}

// Scenarios are the names of all there are, sorted.
func Scenarios() []string { return slices.Sorted(maps.Keys(scenarios)) }

func (c *caller) matchmake(ctx context.Context) error {
	_, err := c.place(ctx, c.player())
	return err
}

func (c *caller) resolve(ctx context.Context) error {
	if len(c.reserved) == 0 {
		if err := c.reserve(ctx); err != nil {
			return err
		}
	}
	s := c.reserved[0]
	c.reserved = c.reserved[1:]
	_, err := c.exchange(ctx, s)
	return err
}

func (c *caller) heartbeat(ctx context.Context) error {
	return c.timed(ctx, heartbeat, func() error { return c.fleet.beat(ctx, c.fleet.all[c.n]) })
}

func (c *caller) sessionLife(ctx context.Context) error {
	s, err := c.place(ctx, c.player())
	if err != nil {
		return err
	}
	jti, err := c.exchange(ctx, s)
	if err != nil {
		return err
	}
	if err := c.report(ctx, "joined", s, []map[string]string{{"sub": s.sub, "jti": jti}}); err != nil {
		return err
	}
	return c.report(ctx, "left", s, []string{s.sub})
}

// seat is what a player has been given.
type seat struct {
	SessionID string `json:"session_id"`
	Handle    string `json:"session_handle"`
	Endpoint  string `json:"endpoint"`

	sub, token string
}

// place asks for a seat.
func (c *caller) place(ctx context.Context, sub string) (s seat, err error) {
	if s.token, err = c.AccessToken(sub); err != nil {
		return s, err
	}
	s.sub = sub
	body := map[string]any{"region": c.fleet.region, "mode": mode}
	return s, c.timed(ctx, matchmake, func() error { return c.client.asPlayer(ctx, c.url+"/matchmake", s.token, body, &s) })
}

// partySize is how many seats are reserved at a time; few calls in between keep the load what it is named after.
const partySize = 64

// reserve gets seats for a party with one call, which is not measured.
func (c *caller) reserve(ctx context.Context) (err error) {
	party := make([]string, partySize)
	for i := range party {
		party[i] = c.player()
	}
	lead := seat{}
	if lead.token, err = c.AccessToken(party[0]); err != nil {
		return err
	}
	body := map[string]any{"region": c.fleet.region, "mode": mode, "party": party, "max_players": partySize}
	if err := c.client.asPlayer(ctx, c.url+"/matchmake", lead.token, body, &lead); err != nil {
		return err
	}
	for _, sub := range party {
		one := lead
		one.sub = sub
		if one.token, err = c.AccessToken(sub); err != nil {
			return err
		}
		c.reserved = append(c.reserved, one)
	}
	return nil
}

// exchange gives the id of the session token that a seat's handle is exchanged for.
func (c *caller) exchange(ctx context.Context, s seat) (jti string, err error) {
	var answer struct {
		Token string `json:"session_token"`
	}
	body := map[string]string{"session_handle": s.Handle}
	err = c.timed(ctx, resolve, func() error { return c.client.asPlayer(ctx, c.url+"/resolve", s.token, body, &answer) })
	if err != nil {
		return "", err
	}
	return tokenID(answer.Token)
}

// tokenID reads the jti of a token, which a real game server verifies first.
func tokenID(raw string) (string, error) {
	parts := strings.Split(raw, ".")
	if len(parts) != 3 {
		return "", &failure{code: "no token"}
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		JTI string `json:"jti"`
	}
	if err != nil || json.Unmarshal(text, &claims) != nil || claims.JTI == "" {
		return "", &failure{code: "no token"}
	}
	return claims.JTI, nil
}

// report says, as the game server that the seat is on, who joined or left.
func (c *caller) report(ctx context.Context, what string, s seat, who any) error {
	host := c.fleet.byEndpoint[s.Endpoint]
	if host == nil {
		return &failure{code: "placed on a strange game server"}
	}
	body := map[string]any{"instance_id": host.ID, "incarnation": host.Incarnation, "session_id": s.SessionID, what: who}
	var answer struct {
		Results []struct {
			Result string `json:"result"`
			Status int    `json:"status"`
		} `json:"results"`
	}
	return c.timed(ctx, what, func() error {
		if err := c.client.asFleet(ctx, c.url+"/fleet/seats", body, &answer); err != nil {
			return err
		}
		for _, r := range answer.Results {
			if r.Result != "ok" {
				return &failure{status: r.Status, code: r.Result}
			}
		}
		return nil
	})
}
