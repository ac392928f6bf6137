package play

import (
	"context"

	"github.com/lattice-director/director/server/rest"
)

// regionsAnswer is what a client may know of the game regions.
type regionsAnswer struct {
	Regions []regionAnswer `json:"regions"`
}

// regionAnswer is a game region. It is an object, because later releases say more of a region than where to measure.
type regionAnswer struct {
	Region string `json:"region"`
	Beacon string `json:"beacon"`
}

// regions returns where clients measure their latencies.
func (f face) regions(ctx context.Context, _ rest.In[rest.None]) (regionsAnswer, error) {
	beacons, err := f.store.Beacons(ctx)
	a := regionsAnswer{Regions: make([]regionAnswer, len(beacons))}
	for i, b := range beacons {
		a.Regions[i] = regionAnswer{b.Region, b.URL}
	}
	return a, err
}
