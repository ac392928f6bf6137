package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/cli"
)

func (p *program) pools() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "pools",
		Short: "Declare, scale, pause and roll pools of game servers",
		Long: "Commands for pools. A pool says how many game servers of an app version a region has; workers with DIRECTOR_PROVIDERS start and\n" +
			"stop them. A pool is written REGION/APP/VERSION. The commands that change one need the director's own database role, as\n" +
			"'keys rotate' does. The same in SQL: view ops.pools, functions ops.scale_pool, ops.pause_pool and ops.resume_pool.",
		Example: "  director pools apply -f pools.yaml\n  director pools list\n  director pools show eu/arena/v7\n" +
			"  director pools scale eu/arena/v7 --max 40\n  director pools roll eu/arena/v7 v8",
	}, p.poolsApply(), p.poolsList(), p.poolsShow(), p.poolsScale(), p.poolsPause(), p.poolsResume(), p.poolsRoll(), p.poolsDelete(), p.poolsLimit())
}

// poolWords completes pools.
const poolWords = "SELECT region || '/' || app || '/' || version AS pool FROM ops.pools"

func (p *program) completePools() cobra.CompletionFunc {
	return p.completeArgs("SELECT pool FROM (" + poolWords + ") AS found WHERE starts_with(pool, $1) AND cardinality($2::text[]) = 0 ORDER BY pool LIMIT 100")
}

// parsePool splits REGION/APP/VERSION.
func parsePool(arg string) (edit provision.PoolEdit, err error) {
	parts := strings.Split(arg, "/")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return edit, cli.Usage(fmt.Errorf("%q is no pool: it must be REGION/APP/VERSION, such as eu/arena/v7", arg))
	}
	return provision.PoolEdit{Region: parts[0], App: parts[1], Version: parts[2]}, nil
}

// poolLine is a row of ops.pools.
type poolLine struct {
	Region         string     `json:"region"`
	App            string     `json:"app"`
	Version        string     `json:"version"`
	Provider       string     `json:"provider"`
	Modes          []string   `json:"modes"`
	State          string     `json:"state"`
	Servers        int        `json:"servers"`
	Starting       int        `json:"starting"`
	Ready          int        `json:"ready"`
	Busy           int        `json:"busy"`
	Ending         int        `json:"ending"`
	WaitingPlayers int64      `json:"waiting_players"`
	Min            int        `json:"min"`
	Max            int        `json:"max"`
	Buffer         string     `json:"buffer"`
	MaxStarting    int        `json:"max_starting"`
	EmptyTTL       float64    `json:"empty_ttl"` // seconds
	PausedUntil    *time.Time `json:"paused_until"`
	PauseReason    *string    `json:"pause_reason"`
	Plan           *string    `json:"plan"`
	PlannedAt      *time.Time `json:"planned_at"`
	Workers        int64      `json:"workers"` // that have its provider
}

const selectPools = `SELECT region, app, version, provider, modes, state, servers, starting, ready, busy, ending, waiting_players, min, max, buffer, max_starting,
    extract(epoch FROM empty_ttl)::float8 AS empty_ttl, paused_until, pause_reason, plan, planned_at,
    coalesce((SELECT w.workers FROM ops.providers w WHERE w.provider = p.provider), 0) AS workers
FROM ops.pools p WHERE ($1 = '' OR region = $1) AND ($2 = '' OR app = $2) AND ($3 = '' OR version = $3) ORDER BY region, app, version`

func (p *program) poolsList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the pools and how many servers they have",
		Long: "Lists the pools. The column servers counts those that are wanted, starting or ready; busy, those that host a session; ending,\n" +
			"those that drain or stop and may still cost money; waiting, the players for whom no server has room; workers, the running workers\n" +
			"that have its provider.",
		Example: "  director pools list --region eu\n  director pools list -o json | jq -r '.[] | select(.state == \"full\") | .app'",
		Args:    cli.Exactly(0),
	}
	region := cmd.Flags().String("region", "", "Only this region")
	p.completeFlag(cmd, "region", "SELECT region FROM ops.pools")
	addFlags(cmd.Flags(), byOperator)
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.withDatabase(cmd, byOperator, func(ctx context.Context, l operator) error {
			found, err := rows[poolLine](ctx, l.Store, selectPools, *region, "", "")
			if err != nil {
				return err
			}
			header := []string{
				"region", "app", "version", "provider", "state", "modes", "servers", "starting", "ready", "busy", "ending", "waiting", "min", "max", "buffer", "workers",
			}
			return cli.Write(l.out.Sparing("provider", "ready", "buffer", "min", "modes", "ending"), found, header, func(l poolLine) []any {
				return []any{
					l.Region, l.App, l.Version, l.Provider, l.State, l.Modes, l.Servers, l.Starting, l.Ready, l.Busy, l.Ending, l.WaitingPlayers, l.Min, l.Max, l.Buffer, l.Workers,
				}
			})
		})
	}
	return cmd
}

