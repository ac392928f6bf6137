package db

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// StoredPlayer is what the studio's backend says of a player.
type StoredPlayer struct {
	Sub            string
	Attributes     map[string]any // float64, string or []string by name, at most 16 KiB as JSON
	AvoidedPlayers []string       // players whom the player is not to play with, sorted, at most 256
	MayPartyWith   []string       // players whom the player may take into a party, sorted, at most 256
	UpdatedAt      time.Time
	UpdatedBy      string // backend:NAME
}

// StorePlayers replaces what is stored of players, of whom no two may have the same sub. It returns how many have
// changed: a player of whom the same is stored already stays as before. author is the backend, which an event names,
// unless nothing has changed. Errors: Unavailable.
func (s *Store) StorePlayers(ctx context.Context, region, author string,
	players []StoredPlayer) (changed int, err error) {
	arg := query.StorePlayersParams{Region: region, Author: author}
	for _, p := range players {
		arg.Subs = append(arg.Subs, p.Sub)
		arg.Attributes = append(arg.Attributes, jsonText(p.Attributes, "{}"))
		arg.Avoid = append(arg.Avoid, jsonText(p.AvoidedPlayers, "[]"))
		arg.MayPartyWith = append(arg.MayPartyWith, jsonText(p.MayPartyWith, "[]"))
	}
	err = s.frame.InTx(ctx, func(q *query.Queries) error {
		subs, err := q.StorePlayers(ctx, arg)
		changed = len(subs)
		if err != nil || changed == 0 {
			return err
		}
		// All rows of avoided players are replaced, by those that the stored lists name.
		if err := q.ClearAvoided(ctx, query.ClearAvoidedParams{Region: region, Subs: subs}); err != nil {
			return err
		}
		if err := q.AddAvoided(ctx, query.AddAvoidedParams{Region: region, Subs: subs}); err != nil {
			return err
		}
		return logStoredPlayers(ctx, q, region, "players.stored", author, subs)
	})
	return changed, frame.Classify(err)
}

// ForgetPlayer removes what is stored of a player. It reports whether something was stored. Errors: Unavailable.
func (s *Store) ForgetPlayer(ctx context.Context, region, author, sub string) (wasStored bool, err error) {
	err = s.frame.InTx(ctx, func(q *query.Queries) error {
		n, err := q.ForgetStoredPlayer(ctx, query.ForgetStoredPlayerParams{Region: region, Sub: sub})
		wasStored = n > 0
		if err != nil || !wasStored {
			return err
		}
		if err := q.ClearAvoided(ctx, query.ClearAvoidedParams{Region: region, Subs: []string{sub}}); err != nil {
			return err
		}
		return logStoredPlayers(ctx, q, region, "players.forgotten", author, []string{sub})
	})
	return wasStored, frame.Classify(err)
}

// loggedPlayers bounds the players that one event names.
const loggedPlayers = 16

// logStoredPlayers writes an event with the number of players and the first of them by name.
func logStoredPlayers(ctx context.Context, q *query.Queries, region, kind, author string, subs []string) error {
	named := slices.Sorted(slices.Values(subs))
	named = named[:min(len(named), loggedPlayers)]
	detail := jsonText(map[string]any{"players": len(subs), "subs": named}, "{}")
	return q.LogStoredPlayers(ctx, query.LogStoredPlayersParams{Region: region, Kind: kind, Actor: author,
		Detail: []byte(detail)})
}

// jsonText encodes a map or list of finite numbers and texts; a nil one as empty.
func jsonText(value any, empty string) string {
	text, _ := json.Marshal(value) // cannot fail for these
	if string(text) == "null" {
		return empty
	}
	return string(text)
}

// playersLookup asks for what is stored, or for the latencies that are known, of some players.
type playersLookup struct{ subs []string }

func (l playersLookup) weight() int { return len(l.subs) }

func (l playersLookup) bytes() int { return textBytes(l.subs...) }

type playersCall = batch.Call[playersLookup, map[string]StoredPlayer]

// StoredPlayers returns what is stored of some players, by sub; those of whom nothing is are left out. Calls that wait
// at the same time share one statement. Errors: Unavailable.
func (s *Store) StoredPlayers(ctx context.Context, region string, subs []string) (map[string]StoredPlayer, error) {
	return s.batchGroups.storedPlayers.Do(ctx, region, playersLookup{subs})
}

// readStoredPlayers decides a batch of reads in one statement.
func (s *Store) readStoredPlayers(ctx context.Context, region string, calls []*playersCall) error {
	var subs []string
	for _, c := range calls {
		subs = append(subs, c.Req.subs...)
	}
	// Each player once, since calls of one batch often name the same ones.
	slices.Sort(subs)
	rows, err := s.q.StoredPlayers(ctx, query.StoredPlayersParams{Region: region, Subs: slices.Compact(subs)})
	if err != nil {
		return err
	}
	known := make(map[string]StoredPlayer, len(rows))
	for _, r := range rows {
		p := StoredPlayer{Sub: r.Sub, AvoidedPlayers: r.Avoid, MayPartyWith: r.MayPartyWith, UpdatedAt: r.UpdatedAt,
			UpdatedBy: r.UpdatedBy}
		if err := json.Unmarshal(r.Attributes, &p.Attributes); err != nil {
			return err
		}
		known[r.Sub] = p
	}
	for _, c := range calls {
		found := make(map[string]StoredPlayer, len(c.Req.subs))
		for _, sub := range c.Req.subs {
			if p, ok := known[sub]; ok {
				found[sub] = p
			}
		}
		c.Answer(found, nil)
	}
	return nil
}
