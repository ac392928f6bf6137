package bench

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// seat is a player's seat.
type seat struct {
	player

	sessionID, handle, endpoint string
	at                          time.Time // of the reservation
}

func (s *seat) take(a answer) error {
	return a.read(member{"session_id", &s.sessionID}, member{"session_handle", &s.handle},
		member{"endpoint", &s.endpoint})
}

// seat asks for a seat in a region and mode that it draws.
func (c *caller) seat(p player) (seat, error) {
	s, at := seat{player: p}, c.places.any(c.rng)
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
	// partySize is how many seats are reserved at a time: many, so that few calls of resolve's load are reservations.
	partySize = 64
	// reservationTTL is how long a reserved seat is used: less than the minute for which a director keeps it by
	// default.
	reservationTTL = 45 * time.Second
)

// reservedSeat returns a seat that is not resolved yet. When there is none left, it reserves more, which is not
// measured.
func (c *caller) reservedSeat() (s seat, err error) {
	for len(c.reserved) > 0 && time.Since(c.reserved[0].at) > reservationTTL {
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
	at := c.places.any(c.rng)
	request := placeRequest{Region: at.region, Mode: at.mode, Party: make([]string, partySize), MaxPlayers: partySize}
	party := make([]player, partySize)
	for i := range party {
		if party[i], err = c.players.another(); err != nil {
			return err
		}
		request.Party[i] = party[i].sub
	}
	s := seat{at: time.Now()}
	if err := c.client.asPlayer(c.url+"/matchmake", party[0].token, encode(request), s.take); err != nil {
		return err
	}
	for _, s.player = range party {
		c.reserved = append(c.reserved, s)
	}
	return nil
}

// exchange exchanges a seat's handle for a session token.
func (c *caller) exchange(s seat) (raw string, err error) {
	body := encode(struct {
		Handle string `json:"session_handle"`
	}{s.handle})
	err = c.timed(resolve, func() error {
		return c.client.asPlayer(c.url+"/resolve", s.token, body,
			func(a answer) error { return a.read(member{"session_token", &raw}) })
	})
	if err == nil && !isToken(raw) {
		err = errNoToken
	}
	return raw, err
}

var errNoToken = &failure{code: "no token"}

// tokenID reads the jti of a token. Unlike a real game server it does not verify the token.
func tokenID(raw string) (jti string, err error) {
	_, after, _ := strings.Cut(raw, ".")
	payload, _, _ := strings.Cut(after, ".")
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

// report reports, as the seat's game server, which players joined or left.
func (c *caller) report(step string, s seat, body report) error {
	host := c.fleet.byEndpoint[s.endpoint]
	if host == nil {
		return &failure{code: "placed on an unknown game server"}
	}
	is := host.identity.Load()
	body.ID, body.Incarnation, body.SessionID = is.ID, is.Incarnation, s.sessionID
	text := encode(body)
	return c.timed(step, func() error { return c.client.asFleet(c.url+"/fleet/seats", text, accepted) })
}

// accepted reads the result of a report about one player.
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
