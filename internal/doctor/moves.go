package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lattice-director/director/db/query"
)

const (
	moveRefusedFor = 10 * time.Second // a flip takes a fraction of a second, and its fence is lifted after two seconds
	moveIdleFor    = time.Minute      // a command works on a move every second
)

func (d Doctor) checkMoves(ctx context.Context) (Finding, error) {
	moves, err := d.newQueries().DoctorMoves(ctx)
	if err != nil {
		return Finding{}, err
	}
	return judgeMoves(moves), nil
}

// judgeMoves warns of moves on which no command works. The worst is one that stopped behind the fence: neither cell
// takes writes of the region.
func judgeMoves(moves []query.DoctorMovesRow) Finding {
	var running []string
	var idle *query.DoctorMovesRow
	for i, m := range moves {
		// The command has to be given the terms of the move again: the row does not have the target's connection
		// string.
		remedy := fmt.Sprintf("director regions move %s --to …, as it was begun, continues it; with --undo, this cell "+
			"serves the region again", m.Region)
		switch {
		// Judged before idleness: writes of the region fail here, and the other cell takes them only at the end of the
		// flip.
		case m.Refused > moveRefusedFor:
			return failureFinding(remedy, "region %s has been refused for %s: its move to cell %s stopped after the "+
				"fence, before that cell served it",
				m.Region, m.Refused.Round(time.Second), m.Cell)
		case m.Direction == "leaves" && m.Idle > moveIdleFor && idle == nil:
			idle = &moves[i]
		}
		running = append(running, fmt.Sprintf("%s %s (%s, cell %s)", m.Region, m.Direction, m.Step, m.Cell))
	}
	switch {
	case idle != nil:
		return warningFinding(fmt.Sprintf("director regions move %s --to …, as it was begun, continues it", idle.Region),
			"the move of region %s to cell %s is at step %s, and no command has worked on it for %s: the log of "+
				"Postgres is kept until it ends",
			idle.Region, idle.Cell, idle.Step, idle.Idle.Round(time.Second))
	case len(running) > 0:
		return goodFinding("regions that move: %s", strings.Join(running, ", "))
	}
	return goodFinding("no region moves to another cell")
}
