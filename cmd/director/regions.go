package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

func (p *program) regionsCommand() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "regions",
		Short: "List regions, and set where clients measure their latencies",
		Long: "Commands for what `GET /regions` lists: the beacons of game regions, which are URLs that clients fetch several times to measure their\n" +
			"latency, and the cells that serve them ('director cells'); and moves of a region to another cell. The same in SQL: views ops.game_regions,\n" +
			"ops.beacons and ops.region_moves, function ops.set_beacon.",
		Example: "  director regions list\n  director regions beacon eu https://eu.ping.example/healthz\n  director regions beacon eu none",
	}, p.regionsList(), p.regionsBeacon(), p.regionsMove(), p.regionsMoves())
}

func (p *program) regionsList() *cobra.Command {
	return p.onDatabase(&cobra.Command{
		Use:     "list",
		Short:   "List the regions",
		Long:    "Lists the regions that have a beacon or are served by another cell. The same in SQL: view ops.game_regions.",
		Example: "  director regions list",
		Args:    cli.Exactly(0),
	}, byOperator, func(ctx context.Context, op operator, _ []string) error {
		return printView(ctx, op, opsview.GameRegions, opsview.Any{}, opsview.Page{}, table[opsview.GameRegion]{
			titles:   []string{"region", "cell", "address", "beacon"},
			rowCells: func(r opsview.GameRegion) []any { return []any{r.Region, r.Cell, r.Address, r.Beacon} },
		})
	})
}

func (p *program) regionsBeacon() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "beacon REGION URL",
		Short: "Set the URL that clients fetch to measure the latency to a region; none removes it",
		Long: "Sets the beacon of a game region: a URL of http or https that answers fast and from near the game servers, such as /healthz of a replica there.\n" +
			"Clients see it within seconds. Browsers need https.",
		Example: "  director regions beacon eu https://eu.ping.example/healthz\n  director regions beacon eu none",
		Args:    cli.Exactly(2),
	}
	cmd.ValidArgsFunction = p.completeArgs(firstOnly(regionWords))
	checkFirst(cmd, func(args []string) error {
		if args[1] == "" {
			return cli.Usage(errors.New("the URL is not allowed to be empty: none removes the beacon"))
		}
		return nil
	})
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, args []string) error {
		url := args[1]
		// A word, since an empty argument may be a variable of a script that is not set.
		if url == "none" {
			url = ""
		}
		return op.changeEach("region", args[:1],
			// false: the region has this beacon already, and no event is written.
			func(region string) (bool, error) { return op.store.As("").SetBeacon(ctx, region, url) })
	})
}
