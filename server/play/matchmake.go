package play

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/rest"
)

const (
	maxPlayers     = 1024 // seats of a session
	defaultPlayers = 8

	// waitsFor is how long a player who found no capacity counts as waiting for a server, unless they ask again.
	waitsFor = time.Minute
)

// Modes holds the number of seats of a session, by mode, for requests without max_players: 1 to 1024. A mode that is
// not listed has 8.
type Modes map[string]int

func (m Modes) seatsOf(mode string) int {
	if n, ok := m[mode]; ok {
		return n
	}
	return defaultPlayers
}

// Validate returns an error for an invalid mode or size.
func (m Modes) Validate() error {
	for mode, n := range m {
		if !rest.Mode.Valid(mode) || n < 1 || n > maxPlayers {
			return fmt.Errorf("mode %q with %d players: a mode is %s, and has 1 to %d players", mode, n,
				rest.Mode.Description, maxPlayers)
		}
	}
	return nil
}

type matchmakeRequest struct {
	Region     string   `json:"region"`
	Mode       string   `json:"mode"`
	Party      []string `json:"party"` // nil means the caller alone; an empty list is invalid
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

// idempotencyKey is the format of the Idempotency-Key header.
var idempotencyKey = rest.JTI // the same alphabet and length

// placeRequest translates the request for the store. It checks the rules that involve the caller or the default size.
func (r *matchmakeRequest) placeRequest(caller, key string, modes Modes) (db.PlaceRequest, error) {
	var c rest.Check
	if key != "" {
		c.Match("Idempotency-Key", key, idempotencyKey)
	}
	party := r.Party
	if party == nil {
		party = []string{caller}
	}
	c.That(slices.Contains(party, caller), "party", "must contain the caller")
	size := modes.seatsOf(r.Mode)
	if r.MaxPlayers != nil {
		size = *r.MaxPlayers
	}
	c.That(size >= len(party), "max_players",
		fmt.Sprintf("must not be smaller than the party: %d for %d players", size, len(party)))
	req := db.PlaceRequest{Caller: caller, Region: r.Region, Mode: r.Mode, Party: party, MaxPlayers: size,
		IdempotencyKey: key}
	if key != "" {
		// The hash is made with the party that counts: leaving it out means the same as naming the caller alone.
		req.RequestHash = r.hashFor(party)
	}
	return req, c.Err()
}

// hashFor returns the same value for bodies that mean the same request. It does not include the default size, which may
// change between a request and its retry. Another version of this code may serve the retry, so a field that is added to
// the request must not change the hash when it is absent.
func (r *matchmakeRequest) hashFor(party []string) []byte {
	canonical := *r
	canonical.Party = slices.Sorted(slices.Values(party))
	text, _ := json.Marshal(canonical) // strings and numbers always encode
	sum := sha256.Sum256(text)
	return sum[:]
}

// publicAddr returns an address if it says where its player is, and otherwise none.
func publicAddr(addr netip.Addr) netip.Addr {
	addr = addr.Unmap()
	// A private address is that of a client in the network of the director, or of a proxy that is not configured as
	// one: it would place all players at the same spot.
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return netip.Addr{}
	}
	return addr
}

// placeParty seats the caller with its party, or answers with the seats that they have.
func (f face) placeParty(ctx context.Context, in rest.In[matchmakeRequest]) (placement, error) {
	rest.NoteScope(ctx, in.Body.Region, in.Body.Mode)
	req, err := in.Body.placeRequest(rest.Caller(ctx), in.Header("Idempotency-Key"), f.modes)
	if err != nil {
		return placement{}, err
	}
	// The store seats all who are named with the caller, so the party is checked before.
	if err := f.parties.checkParty(ctx, req.Caller, req.Party); err != nil {
		return placement{}, err
	}
	if req.Build, err = buildOf(in.Header(clientBuild)); err != nil {
		return placement{}, err
	}
	req.WaitFor, req.Address = waitsFor, publicAddr(in.ClientAddr())
	p, err := f.store.Place(ctx, req)
	logSession(ctx, p.SessionID)
	return placement(p), err
}