func (p *program) poolsShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show REGION/APP/VERSION",
		Short: "Show a pool, its last plan and the reason for it",
		Long: "Shows a pool with its servers and its last plan: how many servers are used, how many are kept as a buffer, and how many the\n" +
			"plan starts or ends.",
		Example:           "  director pools show eu/arena/v7",
		Args:              cli.Exactly(1),
		ValidArgsFunction: p.completePools(),
	}
	addFlags(cmd.Flags(), byOperator)
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		pool, err := parsePool(args[0])
		if err != nil {
			return err
		}
		return p.withDatabase(cmd, byOperator, func(ctx context.Context, l operator) error {
			found, err := rows[poolLine](ctx, l.Store, selectPools, pool.Region, pool.App, pool.Version)
			switch {
			case err != nil:
				return err
			case len(found) == 0:
				return fmt.Errorf("there is no pool %s; 'director pools list' lists them", args[0])
			case l.out.JSON:
				return cli.WriteJSON(l.out.Writer, found[0])
			}
			for _, fact := range found[0].facts() {
				fmt.Fprintf(l.out.Writer, "%-10s %s\n", fact[0], fact[1])
			}
			return nil
		})
	}
	return cmd
}

// facts returns pairs of name and value, for people.
func (l poolLine) facts() [][2]string {
	state := l.State
	if l.PausedUntil != nil {
		state += " until " + pauseEnd(*l.PausedUntil)
	}
	if l.PauseReason != nil {
		state += ": " + *l.PauseReason
	}
	if l.Workers == 0 {
		state += "; " + noWorkerHas(l.Provider)
	}
	facts := [][2]string{
		{"pool", l.Region + "/" + l.App + "/" + l.Version},
		{"provider", l.Provider},
		{"modes", strings.Join(l.Modes, ", ")},
		{"state", state},
		{"servers", fmt.Sprintf("%d of %d to %d: %d starting, %d ready, %d of them busy; %d more end", l.Servers, l.Min, l.Max, l.Starting, l.Ready, l.Busy, l.Ending)},
		{"buffer", fmt.Sprintf("%s, %d start at a time, surplus ends after %s", l.Buffer, l.MaxStarting, brief(time.Duration(l.EmptyTTL*float64(time.Second))))},
		{"waiting", fmt.Sprintf("%d players", l.WaitingPlayers)},
	}
	plan := "none: no worker has planned it yet"
	if l.Plan != nil {
		plan = *l.Plan + ", at " + readableTime(l.PlannedAt)
	}
	return append(facts, [2]string{"last plan", plan})
}

// noWorkerHas says that servers of a provider do not start.
func noWorkerHas(provider string) string {
	return "no running worker has the provider " + provider + ": set DIRECTOR_PROVIDERS of one, or its servers neither start nor stop"
}

func pauseEnd(until time.Time) string {
	if !until.Before(provision.Forever()) {
		return "an operator resumes it"
	}
	return until.UTC().Format(time.RFC3339)
}

// poolFlags are the flags of commands that change a pool.
type poolFlags struct{ author, reason string }

func (f *poolFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.reason, "reason", "", "The reason, for the event and other operators")
	cmd.Flags().StringVar(&f.author, "author", "", "The author, such as that of a commit that a pipeline applies; by default your database login")
}

// changePool completes a command that changes the pool in its first argument.
func (p *program) changePool(cmd *cobra.Command, args int, change func(ctx context.Context, l operator, edit provision.PoolEdit, args []string) error) *cobra.Command {
	cmd.Args = cli.Exactly(args)
	cmd.ValidArgsFunction = p.completePools()
	var flags poolFlags
	flags.add(cmd)
	addFlags(cmd.Flags(), byOperator)
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		edit, err := parsePool(args[0])
		if err != nil {
			return err
		}
		edit.Author, edit.Reason = flags.author, flags.reason
		return p.withDatabase(cmd, byOperator, func(ctx context.Context, l operator) error { return refusalText(change(ctx, l, edit, args)) })
	}
	return cmd
}

var errNothingToChange = errors.New("nothing to change: give --min, --max, --buffer, --max-starting or --empty-ttl")
