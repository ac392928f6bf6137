package rest

import (
	"time"

	"github.com/lattice-director/director/internal/base/fault"
)

// LoginPlace is the document of a place in a login queue.
type LoginPlace struct {
	Position int           `json:"position"`
	Waiting  int           `json:"waiting"`
	IsStaff  bool          `json:"staff,omitempty"`
	IsClosed bool          `json:"closed,omitempty"`
	Estimate *WaitEstimate `json:"estimate"` // null: nobody can say
	AskAfter int           `json:"ask_after"`
}

// WaitEstimate is how long a player waits, in seconds.
type WaitEstimate struct {
	Expected float64  `json:"expected"`
	Soonest  float64  `json:"soonest"`
	Latest   *float64 `json:"latest"` // null: no bound is known
	P50      *float64 `json:"p50"`    // null, as p90: too few players were admitted of late, or the player is staff
	P90      *float64 `json:"p90"`
}

// LoginPlaceOf returns the document of a place.
func LoginPlaceOf(p *fault.LoginPlace) *LoginPlace {
	d := &LoginPlace{Position: p.Position, Waiting: p.Waiting, IsStaff: p.IsStaff, IsClosed: p.IsClosed,
		AskAfter: int(p.AskAfter.Seconds())}
	if e := p.Estimate; e != nil {
		d.Estimate = &WaitEstimate{Expected: inTenths(e.Expected), Soonest: inTenths(e.Soonest)}
		if e.Latest > 0 {
			latest := inTenths(e.Latest)
			d.Estimate.Latest = &latest
		}
		if e.IsCompared {
			p50, p90 := inTenths(e.P50), inTenths(e.P90)
			d.Estimate.P50, d.Estimate.P90 = &p50, &p90
		}
	}
	return d
}

// inTenths returns seconds without digits that mean nothing.
func inTenths(d time.Duration) float64 { return d.Round(time.Second / 10).Seconds() }
