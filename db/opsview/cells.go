package opsview

import (
	"time"

	"github.com/google/uuid"
)

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

// RegionMove is a region that moves to another cell or from one, or has moved.
type RegionMove struct {
	Move          uuid.UUID  `db:"move" json:"move"`
	Region        string     `db:"region" json:"region"`
	Direction     string     `db:"direction" json:"direction"` // "leaves" or "arrives"
	Step          string     `db:"step" json:"step"`
	Cell          string     `db:"cell" json:"cell"` // the other one
	Address       string     `db:"address" json:"address"`
	RefusesWrites bool       `db:"refuses_writes" json:"refuses_writes"`
	BegunAt       time.Time  `db:"begun_at" json:"begun_at"`
	DrivenAt      time.Time  `db:"driven_at" json:"driven_at"` // when a command last worked on it
	FencedAt      *time.Time `db:"fenced_at" json:"fenced_at"`
	FlippedAt     *time.Time `db:"flipped_at" json:"flipped_at"`
	EndedAt       *time.Time `db:"ended_at" json:"ended_at"` // nil: it runs
	Actor         string     `db:"actor" json:"actor"`
	Reason        string     `db:"reason" json:"reason"`
}

// RegionMoves are sorted by when they began, the newest first.
var RegionMoves = View[RegionMove, Any]{name: "region_moves", order: Order{"-begun_at", "move"}}
