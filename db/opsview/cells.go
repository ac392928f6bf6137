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
	DrivenAt      time.Time  `db:"driven_at" json:"driven_at"`   // when a command last worked on it
	FencedAt      *time.Time `db:"fenced_at" json:"fenced_at"`   // when the former cell refused writes; nil: not yet
	FlippedAt     *time.Time `db:"flipped_at" json:"flipped_at"` // when the other cell took over; nil: not yet
	EndedAt       *time.Time `db:"ended_at" json:"ended_at"`     // nil: it runs
	Actor         string     `db:"actor" json:"actor"`
	Reason        string     `db:"reason" json:"reason"`
	Tables        int32      `db:"tables" json:"tables"` // that are copied; 0: not read yet
	CopiedTables  int32      `db:"copied_tables" json:"copied_tables"`
	BehindBytes   int64      `db:"behind_bytes" json:"behind_bytes"` // of the log, which the new cell has not confirmed
	Failures      int64      `db:"failures" json:"failures"`         // of the new cell to apply a change
	Undoable      bool       `db:"undoable" json:"undoable"`
	InTheWay      string     `db:"in_the_way" json:"in_the_way"` // why it does not advance, and what to do; "": nothing
}

// RefusedFor returns for how long neither cell took writes of the region, until now if that has not ended; 0: both the
// former and the new cell took them all the time.
func (m RegionMove) RefusedFor(now time.Time) time.Duration {
	switch {
	case m.FencedAt == nil:
		return 0
	case m.FlippedAt != nil:
		return m.FlippedAt.Sub(*m.FencedAt)
	}
	return now.Sub(*m.FencedAt)
}

// RegionMoves are sorted by when they began, the newest first.
var RegionMoves = View[RegionMove, Any]{name: "region_moves", order: Order{"-begun_at", "move"}}

// RegionObstacle is what stands in the way of moving a region to another cell.
type RegionObstacle struct {
	Region   string `db:"region" json:"region"`
	Obstacle string `db:"obstacle" json:"obstacle"` // a sentence
}

// RegionObstacles are sorted by region.
var RegionObstacles = View[RegionObstacle, Any]{name: "region_obstacles", order: Order{"region", "obstacle"}}
