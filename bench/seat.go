package bench

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// read reads the answer of matchmake.
func (s *seat) read(a []byte) error {
	return readStrings(a, member{"session_id", &s.sessionID}, member{"session_handle", &s.handle},
		member{"endpoint", &s.endpoint})
}

// takeSeat asks for a seat of a new player in a region and mode that it draws.
func (w *world) takeSeat(c *Caller) (s seat, err error) {
	if s.player, err = w.nextPlayer(); err != nil {
		return s, err
	}
	at := w.places.draw(c.Random)
	err = c.Timed(at.step, func() error {
		return w.client.Post(c.URL+"/matchmake", Bearer(s.player.token), at.body, s.read)
	})
	return s, err
}

const (
	// partySize is how many seats are reserved at a time: many, so that few calls of resolve's load are reservations.
	partySize = 64
	// reservationTTL is how long a reserved seat is used: less than the minute for which a director keeps it by
	// default.
	reservationTTL = 45 * time.Second
	// reserveTimeout is a quarter of that minute; the rest is left to the run.
	reserveTimeout = 15 * time.Second
)

// reservedSeat returns a caller's seat that is not resolved yet. When there is none left, it reserves more, which is not
// measured.
func (w *world) reservedSeat(c *Caller) (s seat, err error) {
	own := &w.reserved[c.Number]
	// The director gives an expired seat to others: resolving it would fail.
	for len(*own) > 0 && time.Since((*own)[0].reservedAt) > reservationTTL {
		*own = (*own)[1:]
	}
	if len(*own) == 0 {
		if err := c.Unmeasured(func() error { return w.reserve(c.Number, w.places.draw(c.Random)) }); err != nil {
			return s, err
		}
	}
	s, *own = (*own)[0], (*own)[1:]
	return s, nil
}

// reserve gets seats for a party of a caller with one call.
func (w *world) reserve(caller int, at place) (err error) {
	request := matchmakeRequest{Region: at.region, Mode: at.mode, Party: make([]string, partySize), MaxPlayers: partySize}
	party := make([]player, partySize)
	for i := range party {
		if party[i], err = w.nextPlayer(); err != nil {
			return err
		}
		request.Party[i] = party[i].sub
	}
	s := seat{reservedAt: time.Now()}
	url := w.job.Options.URLs[caller%len(w.job.Options.URLs)] + "/matchmake"
	if err := w.client.Post(url, Bearer(party[0].token), encode(request), s.read); err != nil {
		return err
	}
	for _, member := range party {
		s.player = member
		w.reserved[caller] = append(w.reserved[caller], s)
	}
	return nil
}

// reserveAhead reserves seats for the callers. It ignores errors: they occur again in the run.
func (w *world) reserveAhead(ctx context.Context) error {
	w.job.Enter("reserving seats")
	ctx, cancel := context.WithTimeout(ctx, reserveTimeout)
	defer cancel()
	perCaller := w.turnsAhead() / w.job.Options.Load.Callers
	_ = Concurrently(ctx, w.job.Options.Load.Callers, 8, func(ctx context.Context, caller int) (err error) { // a party is 64 seats
		for i := 0; err == nil && ctx.Err() == nil && len(w.reserved[caller]) < perCaller; i++ {
			// The places take turns, so that no region or mode is short of seats.
			err = w.reserve(caller, w.places.list[(caller+i)%len(w.places.list)])
		}
		return nil
	})
	return nil
}

// Preparation is bounded; further tokens and seats are made when they are needed.
const (
	maxPrepared = 250_000
	// perCaller and perCore are calls a second that a closed loop hardly exceeds.
	perCaller, perCore = 2_000, 8_000
)

// turnsAhead is the number of turns to prepare for.
func (w *world) turnsAhead() int {
	rate := w.job.Options.Load.Rate
	if rate == 0 {
		rate = float64(min(w.job.Options.Load.Callers*perCaller, runtime.GOMAXPROCS(0)*perCore)) / float64(w.shape.calls)
	}
	turns := math.Ceil(rate*(w.job.Options.WarmUp+w.job.Options.Duration).Seconds()) + float64(w.job.Options.Load.Callers)
	if w.job.Options.Load.Turns > 0 {
		turns = min(turns, float64(w.job.Options.Load.Turns))
	}
	return int(min(turns, maxPrepared))
}

// exchange exchanges a seat's handle for a session token, and returns its id. Unlike a real game server it does not verify
// the token, which would load the machine.
func (w *world) exchange(c *Caller, s seat) (jti string, err error) {
	body := encode(struct {
		Handle string `json:"session_handle"`
	}{s.handle})
	var raw string
	err = c.Timed("resolve", func() error {
		return w.client.Post(c.URL+"/resolve", Bearer(s.player.token), body,
			func(a []byte) error { return readStrings(a, member{"session_token", &raw}) })
	})
	if err != nil {
		return "", err
	}
	if parts := strings.Split(raw, "."); len(parts) == 3 { // of a JWS
		claims, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err == nil && readStrings(claims, member{"jti", &jti}) == nil {
			return jti, nil
		}
	}
	return "", &Failure{"no token", nil}
}

// report is the body of seats.
type report struct {
	ID          string         `json:"instance_id"`
	Incarnation string         `json:"incarnation,omitempty"`
	SessionID   string         `json:"session_id"`
	Joined      []joinedPlayer `json:"joined,omitempty"`
	Left        []string       `json:"left,omitempty"`
}

// joinedPlayer is a player whom a game server has admitted, with the id of the session token.
type joinedPlayer struct {
	Sub string `json:"sub"`
	JTI string `json:"jti"`
}

// reportSeat reports, as the seat's game server, which players joined or left.
func (w *world) reportSeat(c *Caller, step string, s seat, body report) error {
	host := w.hosts[s.endpoint]
	if host == nil { // the region is this run's own: no other game server may be in it
		return &Failure{"placed on an unknown game server", nil}
	}
	identity := host.identity.Load()
	body.ID, body.Incarnation, body.SessionID = identity.ID, identity.Incarnation, s.sessionID
	encoded := encode(body)
	return c.Timed(step, func() error {
		return w.client.Post(c.URL+"/fleet/seats", w.fleetToken, encoded, readAccepted)
	})
}

// readAccepted reads the result of a report about one player.
func readAccepted(a []byte) error {
	result := ""
	if err := readStrings(a, member{"results.0.result", &result}); err != nil || result == "ok" {
		return err
	}
	return &Failure{fmt.Sprintf("%d %s", gjson.GetBytes(a, "results.0.status").Int(), result), nil}
}
