package bench

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// seat is what a player has been given.
type seat struct {
	player

	sessionID, handle, endpoint string
	at                          time.Time // when it was reserved
}

func (s *seat) take(a answer) error {
	return a.read(member{"session_id", &s.sessionID}, member{"session_handle", &s.handle}, member{"endpoint", &s.endpoint})
}

// seat asks for one somewhere.
func (c *caller) seat(p player) (seat, error) {
	s, at := seat{player: p}, c.places.any(c.dice)
	step := matchmake
	switch {
	case at.hot:
		step = "matchmake, hot mode"
	case c.places.hotShare > 0:
		step = "matchmake, others"
	}
	err := c.timed(step, func() error { return c.client.asPlayer(c.url+"/matchmake", p.token, at.body, s.take) })
	return s, err
}

const (
	// partySize is how many seats are reserved at a time; few calls in between keep the load what it is named after.
	partySize = 64
	// keeps is how long a seat that nobody resolved may be used: a director holds it for a minute unless told otherwise.
	keeps = 45 * time.Second
)

// reservedSeat is one that no call has been made for. When there is none left, a party is seated; that is not measured.
func (c *caller) reservedSeat() (s seat, err error) {
	for len(c.reserved) > 0 && time.Since(c.reserved[0].at) > keeps {
		c.reserved = c.reserved[1:]
	}
	if len(c.reserved) == 0 {
		if err := c.unmeasured(c.reserve); err != nil {
			return s, err
		}
	}
	s, c.reserved = c.reserved[0], c.reserved[1:]
	return s, nil
}

// reserve gets seats for a party with one call.
func (c *caller) reserve() (err error) {
	at := c.places.any(c.dice)
	asks := wish{Region: at.region, Mode: at.mode, Party: make([]string, partySize), MaxPlayers: partySize}
	party := make([]player, partySize)
	for i := range party {
		if party[i], err = c.players.another(); err != nil {
			return err
		}
		asks.Party[i] = party[i].sub
	}
	s := seat{at: time.Now()}
	if err := c.client.asPlayer(c.url+"/matchmake", party[0].token, encode(asks), s.take); err != nil {
		return err
	}
	for _, s.player = range party {
		c.reserved = append(c.reserved, s)
	}
	return nil
}

// exchange gives the session token that a seat's handle is exchanged for.
func (c *caller) exchange(s seat) (raw string, err error) {
	body := encode(struct {
		Handle string `json:"session_handle"`
	}{s.handle})
	err = c.timed(resolve, func() error {
		return c.client.asPlayer(c.url+"/resolve", s.token, body, func(a answer) error { return a.read(member{"session_token", &raw}) })
	})
	if err == nil && !isToken(raw) {
		err = errNoToken
	}
	return raw, err
}

var errNoToken = &failure{code: "no token"}

// tokenID reads the jti of a token, which a real game server verifies first.
func tokenID(raw string) (jti string, err error) {
	_, rest, _ := strings.Cut(raw, ".")
	payload, _, _ := strings.Cut(rest, ".")
	claims, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil || answer(claims).read(member{"jti", &jti}) != nil {
		return "", errNoToken
	}
	return jti, nil
}

// report is the body of seats.
type report struct {
	ID          string   `json:"instance_id"`
	Incarnation string   `json:"incarnation,omitempty"`
	SessionID   string   `json:"session_id"`
	Joined      []joined `json:"joined,omitempty"`
	Left        []string `json:"left,omitempty"`
}

type joined struct {
	Sub string `json:"sub"`
	JTI string `json:"jti"`
}

// report says, as the game server that the seat is on, who joined or left.
func (c *caller) report(step string, s seat, who report) error {
	host := c.fleet.byEndpoint[s.endpoint]
	if host == nil {
		return &failure{code: "placed on a strange game server"}
	}
	is := host.life.Load()
	who.ID, who.Incarnation, who.SessionID = is.ID, is.Incarnation, s.sessionID
	body := encode(who)
	return c.timed(step, func() error { return c.client.asFleet(c.url+"/fleet/seats", body, accepted) })
}

// accepted reads what became of the one player that was reported.
func accepted(a answer) error {
	result := ""
	if err := a.read(member{"result", &result}); err != nil || result == "ok" {
		return err
	}
	var all struct {
		Results []struct {
			Status int `json:"status"`
		} `json:"results"`
	}
	if err := json.Unmarshal(a, &all); err != nil || len(all.Results) != 1 {
		return &failure{http.StatusOK, "unreadable", string(a)}
	}
	return &failure{status: all.Results[0].Status, code: result}
}
