package bench

import (
	"fmt"
	"math/rand/v2"
)

// place is where a player wants to play.
type place struct {
	region, mode string
	body         []byte // of matchmake for one player
	step         string // of matchmake; a hot mode has its own, so that its effect on the others shows
}

// places are the regions and modes of a run.
type places struct {
	regions  []string
	modes    []string
	list     []place // by region, then by mode
	hotShare float64
}

// matchmakeRequest is the body of matchmake.
type matchmakeRequest struct {
	Region     string   `json:"region"`
	Mode       string   `json:"mode"`
	Party      []string `json:"party,omitempty"`
	MaxPlayers int      `json:"max_players,omitempty"`
}

// newPlaces makes the regions and modes of a run. Modes have the same names in each run, and regions do not: a fleet
// serves only players of its own run.
func newPlaces(id string, l Load) places {
	p := places{hotShare: l.HotShare}
	for i := range l.Regions {
		p.regions = append(p.regions, fmt.Sprintf("bench-%s-%d", id, i))
	}
	for i := range l.Modes {
		p.modes = append(p.modes, fmt.Sprintf("bench-%d", i))
	}
	for _, region := range p.regions {
		for i, mode := range p.modes {
			step := "matchmake"
			switch {
			case l.HotShare > 0 && i == 0:
				step = "matchmake, hot mode"
			case l.HotShare > 0:
				step = "matchmake, others"
			}
			body := encode(matchmakeRequest{Region: region, Mode: mode, MaxPlayers: l.Players})
			p.list = append(p.list, place{region, mode, body, step})
		}
	}
	return p
}

// draw draws a region, all with equal probability, and a mode.
func (p places) draw(random *rand.Rand) place {
	if len(p.list) == 1 {
		return p.list[0]
	}
	return p.list[random.IntN(len(p.regions))*len(p.modes)+p.drawMode(random)]
}

// drawMode draws the index of a mode, the first one with hotShare if that is set.
func (p places) drawMode(random *rand.Rand) int {
	switch {
	case p.hotShare == 0:
		return random.IntN(len(p.modes))
	case random.Float64() < p.hotShare:
		return 0
	default:
		return 1 + random.IntN(len(p.modes)-1)
	}
}
