package db

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// The sources of demand, beside the director loop.
const (
	DemandMatchmake = "matchmake" // POST /matchmake found no capacity
	DemandBevygap   = "bevygap"   // an open request of a bevygap client
)

// maxDemand bounds the rows of a mode in a region. Parties beyond it wait without a row, until some of the others are
// seated.
const maxDemand = 10_000

// Waiting is a party that waits for seats in one session. A player has one row for each mode: another party, or another
// size of the session, replaces it.
type Waiting struct {
	Region, Mode  string
	Player        string     // the caller
	Party         []string   // includes the player; nil: the player alone
	MaxPlayers    int        // seats of the session, at least the size of the party
	PlayerAddress netip.Addr // of the player, a hint for where a server should start; the zero value: not known
}

// PutWaiting records parties that wait, so that pools start servers for them, and returns the outlook for each of their
// modes that a pool serves; it records nothing for other modes. The rows lapse after ttl, a positive duration, unless
// PutWaiting is called again; such a renewal writes a row only when half of the row's time is over. [Store.Place]
// removes the rows of the players that it seats. Errors: Unavailable, with the outlooks of the regions before.
func (s *Store) PutWaiting(ctx context.Context, source string, ttl time.Duration,
	waiting []Waiting) (outlooks []fault.Outlook, err error) {
	byRegion := map[string][]Waiting{}
	for _, w := range waiting {
		byRegion[w.Region] = append(byRegion[w.Region], w)
	}
	for _, region := range slices.Sorted(maps.Keys(byRegion)) {
		ofRegion, err := s.putWaitingOfRegion(ctx, region, source, ttl, byRegion[region])
		if err != nil {
			return outlooks, frame.Classify(err)
		}
		outlooks = append(outlooks, ofRegion...)
	}
	return outlooks, nil
}

func (s *Store) putWaitingOfRegion(ctx context.Context, region, source string, ttl time.Duration,
	waiting []Waiting) ([]fault.Outlook, error) {
	rows, err := s.q.PutWaiting(ctx, waitingRows(region, source, ttl, waiting))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	if rows[0].Written {
		s.Notify(TopicDemand, "")
	}
	outlooks := make([]fault.Outlook, len(rows))
	for i, r := range rows {
		s.poolModes.learn(region, r.Mode)
		outlooks[i] = s.outlook(region, r)
	}
	return outlooks, nil
}

// outlook returns the outlook for a mode in the time of this pod's clock. It rounds the end of a pause, so that two
// readings of one pause are equal although the offset between the clocks varies.
func (s *Store) outlook(region string, r query.PutWaitingRow) fault.Outlook {
	o := fault.Outlook{Region: region, Mode: r.Mode, Starting: int(r.Starting), IsFull: r.IsFull,
		PausedByOperator: r.PausedByOperator}
	if now := s.Now(); r.PausedUntil.After(now) {
		// time.Since(now) is by how much this pod's clock is ahead of the database's.
		o.PausedUntil = r.PausedUntil.Add(time.Since(now)).Round(time.Second)
	}
	return o
}

// waitingRows makes one row for each mode and player, of the last party that is given, because a statement must not
// write a row twice.
func waitingRows(region, source string, ttl time.Duration, waiting []Waiting) query.PutWaitingParams {
	p := query.PutWaitingParams{Region: region, Source: source, Ttl: ttl, AtMost: maxDemand}
	last := map[DemandKey]Waiting{}
	for _, w := range waiting {
		last[DemandKey{w.Mode, demandKey(w.Player)}] = w
	}
	for key, w := range last {
		party := w.Party
		if party == nil {
			party = []string{w.Player}
		}
		address := ""
		if w.PlayerAddress.IsValid() {
			// The type inet takes no zone. An IPv4 address in an IPv6 one is stored as IPv4.
			address = w.PlayerAddress.Unmap().WithZone("").String()
		}
		p.Modes = append(p.Modes, key.Mode)
		p.Keys = append(p.Keys, key.Key)
		p.PartyKeys = append(p.PartyKeys, partyKey(party))
		p.Sizes = append(p.Sizes, int32(len(party)))
		p.MaxPlayers = append(p.MaxPlayers, int32(w.MaxPlayers))
		p.Addresses = append(p.Addresses, address)
	}
	return p
}

// EndWaiting removes the rows of parties that wait no longer. Errors: Unavailable.
func (s *Store) EndWaiting(ctx context.Context, waiting []Waiting) error {
	byRegion := map[string]query.EndWaitingParams{}
	for _, w := range waiting {
		p := byRegion[w.Region]
		addWaitingToEnd(&p, w.Mode, w.Player)
		byRegion[w.Region] = p
	}
	for _, region := range slices.Sorted(maps.Keys(byRegion)) {
		p := byRegion[region]
		p.Region = region
		if err := s.q.EndWaiting(ctx, p); err != nil {
			return frame.Classify(err)
		}
	}
	return nil
}

func addWaitingToEnd(p *query.EndWaitingParams, mode, player string) {
	p.Modes = append(p.Modes, mode)
	p.Keys = append(p.Keys, demandKey(player))
}

// demandKey is the key of a player's row. Its third part is not a region, because workers of the previous release
// delete demand by that part.
func demandKey(player string) string {
	sum := sha256.Sum256([]byte(player))
	return "//~/" + hex.EncodeToString(sum[:16])
}

// DemandRegions returns the regions that have demand that lapses. Errors: Unavailable.
func (s *Store) DemandRegions(ctx context.Context) ([]string, error) {
	regions, err := s.q.DemandRegions(ctx)
	return regions, frame.Classify(err)
}

// SweepDemand deletes at most batch rows of demand that lapsed, and returns how many. Readers ignore such rows.
// Errors: Unavailable.
func (s *Store) SweepDemand(ctx context.Context, region string, batch int) (int, error) {
	n, err := s.q.SweepDemand(ctx, query.SweepDemandParams{Region: region, Batch: int32(batch)})
	return int(n), frame.Classify(err)
}
