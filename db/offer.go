package db

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/network"
	"github.com/lattice-director/director/token/netcode"
)

// Offer is an app version that players can ask for by its name.
type Offer struct {
	App, Version string
	MaxPlayers   int             // of a session
	Dialect      netcode.Dialect // of its connect tokens; "": it uses none
	Regions      []OfferRegion   // by name; empty where all of its modes belong to pools of other versions
}

// OfferRegion is a region with a pool that runs an app version and has a mode.
type OfferRegion struct {
	Region   string
	Modes    []string       // of the pool, in the order of the app version
	Networks []netip.Prefix // of players whom this region hosts best
}

// Offers returns all app versions, sorted by app and version. Errors: Unavailable.
func (s *Store) Offers(ctx context.Context) ([]Offer, error) {
	rows, err := s.q.Offers(ctx)
	if err != nil {
		return nil, frame.Classify(err)
	}
	var offers []Offer
	for _, r := range rows {
		// The rows are sorted, so that those of a version follow each other.
		if n := len(offers); n == 0 || offers[n-1].App != r.App || offers[n-1].Version != r.Version {
			offers = append(offers, Offer{App: r.App, Version: r.Version, MaxPlayers: int(r.MaxPlayers),
				Dialect: netcode.Dialect(r.Dialect)})
		}
		if r.Region == "" {
			continue
		}
		region, err := offerRegionOf(r)
		if err != nil {
			return nil, err
		}
		last := &offers[len(offers)-1]
		last.Regions = append(last.Regions, region)
	}
	return offers, nil
}

func offerRegionOf(r query.OffersRow) (OfferRegion, error) {
	region := OfferRegion{Region: r.Region, Modes: r.Modes}
	for _, text := range r.Networks {
		stored, err := network.Parse(text)
		if err != nil {
			return OfferRegion{}, fmt.Errorf("network of the pool %s/%s in %s: %w", r.App, r.Version, r.Region, err)
		}
		region.Networks = append(region.Networks, stored)
	}
	return region, nil
}
