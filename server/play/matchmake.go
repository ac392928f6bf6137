package play

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/rest"
)

const (
	maxPlayers     = 1024 // seats of a session
	defaultPlayers = 8
)

// Modes gives the seats of a session, by mode, where the player names none: 1 to 1024. A mode that is not listed has 8.
type Modes map[string]int

func (m Modes) size(mode string) int {
	if n, ok := m[mode]; ok {
		return n
	}
	return defaultPlayers
}

// Validate tells a size that no session can have.
func (m Modes) Validate() error {
	for mode, n := range m {
		if !rest.Mode.Valid(mode) || n < 1 || n > maxPlayers {
			return fmt.Errorf("mode %q with %d players: a mode is %s, and has 1 to %d players", mode, n, rest.Mode.Allowed, maxPlayers)
		}
	}
	return nil
}

type matchmakeRequest struct {
	Region     string   `json:"region"`
	Mode       string   `json:"mode"`
	Party      []string `json:"party"` // nil is the caller alone; an empty list is not
	MaxPlayers *int     `json:"max_players"`
}

// Validate implements rest.Validator.
func (r *matchmakeRequest) Validate(c *rest.Check) {
	c.Match("region", r.Region, rest.Region)
	c.Match("mode", r.Mode, rest.Mode)
	if r.Party != nil {
		c.Count("party", len(r.Party), 1, maxPlayers)
		c.Each("party", r.Party, rest.Sub)
		c.Unique("party", r.Party)
	}
	if r.MaxPlayers != nil {
		c.Range("max_players", *r.MaxPlayers, 1, maxPlayers)
	}
}

// idempotencyKey is what a caller may choose as an Idempotency-Key.
var idempotencyKey = rest.JTI // the same alphabet and length

// place is the request as the store wants it, checked for what only the caller's name and our defaults can tell.
func (r *matchmakeRequest) place(caller, key string, modes Modes) (db.PlaceRequest, error) {
	var c rest.Check
	if key != "" {
		c.Match("Idempotency-Key", key, idempotencyKey)
	}
	party := r.Party
	if party == nil {
		party = []string{caller}
	}
	c.That(slices.Contains(party, caller), "party", "must contain the caller")
	size := modes.size(r.Mode)
	if r.MaxPlayers != nil {
		size = *r.MaxPlayers
	}
	c.That(size >= len(party), "max_players", fmt.Sprintf("must not be smaller than the party: %d for %d players", size, len(party)))
	req := db.PlaceRequest{Caller: caller, Region: r.Region, Mode: r.Mode, Party: party, MaxPlayers: size, IdempotencyKey: key}
	if key != "" {
		req.RequestHash = r.hash(party)
	}
	return req, c.Err()
}

// hash is the same for two bodies that ask for the same, however they are written. It is taken before the default size
// is filled in, which may change between a request and its retry. The retry may also meet another version of this code:
// a field that is added to the request must stay out of the hash where it is absent.
func (r *matchmakeRequest) hash(party []string) []byte {
	canonical := *r
	canonical.Party = slices.Sorted(slices.Values(party))
	text, _ := json.Marshal(canonical) // strings and numbers always encode
	sum := sha256.Sum256(text)
	return sum[:]
}

// placement is the answer about a session.
type placement struct {
	SessionID     string `json:"session_id"`
	SessionHandle string `json:"session_handle"`
	Endpoint      string `json:"endpoint"`
	Region        string `json:"region"`
	Mode          string `json:"mode"`
	PlayerCount   int    `json:"player_count"`
	MaxPlayers    int    `json:"max_players"`
}

func (f face) matchmake(ctx context.Context, in rest.In[matchmakeRequest]) (placement, error) {
	req, err := in.Body.place(rest.Caller(ctx), in.Header("Idempotency-Key"), f.modes)
	if err != nil {
		return placement{}, err
	}
	p, err := f.store.Place(ctx, req)
	note(ctx, p.SessionID)
	return placement(p), err
}
