package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
)

func (p *program) fleet() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "fleet",
		Short: "List and show the game servers, drain and undrain them",
		Long:  "Commands for game servers. The same in SQL: views ops.fleet and ops.drains, functions ops.drain, ops.drain_host and so on.",
		Example: "  director fleet list --region eu-west\n  director fleet show eu-arena-7\n  director fleet drain eu-arena-7\n" +
			"  director fleet drain --host 10.0.3.7\n  director fleet drains",
	}, p.fleetList(), p.fleetShow(), p.fleetDrain(), p.fleetUndrain(), p.fleetDrains())
}

// instanceLine is a row of ops.fleet.
type instanceLine struct {
	Region        string            `json:"region"`
	Instance      string            `json:"instance"`
	Endpoint      string            `json:"endpoint"`
	Status        string            `json:"status"`
	Alive         bool              `json:"alive"`
	Modes         []string          `json:"modes"`
	Labels        map[string]string `json:"labels"`
	Version       *string           `json:"version"`
	Load          *float64          `json:"load"`
	Capacity      int               `json:"capacity"`
	ReservedSeats int               `json:"reserved_seats"`
	Available     int               `json:"available"`
	Players       int               `json:"players"`
	OpenSessions  int               `json:"open_sessions"`
	MaxSessions   *int              `json:"max_sessions"`
	ReportsSeats  bool              `json:"reports_seats"`
	LastHeartbeat *time.Time        `json:"last_heartbeat"`
	LeaseAge      *float64          `json:"lease_age"` // seconds
	RegisteredAt  time.Time         `json:"registered_at"`
	EndedAt       *time.Time        `json:"ended_at"`
}

const fleetColumns = `SELECT region, instance, endpoint, status, alive, modes, labels, version, load, capacity, reserved_seats, available, players,
    open_sessions, max_sessions, reports_seats, last_heartbeat, extract(epoch FROM lease_age)::float8 AS lease_age, registered_at, ended_at
FROM ops.fleet `

const selectFleet = fleetColumns + `WHERE ($1 = '' OR region = $1) AND ($2 = '' OR $2 = ANY (modes)) AND ($3 OR status <> 'gone')
ORDER BY region, instance`

func (p *program) fleetList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the game servers",
		Long:  "Lists the game servers with their capacity and how much of it is reserved. Reserved counts max_players of each open session, full or not.",
		Example: "  director fleet list\n  director fleet list --region eu-west --mode duel\n" +
			"  director fleet list -o json | jq -r '.[] | select(.alive | not) | .instance'",
		Args: cli.Exactly(0),
	}
	region := cmd.Flags().String("region", "", "Only this region")
	mode := cmd.Flags().String("mode", "", "Only those that offer this mode")
	all := cmd.Flags().Bool("all", false, "Also those that ended recently")
	p.completeFlag(cmd, "region", regionWords)
	p.completeFlag(cmd, "mode", modeWords)
	addFlags(cmd.Flags(), byOperator)
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.withDatabase(cmd, byOperator, func(ctx context.Context, l operator) error {
			fleet, err := rows[instanceLine](ctx, l.Store, selectFleet, *region, *mode, *all)
			if err != nil {
				return err
			}
			header := []string{"region", "instance", "status", "alive", "modes", "load", "capacity", "reserved", "available", "players", "sessions", "heartbeat", "endpoint"}
			return cli.Write(l.out.Sparing("load", "heartbeat", "region", "sessions", "reserved", "endpoint", "modes"), fleet, header, func(i instanceLine) []any {
				return []any{
					i.Region, i.Instance, i.Status, i.Alive, i.Modes, orBlank(i.Load), i.Capacity, i.ReservedSeats, i.Available, i.Players,
					i.OpenSessions, ago(i.LeaseAge), i.Endpoint,
				}
			})
		})
	}
	return cmd
}

func orBlank[T any](p *T) any {
	if p == nil {
		return ""
	}
	return *p
}

// readableTime returns "" for nil.
func readableTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// ago formats elapsed seconds for people, such as "1m30s ago".
func ago(seconds *float64) string {
	if seconds == nil {
		return ""
	}
	d := time.Duration(*seconds * float64(time.Second))
	if d > time.Minute {
		return brief(d.Round(time.Second)) + " ago"
	}
	return brief(d.Round(100*time.Millisecond)) + " ago"
}

// opsRows are rows of a view in schema ops, which operators name in arguments.
type opsRows struct{ noun, view, key string }

var (
	ofInstances = opsRows{"instance", "ops.fleet", "instance"}
	ofAgents    = opsRows{"agent", "ops.agents", "agent"}
)

// completeRows offers the ids of those rows that meet the condition.
func (p *program) completeRows(of opsRows, condition string) cobra.CompletionFunc {
	return p.completeArgs(fmt.Sprintf(
		"SELECT %[1]s FROM %[2]s WHERE %[3]s AND starts_with(%[1]s, $1) AND NOT %[1]s = ANY ($2) ORDER BY %[1]s LIMIT 100", of.key, of.view, condition))
}

// changeRows calls a function of schema ops for each row that the arguments name. Completion offers the rows that meet the condition.
func (p *program) changeRows(cmd *cobra.Command, of opsRows, call, condition string) *cobra.Command {
	cmd.Args = cli.AtLeast(1)
	cmd.ValidArgsFunction = p.completeRows(of, condition)
	addFlags(cmd.Flags(), byOperator)
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		return p.withDatabase(cmd, byOperator, func(ctx context.Context, l operator) error {
			return l.changeEach(of.noun, ids, func(id string) (bool, error) { return changed(ctx, l.Store, call, id) })
		})
	}
	return cmd
}
