package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/provisioning/poolfile"
)

// poolNumbers is the output of `pools scale`, `pause` and `resume`.
type poolNumbers struct {
	Region      string     `json:"region"`
	App         string     `json:"app"`
	Version     string     `json:"version"`
	Min         int        `json:"min"`
	Max         int        `json:"max"`
	Buffer      string     `json:"buffer"`
	PausedUntil *time.Time `json:"paused_until"`
}

// writePool prints the numbers of a pool as the database returned them after the change.
func writePool(out cli.Output, p provision.Pool) error {
	buffer := fmt.Sprint(p.Buffer)
	if p.BufferPercent {
		buffer += "%"
	}
	lines := []poolNumbers{{p.Region, p.App, p.Version, p.Min, p.Max, buffer, p.PausedUntil}}
	return cli.Write(out, lines, []string{"region", "app", "version", "min", "max", "buffer", "paused until"},
		func(n poolNumbers) []any {
			until := ""
			if n.PausedUntil != nil {
				until = pauseEnd(*n.PausedUntil)
			}
			return []any{n.Region, n.App, n.Version, n.Min, n.Max, n.Buffer, until}
		})
}

func (p *program) poolsScale() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scale REGION/APP/VERSION",
		Short: "Change how many servers a pool has",
		Long: "Changes the numbers of a pool that are given; the others stay. The next 'pools apply' of a file with this pool sets them again.\n" +
			"With --max 0 the pool starts no servers, and those that have been empty for its empty_ttl end. Schedules that want more servers\n" +
			"than --max are named: max bounds them.",
		Example: "  director pools scale eu/arena/v7 --max 40\n  director pools scale eu/arena/v7 --min 2 --buffer 20% --reason 'launch day'",
	}
	minServers := cmd.Flags().Int("min", 0, "The number of servers that run whether players need them or not")
	maxServers := cmd.Flags().Int("max", 0, "The most servers that it may have")
	buffer := cmd.Flags().String("buffer", "",
		"The number of ready servers without players, or a share of all servers such as 20%")
	starting := cmd.Flags().Int("max-starting", 0, "The most servers that start at the same time")
	ttl := cmd.Flags().Duration("empty-ttl", 0,
		"How long a surplus server must have been empty before the director ends it")
	// The store judges the greatest values, since it knows the pool.
	requireAtLeast(cmd, "min", minServers, 0)
	requireAtLeast(cmd, "max", maxServers, 0)
	requireAtLeast(cmd, "max-starting", starting, 0)
	requireAtLeast(cmd, "empty-ttl", ttl, 0)
	return p.changePool(cmd, 1, func(ctx context.Context, op operator, edit provision.PoolEdit, _ []string) error {
		var to provision.PoolScale
		// nil for a flag that was not given: its value is 0, which is also a number that a pool may have.
		to.Min = ifGiven(cmd, "min", minServers)
		to.Max = ifGiven(cmd, "max", maxServers)
		to.MaxStarting = ifGiven(cmd, "max-starting", starting)
		to.EmptyTTL = ifGiven(cmd, "empty-ttl", ttl)
		if cmd.Flags().Changed("buffer") {
			n, percent, err := poolfile.ParseBuffer(*buffer)
			if err != nil {
				return cli.Usage(fmt.Errorf("--buffer %w", err))
			}
			to.Buffer, to.BufferPercent = &n, percent
		}
		if to == (provision.PoolScale{}) {
			return cli.Usage(errNothingToChange)
		}
		scaled, err := op.store.ScalePool(ctx, edit, to)
		if err != nil {
			return fieldText(err)
		}
		return errors.Join(writePool(op.out, scaled), warnOfSchedules(ctx, cmd.ErrOrStderr(), op, scaled))
	})
}

// errNothingToChange is a usage error: without a flag, `scale` has nothing to say.
var errNothingToChange = errors.New("nothing to change: give --min, --max, --buffer, --max-starting or --empty-ttl")

// warnOfSchedules names the schedules that want more servers than the pool may have now. It only warns, where 'pools
// apply' refuses: max bounds the schedules.
func warnOfSchedules(ctx context.Context, stderr io.Writer, op operator, p provision.Pool) error {
	schedules, err := opsview.PoolSchedules.Read(ctx, op.store.Pool(),
		opsview.PoolFilter{Region: p.Region, App: p.App, Version: p.Version}, opsview.Page{})
	if err != nil {
		return err
	}
	for _, s := range schedules {
		if int(s.Min) > p.Max {
			fmt.Fprintf(stderr, "The schedule %s wants %d servers: the pool has at most %d then.\n", s.Schedule, s.Min,
				p.Max)
		}
	}
	return nil
}

