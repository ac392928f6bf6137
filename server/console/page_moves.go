package console

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lattice-director/director/db/opsview"
)

// movesView is what templates/moves.html reads.
type movesView struct {
	Moves     []opsview.RegionMove // the latest first
	HasMore   bool                 // older moves exist
	Obstacles []regionObstacles
	// ObstaclesHaveMore: those of further regions exist, perhaps also of the last one.
	ObstaclesHaveMore bool
}

// regionObstacles are what would stand in the way of moving a region to another cell.
type regionObstacles struct {
	Region    string
	Obstacles []string // sentences, those of 'director regions move --dry-run'
}

// movesPage shows the moves of regions, and for each region what would stand in the way of one.
var movesPage = page[movesView]{routePath: "/moves", templateName: "moves", readEvery: time.Second,
	loadData: loadMoves}

func loadMoves(ctx context.Context, s Store, _ query) (v movesView, err error) {
	v.Moves, v.HasMore, err = listView(ctx, s, opsview.RegionMoves, opsview.Any{}, opsview.Page{Limit: pageSize})
	if err != nil {
		return v, err
	}
	regions, moreRegions, err := listView(ctx, s, opsview.Regions, opsview.Any{}, opsview.Page{Limit: opsview.MaxPage})
	if err != nil {
		return v, err
	}
	obstacles, more, err := listView(ctx, s, opsview.RegionObstacles, opsview.Any{}, opsview.Page{Limit: opsview.MaxPage})
	v.Obstacles, v.ObstaclesHaveMore = groupObstacles(regions, obstacles), more || moreRegions
	if more {
		// Sorted by region: of those behind the last one it is not known whether anything is in the way.
		last := obstacles[len(obstacles)-1].Region
		v.Obstacles = slices.DeleteFunc(v.Obstacles, func(o regionObstacles) bool { return o.Region > last })
	}
	return v, err
}

// groupObstacles returns the obstacles by region, sorted by region. Regions with game servers are listed also where
// nothing is in the way; others, such as those of pools that run none, are listed for their obstacles.
func groupObstacles(regions []opsview.Region, obstacles []opsview.RegionObstacle) (groups []regionObstacles) {
	sentences := map[string][]string{}
	for _, r := range regions {
		sentences[r.Region] = nil
	}
	for _, o := range obstacles {
		sentences[o.Region] = append(sentences[o.Region], o.Obstacle)
	}
	for _, region := range slices.Sorted(maps.Keys(sentences)) {
		groups = append(groups, regionObstacles{region, sentences[region]})
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
