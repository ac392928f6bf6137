package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

func (p *program) fleetCommand() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "fleet",
		Short: "List and show the game servers, drain and undrain them",
		Long:  "Commands for game servers. The same in SQL: views ops.fleet and ops.drains, functions ops.drain, ops.drain_host and so on.",
		Example: "  director fleet list --region eu-west\n  director fleet show eu-arena-7\n  director fleet drain eu-arena-7\n" +
			"  director fleet drain --host 10.0.3.7\n  director fleet drains",
	}, p.fleetList(), p.fleetShow(), p.fleetDrain(), p.fleetUndrain(), p.fleetDrains())
}

func (p *program) fleetList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the game servers",
		Long:  "Lists the game servers with their capacity and how much of it is reserved. Reserved counts max_players of each open session, full or not.",
		Example: "  director fleet list\n  director fleet list --region eu-west --mode duel\n" +
			"  director fleet list -o json | jq -r '.[] | select(.alive | not) | .instance'",
		Args: cli.Exactly(0),
	}
	var f opsview.FleetFilter
	p.addFilters(cmd, filterFlag{"region", &f.Region, "Only this region", regionWords},
		filterFlag{"mode", &f.Mode, "Only those that offer this mode", modeWords})
	all := cmd.Flags().Bool("all", false, "Also those that ended recently")
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, _ []string) error {
		// Those that have ended stay for a while, in thousands where servers come and go.
		f.Running = !*all
		return printView(ctx, op, opsview.Fleet, f, opsview.Page{}, table[opsview.Instance]{
			titles: []string{
				"region", "instance", "status", "alive", "modes", "load", "capacity", "reserved", "available",
				"players", "sessions", "heartbeat", "endpoint",
			},
			spareTitles: []string{"load", "heartbeat", "region", "sessions", "reserved", "endpoint", "modes"},
			rowCells: func(i opsview.Instance) []any {
				return []any{
					i.Region, i.Instance, i.Status, i.Alive, i.Modes, orBlank(i.Load), i.Capacity, i.ReservedSeats,
					i.Available, i.Players, i.OpenSessions, formatAgo(i.LeaseAge), i.Endpoint,
				}
			},
		})
	})
}