func (p *program) poolsPause() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pause REGION/APP/VERSION",
		Short: "Start no servers in a pool; running servers stay",
		Long: "Makes a pool start no servers until it is resumed, or for a time. Running servers and their players stay. 'scale --max 0' also\n" +
			"ends empty servers.",
		Example: "  director pools pause eu/arena/v7 --reason 'the provider has an outage'\n  director pools pause eu/arena/v7 --for 30m",
	}
	length := cmd.Flags().Duration("for", 0, "The length of the pause; by default it lasts until the pool is resumed")
	requirePositive(cmd, "for", length)
	return p.changePool(cmd, 1, func(ctx context.Context, op operator, edit provision.PoolEdit, _ []string) error {
		// Without --for until somebody resumes it: an outage of a provider has no known end.
		until := provision.Forever()
		if cmd.Flags().Changed("for") {
			until = time.Now().Add(*length) // by this machine's clock; the database refuses a time that is past for it
		}
		paused, err := op.store.PausePool(ctx, edit, until)
		if err != nil {
			return err
		}
		return writePool(op.out, paused)
	})
}

func (p *program) poolsResume() *cobra.Command {
	return p.changePool(&cobra.Command{
		Use:     "resume REGION/APP/VERSION",
		Short:   "Start servers in a pool again, at once",
		Long:    "Ends the pauses of a pool, also those after failures and for lack of capacity, so that servers start at once if players need them.",
		Example: "  director pools resume eu/arena/v7",
	}, 1, func(ctx context.Context, op operator, edit provision.PoolEdit, _ []string) error {
		resumed, err := op.store.ResumePool(ctx, edit)
		if err != nil {
			return err
		}
		return writePool(op.out, resumed)
	})
}

// rolledLine is the output of `pools roll`.
type rolledLine struct {
	Region  string   `json:"region"`
	App     string   `json:"app"`
	Version string   `json:"version"`
	Modes   []string `json:"modes"`   // that were moved
	Drained int      `json:"drained"` // servers of the version before
}

func (p *program) poolsRoll() *cobra.Command {
	return p.changePool(&cobra.Command{
		Use:   "roll REGION/APP/VERSION VERSION",
		Short: "Move the modes of a pool to another version, and drain its servers",
		Long: "Moves the modes of a pool to another version of its app, which 'pools apply' has declared, and drains the servers of the\n" +
			"previous version, in one transaction. From then on players are placed on the new version alone. Open sessions continue, and\n" +
			"a drained server ends when it is empty. The new version gets a pool with the same numbers unless it has one.",
		Example: "  director pools roll eu/arena/v7 v8\n  director pools roll eu/arena/v8 v7 --reason 'v8 crashes'",
	}, 2, func(ctx context.Context, op operator, edit provision.PoolEdit, args []string) error {
		done, err := op.store.RollPool(ctx, edit, args[1])
		if err != nil {
			return err
		}
		lines := []rolledLine{{edit.Region, edit.App, args[1], done.MovedModes, done.DrainedServers}}
		return cli.Write(op.out, lines, []string{"region", "app", "version", "modes", "drained"},
			func(r rolledLine) []any {
				return []any{r.Region, r.App, r.Version, r.Modes, r.Drained}
			})
	})
}

func (p *program) poolsDelete() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete REGION/APP/VERSION",
		Short: "Drain the servers of a pool, and delete it",
		Long: "Deletes a pool, after a confirmation. Its servers get no new players, and end when they are empty. The app version is deleted\n" +
			"with its last pool, but only if no server of it is left; otherwise it stays declared.",
		Example: "  director pools delete eu/arena/v7",
	}
	yes := addYes(cmd)
	return p.changePool(cmd, 1, func(ctx context.Context, op operator, edit provision.PoolEdit, args []string) error {
		// Nobody asks before `roll`: players keep their servers, and another roll takes it back.
		if err := p.askConfirmation(*yes, fmt.Sprintf("This deletes pool %s: its modes start no servers any more.",
			args[0])); err != nil {
			return err
		}
		// One transaction with the drain of its servers, which end when they are empty.
		drained, err := op.store.DeletePool(ctx, edit)
		if err != nil {
			return err
		}
		// Without modes: none moves. As JSON that is [] and not null, for scripts.
		lines := []rolledLine{{edit.Region, edit.App, edit.Version, []string{}, drained}}
		return cli.Write(op.out, lines, []string{"region", "app", "version", "drained"},
			func(r rolledLine) []any { return []any{r.Region, r.App, r.Version, r.Drained} })
	})
}
