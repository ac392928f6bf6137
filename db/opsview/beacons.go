package opsview

import "time"

// Beacon is where clients measure the latency to a game region.
type Beacon struct {
	Region string    `db:"region" json:"region"`
	URL    string    `db:"url" json:"url"`
	SetAt  time.Time `db:"set_at" json:"set_at"`
	SetBy  string    `db:"set_by" json:"set_by"`
}

// Beacons are sorted by region.
var Beacons = View[Beacon, Any]{name: "beacons", order: Order{"region"}}
