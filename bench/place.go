package bench

import (
	"fmt"
	"math/rand/v2"
)

// place is where a player wants to play.
type place struct {
	region, mode string
	body         []byte // of matchmake for one player
	hot          bool   // the mode is the one with HotShare
}

// places are the regions and modes of a run.
type places struct {
	id       string
	regions  []string
	modes    []string
	all      []place // by region, then by mode
	hotShare float64
}

func newPlaces(id string, o Options) places {
	p := places{id: id, hotShare: o.HotShare}
	for i := range o.Regions {
		p.regions = append(p.regions, fmt.Sprintf("bench-%s-%d", id, i))
	}
	for i := range o.Modes {
		p.modes = append(p.modes, fmt.Sprintf("bench-%d", i))
	}
	for _, region := range p.regions {
		for i, mode := range p.modes {
			p.all = append(p.all, place{region, mode,
				encode(placeRequest{Region: region, Mode: mode, MaxPlayers: o.Players}), o.HotShare > 0 && i == 0})
		}
	}
	return p
}

// any draws a region, all with equal probability, and a mode.
func (p places) any(rng *rand.Rand) place {
	if len(p.all) == 1 {
		return p.all[0]
	}
	region, mode := rng.IntN(len(p.regions)), rng.IntN(len(p.modes))
	if p.hotShare > 0 {
		mode = 0
		if rng.Float64() >= p.hotShare {
			mode = 1 + rng.IntN(len(p.modes)-1)
		}
	}
	return p.all[region*len(p.modes)+mode]
}

// placeRequest is the body of matchmake.
type placeRequest struct {
	Region     string   `json:"region"`
	Mode       string   `json:"mode"`
	Party      []string `json:"party,omitempty"`
	MaxPlayers int      `json:"max_players,omitempty"`
}
