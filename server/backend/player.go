package backend

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/server/rest"
)

// The bounds of what is stored of a player, and of a batch.
const (
	maxListed = 256 // players in a list of a player
	maxBatch  = 256 // players of a call
)

// playerRequest is all that a backend says of a player: what is absent is removed.
type playerRequest struct {
	Attributes   map[string]json.RawMessage `json:"attributes"`
	Avoid        []string                   `json:"avoid"`
	MayPartyWith []string                   `json:"may_party_with"`
}

// Validate implements rest.Validator.
func (r *playerRequest) Validate(c *rest.Check) { r.checkFields(c, "") }

// checkFields reports invalid fields, whose names begin with prefix.
func (r *playerRequest) checkFields(c *rest.Check, prefix string) {
	c.Count(prefix+"attributes", len(r.Attributes), 0, match.MaxAttributes)
	size := 0
	// Sorted, so that equal requests get equal problems.
	for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
		v, problem := match.ParseAttribute(name, r.Attributes[name])
		field := prefix + "attributes." + name
		c.That(rest.Mode.Valid(name), field, "the name must be "+rest.Mode.Description)
		c.That(problem == "", field, problem)
		size += len(name) + v.Bytes()
	}
	c.That(size <= match.MaxAttributeBytes, prefix+"attributes",
		fmt.Sprintf("must not be larger than %d bytes", match.MaxAttributeBytes))
	checkSubs(c, prefix+"avoid", r.Avoid)
	checkSubs(c, prefix+"may_party_with", r.MayPartyWith)
}

func checkSubs(c *rest.Check, field string, subs []string) {
	c.Count(field, len(subs), 0, maxListed)
	c.Each(field, subs, rest.Sub)
	c.Unique(field, subs)
}

// storedPlayer returns what the store keeps. Attributes that are null are left out.
func (r *playerRequest) storedPlayer(sub string) db.StoredPlayer {
	p := db.StoredPlayer{Sub: sub, Attributes: map[string]any{}, AvoidedPlayers: slices.Sorted(slices.Values(r.Avoid)),
		MayPartyWith: slices.Sorted(slices.Values(r.MayPartyWith))}
	for name, raw := range r.Attributes {
		// Validate has refused texts that are no values.
		if v, _ := match.ParseValue(raw); v.Kind != 0 {
			p.Attributes[name] = v.Plain()
		}
	}
	return p
}

// playerAnswer is what is stored of a player.
type playerAnswer struct {
	Sub          string         `json:"sub"`
	Attributes   map[string]any `json:"attributes"`
	Avoid        []string       `json:"avoid"`
	MayPartyWith []string       `json:"may_party_with"`
	UpdatedAt    time.Time      `json:"updated_at"`
	UpdatedBy    string         `json:"updated_by"`
}

// storePlayer replaces all that is stored of one player.
func (f face) storePlayer(ctx context.Context, in rest.In[playerRequest]) (playerAnswer, error) {
	sub, err := rest.CheckSub(in.Param("sub"))
	if err != nil {
		return playerAnswer{}, err
	}
	_, err = f.store.StorePlayers(ctx, f.region, rest.Caller(ctx), []db.StoredPlayer{in.Body.storedPlayer(sub)})
	if err != nil {
		return playerAnswer{}, err
	}
	// The row is read back, because its time is the database's.
	return f.readPlayer(ctx, sub)
}

// batchRequest stores several players.
type batchRequest struct {
	Players map[string]*playerRequest `json:"players"`
}

// Validate implements rest.Validator.
func (r *batchRequest) Validate(c *rest.Check) {
	c.That(r.Players != nil, "players", "is required and must be an object")
	c.Count("players", len(r.Players), 0, maxBatch)
	for _, sub := range slices.Sorted(maps.Keys(r.Players)) {
		field := "players." + sub
		c.That(rest.Sub.Valid(sub), field, "the name must be "+rest.Sub.Description)
		c.That(r.Players[sub] != nil, field, "must be an object")
		if p := r.Players[sub]; p != nil {
			p.checkFields(c, field+".")
		}
	}
}

type batchAnswer struct {
	Players int `json:"players"`
	Changed int `json:"changed"`
}

// storePlayers replaces what is stored of several players, in one transaction. The store sorts them before it locks
// rows.
func (f face) storePlayers(ctx context.Context, in rest.In[batchRequest]) (batchAnswer, error) {
	players := make([]db.StoredPlayer, 0, len(in.Body.Players))
	for sub, p := range in.Body.Players {
		players = append(players, p.storedPlayer(sub))
	}
	changed, err := f.store.StorePlayers(ctx, f.region, rest.Caller(ctx), players)
	return batchAnswer{len(players), changed}, err
}

func (f face) showPlayer(ctx context.Context, in rest.In[rest.None]) (playerAnswer, error) {
	sub, err := rest.CheckSub(in.Param("sub"))
	if err != nil {
		return playerAnswer{}, err
	}
	return f.readPlayer(ctx, sub)
}

// readPlayer returns what is stored of a player. Errors: NotFound, "player_unknown".
func (f face) readPlayer(ctx context.Context, sub string) (playerAnswer, error) {
	found, err := f.store.StoredPlayers(ctx, f.region, []string{sub})
	if err != nil {
		return playerAnswer{}, err
	}
	p, known := found[sub]
	if !known {
		return playerAnswer{}, fault.New(fault.NotFound, "player_unknown",
			"no backend has stored anything of this player")
	}
	return playerAnswer{p.Sub, p.Attributes, p.AvoidedPlayers, p.MayPartyWith, p.UpdatedAt.UTC(), p.UpdatedBy}, nil
}

type forgetAnswer struct {
	Sub       string `json:"sub"`
	Forgotten bool   `json:"forgotten"` // false: nothing was stored
}

func (f face) forgetPlayer(ctx context.Context, in rest.In[rest.None]) (forgetAnswer, error) {
	sub, err := rest.CheckSub(in.Param("sub"))
	if err != nil {
		return forgetAnswer{}, err
	}
	known, err := f.store.ForgetPlayer(ctx, f.region, rest.Caller(ctx), sub)
	return forgetAnswer{sub, known}, err
}

// Store is the part of db.Store that this face calls.
type Store interface {
	StorePlayers(ctx context.Context, region, author string, players []db.StoredPlayer) (changed int, err error)
	StoredPlayers(ctx context.Context, region string, subs []string) (map[string]db.StoredPlayer, error)
	ForgetPlayer(ctx context.Context, region, author, sub string) (known bool, err error)
}

type face struct {
	store  Store
	region string // of the queue
}
