package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

func (p *program) poolsCommand() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "pools",
		Short: "Declare, scale, pause and roll pools of game servers",
		Long: "Commands for pools. A pool says how many game servers of an app version a region has; workers with DIRECTOR_PROVIDERS start and\n" +
			"stop them. A pool is written REGION/APP/VERSION. The commands that change one need the director's own database role, as\n" +
			"'keys rotate' does. The same in SQL: view ops.pools, functions ops.scale_pool, ops.pause_pool and ops.resume_pool.",
		Example: "  director pools apply -f pools.yaml\n  director pools list\n  director pools show eu/arena/v7\n" +
			"  director pools scale eu/arena/v7 --max 40\n  director pools roll eu/arena/v7 v8",
	}, p.poolsApply(), p.poolsList(), p.poolsShow(), p.poolsScale(), p.poolsPause(), p.poolsResume(), p.poolsRoll(),
		p.poolsDelete(), p.poolsLimit(), p.poolsForecast(), p.poolsSchema())
}

func (p *program) poolsList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the pools and how many servers they have",
		Long: "Lists the pools. The column servers counts those that are wanted, starting or ready; busy, those that host a session; ending,\n" +
			"those that drain or stop and may still cost money; waiting, the players for whom no server has room; min, the least number of\n" +
			"servers now, with schedules and the forecast; workers, the running workers that have its provider; next, the next change of min\n" +
			"that is planned.",
		Example: "  director pools list --region eu\n  director pools list -o json | jq -r '.[] | select(.state == \"full\") | .app'",
		Args:    cli.Exactly(0),
	}
	var f opsview.PoolFilter
	p.addFilters(cmd, filterFlag{"region", &f.Region, "Only this region", wordsOf(opsview.Pools, f, "region")})
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, _ []string) error {
		return printView(ctx, op, opsview.Pools, f, opsview.Page{}, table[opsview.Pool]{
			titles: []string{
				"region", "app", "version", "provider", "state", "modes", "servers", "starting", "ready", "busy",
				"ending", "waiting", "min", "max", "buffer", "workers", "next",
			},
			spareTitles: []string{"provider", "ready", "buffer", "min", "modes", "ending"},
			rowCells: func(p opsview.Pool) []any {
				return []any{
					p.Region, p.App, p.Version, p.Provider, p.State, p.Modes, p.Servers, p.Starting, p.Ready,
					p.Busy, p.Ending, p.WaitingPlayers, p.MinNow, p.Max, p.Buffer, p.Workers, nextMin(p),
				}
			},
		})
	})
}

func (p *program) poolsShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show REGION/APP/VERSION",
		Short: "Show a pool, its last plan and the reason for it",
		Long: "Shows a pool with its servers, its schedules, and its last plan: how many servers are used, how many are kept as a buffer, and\n" +
			"how many the plan starts or ends.",
		Example:           "  director pools show eu/arena/v7",
		Args:              cli.Exactly(1),
		ValidArgsFunction: p.completePools(),
	}
	pool := parseFirst(cmd, parsePool)
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, args []string) error {
		// These three are the key of a pool: there is one row at most.
		f := opsview.PoolFilter{Region: pool.Region, App: pool.App, Version: pool.Version}
		found, err := opsview.Pools.Read(ctx, op.store.Pool(), f, opsview.Page{Limit: 1})
		if err != nil {
			return err
		}
		// Not an empty output: a mistyped pool must not look like one without servers.
		if len(found) == 0 {
			return fmt.Errorf("there is no pool %s; 'director pools list' lists them", args[0])
		}
		schedules, err := opsview.PoolSchedules.Read(ctx, op.store.Pool(), f, opsview.Page{})
		if err != nil {
			return err
		}
		return writeDetails(op.out, found[0], func(p opsview.Pool, out cli.Output) error {
			writeFacts(out, append(poolFacts(p), scheduleFacts(schedules)...))
			return nil
		})
	})
}

// poolFacts returns pairs of name and value, for people.
func poolFacts(p opsview.Pool) [][2]string {
	state := p.State
	if p.PausedUntil != nil {
		state += " until " + pauseEnd(*p.PausedUntil)
	}
	if p.PauseReason != nil {
		state += ": " + *p.PauseReason
	}
	// Without such a worker nothing starts, whatever the numbers say.
	if p.Workers == 0 {
		state += "; " + noWorkerHas(p.Provider)
	}
	facts := [][2]string{
		{"pool", p.Region + "/" + p.App + "/" + p.Version},
		{"provider", p.Provider},
		{"modes", strings.Join(p.Modes, ", ")},
		{"state", state},
		{"servers", fmt.Sprintf("%d of %d to %d: %d starting, %d ready, %d of them busy; %d more end",
			p.Servers, p.MinNow, p.Max, p.Starting, p.Ready, p.Busy, p.Ending)},
		{"min", fmt.Sprintf("%d, by %s", p.MinNow, p.MinCause)},
		{"next", nextMin(p)},
		{"forecast", forecastState(p.Forecast)},
		{"buffer", fmt.Sprintf("%s, %d start at a time, surplus ends after %s",
			p.Buffer, p.MaxStarting, briefDuration(time.Duration(p.EmptyTTL*float64(time.Second))))},
		{"waiting", fmt.Sprintf("%d players", p.WaitingPlayers)},
	}
	// The plan is the last that a worker has carried out, with its own words for the reason.
	plan := "none: no worker has planned it yet"
	if p.Plan != nil {
		plan = *p.Plan + ", at " + readableTime(p.PlannedAt)
	}
	return append(facts, [2]string{"last plan", plan})
}
