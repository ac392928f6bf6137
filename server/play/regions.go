package play

import (
	"context"

	"github.com/lattice-director/director/server/rest"
)

// regionsAnswer is what a client may know of the game regions.
type regionsAnswer struct {
	Regions []regionAnswer `json:"regions"`
}

// regionAnswer is a game region. It is an object, because later releases may say more of a region.
type regionAnswer struct {
	Region  string `json:"region"`
	Beacon  string `json:"beacon,omitempty"`
	Address string `json:"address,omitempty"` // of its cell; absent: this one
}

// listRegions returns where clients measure their latencies, and which regions other cells serve.
func (f face) listRegions(ctx context.Context, _ rest.In[rest.None]) (regionsAnswer, error) {
	// Regions of other cells are listed, too: a client measures before it knows which cell it needs.
	found, err := f.store.GameRegions(ctx)
	a := regionsAnswer{Regions: make([]regionAnswer, len(found))}
	for i, r := range found {
		a.Regions[i] = regionAnswer{r.Region, r.Beacon, r.Address}
	}
	return a, err
}
