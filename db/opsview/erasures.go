package opsview

import (
	"time"

	"github.com/google/uuid"
)

// Erasure is a player that was erased, or is being erased. It does not name the player.
type Erasure struct {
	Erasure     uuid.UUID  `db:"erasure" json:"erasure"`
	RequestedAt time.Time  `db:"requested_at" json:"requested_at"`
	Actor       string     `db:"actor" json:"actor"`
	Reason      string     `db:"reason" json:"reason"`
	Rows        int64      `db:"rows" json:"rows"`               // that were changed or deleted so far
	ErasedAt    *time.Time `db:"erased_at" json:"erased_at"`     // when the first pass was over
	FinishedAt  *time.Time `db:"finished_at" json:"finished_at"` // when the last pass was over
}

// Erasures are read oldest first.
var Erasures = View[Erasure, ErasureFilter]{name: "erasures", order: Order{"requested_at", "erasure"}}

// ErasureFilter selects erasures.
type ErasureFilter struct{ Unfinished bool }

func (f ErasureFilter) selectRows(w *where) {
	if f.Unfinished {
		w.add("finished_at IS NULL")
	}
}
