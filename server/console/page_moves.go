package console

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/opsview"
)

// movesView is what templates/moves.html reads.
type movesView struct {
	Moves     []opsview.RegionMove // the latest first
	Obstacles []regionObstacles
}

// regionObstacles are what would stand in the way of moving a region to another cell.
type regionObstacles struct {
	Region    string
	Obstacles []string // sentences, those of 'director regions move --dry-run'
}

var movesPage = page[movesView]{routePath: "/moves", templateName: "moves", readEvery: time.Second,
	loadData: loadMoves}

func loadMoves(ctx context.Context, s Store, _ query) (v movesView, err error) {
	v.Moves, _, err = listView(ctx, s, opsview.RegionMoves, opsview.Any{}, opsview.Page{Limit: pageSize})
	if err != nil {
		return v, err
	}
	regions, _, err := listView(ctx, s, opsview.Regions, opsview.Any{}, opsview.Page{Limit: opsview.MaxPage})
	if err != nil {
		return v, err
	}
	obstacles, _, err := listView(ctx, s, opsview.RegionObstacles, opsview.Any{}, opsview.Page{Limit: opsview.MaxPage})
	v.Obstacles = groupObstacles(regions, obstacles)
	return v, err
}

// groupObstacles returns the obstacles by region. Regions with game servers are listed also where nothing is in the
// way; others, such as those of pools that run none, are listed for their obstacles. Both lists are sorted by region.
func groupObstacles(regions []opsview.Region, obstacles []opsview.RegionObstacle) []regionObstacles {
	var groups []regionObstacles
	for len(regions) > 0 || len(obstacles) > 0 {
		var group regionObstacles
		if len(obstacles) == 0 || len(regions) > 0 && regions[0].Region <= obstacles[0].Region {
			group.Region, regions = regions[0].Region, regions[1:]
		} else {
			group.Region = obstacles[0].Region
		}
		for len(obstacles) > 0 && obstacles[0].Region == group.Region {
			group.Obstacles, obstacles = append(group.Obstacles, obstacles[0].Obstacle), obstacles[1:]
		}
		groups = append(groups, group)
	}
	return groups
}

// runningMoves returns the moves that have not ended.
func runningMoves(ctx context.Context, s Store) (running []opsview.RegionMove, err error) {
	latest, _, err := listView(ctx, s, opsview.RegionMoves, opsview.Any{}, opsview.Page{Limit: pageSize})
	for _, m := range latest {
		if m.EndedAt == nil {
			running = append(running, m)
		}
	}
	return running, err
}
