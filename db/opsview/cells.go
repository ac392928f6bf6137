package opsview

import "time"

// Cell is another installation of the same title, with the regions that it serves.
type Cell struct {
	Cell      string            `db:"cell" json:"cell"`
	Address   string            `db:"address" json:"address"`
	Regions   []string          `db:"regions" json:"regions"`
	Listeners map[string]string `db:"listeners" json:"listeners"`
	SetAt     time.Time         `db:"set_at" json:"set_at"`
	SetBy     string            `db:"set_by" json:"set_by"`
}

// Cells are sorted by name.
var Cells = View[Cell, Any]{name: "cells", order: Order{"cell"}}

// GameRegion is a region that clients may measure, or that another cell serves.
type GameRegion struct {
	Region  string `db:"region" json:"region"`
	Cell    string `db:"cell" sql:"coalesce(cell, '')" json:"cell"`          // "": this one
	Address string `db:"address" sql:"coalesce(address, '')" json:"address"` // of the API of the cell; "": of this one
	Beacon  string `db:"beacon" sql:"coalesce(beacon, '')" json:"beacon"`    // "": none
}

// GameRegions are sorted by region.
var GameRegions = View[GameRegion, Any]{name: "game_regions", order: Order{"region"}}
