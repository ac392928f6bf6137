package opsview

import "time"

// Valve limits how many players enter, and has a login queue of those who wait.
type Valve struct {
	Name         string     `db:"valve" json:"valve"`
	Region       string     `db:"region" json:"region"`           // "": all
	Build        string     `db:"build" json:"build"`             // "": all
	Mode         string     `db:"mode" json:"mode"`               // open, limited or closed
	Rate         float64    `db:"rate" json:"rate"`               // admissions a second
	MaxPlayers   *int32     `db:"max_players" json:"max_players"` // that may be in at a time; nil: no limit
	StaffShare   float64    `db:"staff_share" json:"staff_share"` // the part of Rate and MaxPlayers that only staff gets
	MaxWaiting   int32      `db:"max_waiting" json:"max_waiting"` // players that may wait; others are refused
	Players      int32      `db:"players" json:"players"`         // that are in
	Waiting      int32      `db:"waiting" json:"waiting"`
	WaitingStaff int32      `db:"waiting_staff" json:"waiting_staff"` // of those that wait
	Admitted     int64      `db:"admitted" json:"admitted"`           // ever
	RateNow      float64    `db:"rate_now" json:"rate_now"`           // admissions a second, of the last minute
	FirstSince   *time.Time `db:"first_since" json:"first_since"`     // when the first of the line came; nil: nobody waits
	Reason       string     `db:"reason" sql:"coalesce(reason, '')" json:"reason"`
	SetAt        time.Time  `db:"set_at" json:"set_at"`
	SetBy        string     `db:"set_by" json:"set_by"`
}

// Valves are sorted by name.
var Valves = View[Valve, ValveFilter]{name: "valves", order: Order{"valve"}}

// ValveFilter selects the valve of a name; "" selects all.
type ValveFilter struct{ Name string }

func (f ValveFilter) selectRows(w *where) { w.addEqual("valve", f.Name) }

// ValveEstimate is how long players wait in the line of a valve, and how good the estimates of that were.
type ValveEstimate struct {
	Valve     string   `db:"valve" json:"valve"`
	P50       *float64 `db:"p50" json:"p50"` // seconds, of a player who joins now; nil: it is not known
	P90       *float64 `db:"p90" json:"p90"`
	WaitCount int64    `db:"waits" json:"waits"`           // the recent waits, of which older ones count less
	BeforeP50 *float64 `db:"before_p50" json:"before_p50"` // the share of waits, which should be 0.5; nil: there were none
	BeforeP90 *float64 `db:"before_p90" json:"before_p90"` // the share of waits, which should be 0.9
}

// ValveEstimates are sorted by the name of the valve.
var ValveEstimates = View[ValveEstimate, ValveEstimateFilter]{name: "valve_estimates", order: Order{"valve"}}

// ValveEstimateFilter selects the estimates of a valve; "" selects all.
type ValveEstimateFilter struct{ Valve string }

func (f ValveEstimateFilter) selectRows(w *where) { w.addEqual("valve", f.Valve) }

// Admission is the place of a player in a login queue, or its right to enter.
type Admission struct {
	Valve      string     `db:"valve" json:"valve"`
	Player     string     `db:"player" json:"player"`
	State      string     `db:"state" json:"state"` // waiting or admitted
	IsStaff    bool       `db:"is_staff" json:"is_staff"`
	Place      int64      `db:"place" json:"place"` // 0: it was in when the valve began to limit
	JoinedAt   time.Time  `db:"joined_at" json:"joined_at"`
	AdmittedAt *time.Time `db:"admitted_at" json:"admitted_at"` // nil: it waits
	ExpiresAt  time.Time  `db:"expires_at" json:"expires_at"`
}

// Admissions are sorted by valve and player.
var Admissions = View[Admission, AdmissionFilter]{name: "admissions", order: Order{"valve", "player"}}

// AdmissionFilter selects the admissions of a valve and of a player. Empty fields select all.
type AdmissionFilter struct{ Valve, Player string }

func (f AdmissionFilter) selectRows(w *where) {
	w.addEqual("valve", f.Valve)
	w.addEqual("player", f.Player)
}
