package play

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/rest"
)

// PartyStore is the part of db.Store that [Parties] calls.
type PartyStore interface {
	// StoredPlayers returns what backends have stored of players, by sub. Errors: Unavailable.
	StoredPlayers(ctx context.Context, region string, subs []string) (map[string]db.StoredPlayer, error)
	KnownLatencies(ctx context.Context, universe string, subs []string) (db.PlayerLatencies, error)
}

// Parties decide whom a player may take into a party: those whom a backend has permitted, in the list of either of the
// two. A room of the realtime lobby and a backend that queues need no permission, since their members are there by
// their own will, or by the backend's.
type Parties struct {
	Store  PartyStore // required, unless AreOpen
	Region string     // of what backends have stored
	// AreOpen lets players name anybody: no list is asked.
	AreOpen bool
}

// checkParty refuses a party that a player names. Errors: 403, "party_not_permitted"; Unavailable.
func (p Parties) checkParty(ctx context.Context, caller string, party []string) error {
	// A player alone needs no reading of the database.
	if p.AreOpen || len(party) < 2 {
		return nil
	}
	known, err := p.Store.StoredPlayers(ctx, p.Region, party)
	if err != nil {
		return err
	}
	var refused []string
	for _, sub := range party {
		// Either list is enough, because backends write both of them: no player can put itself into one.
		if sub != caller && !slices.Contains(known[caller].MayPartyWith, sub) &&
			!slices.Contains(known[sub].MayPartyWith, caller) {
			refused = append(refused, sub)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	slices.Sort(refused)
	return &rest.Problem{
		Status: http.StatusForbidden, Code: "party_not_permitted", Title: "Forbidden",
		Detail: "you may not take these players into a party: " +
			strings.Join(refused[:min(len(refused), maxReasons)], ", ") +
			"; queue with a room of the lobby that they are in, or let a backend permit it (may_party_with)",
	}
}
