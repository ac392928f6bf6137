package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

func (p *program) fleetDrain() *cobra.Command {
	return p.changeDrains(&cobra.Command{
		Use:   "drain [INSTANCE…]",
		Short: "Stop placing new players on game servers, also after they restart; their sessions continue",
		Long: "Stops placing new players on game servers: those that are named, those whose endpoint has a host, that have a label, or of a whole region.\n" +
			"Their sessions continue until they end. Only 'director fleet undrain' with the same arguments ends a drain: it holds for a game server\n" +
			"that restarts, and of a host, a label or a region also for game servers that register later. 'director fleet drains' lists the drains.\n" +
			"With --wait it returns when nobody has a seat on them any more, so that a script can go on to stop them.",
		Example: "  director fleet drain eu-arena-7\n  director fleet drain --host 10.0.3.7 --wait --timeout 1h\n  director fleet drain --label rack=7 --region eu-west\n" +
			"  director fleet drain --region eu-west --wait",
	}, drainChange{db.Act.Drain, db.Act.DrainHost, db.Act.DrainLabel, db.Act.DrainRegion, "ready"})
}

func (p *program) fleetUndrain() *cobra.Command {
	return p.changeDrains(&cobra.Command{
		Use:   "undrain [INSTANCE…]",
		Short: "Resume placing players on draining game servers",
		Long: "Ends drains: the game servers get new players again, unless they drain for another reason. The end of a drain of a host, a label or a\n" +
			"region needs the arguments that 'director fleet drains' lists.",
		Example: "  director fleet undrain eu-arena-7\n  director fleet undrain --host 10.0.3.7",
	}, drainChange{db.Act.Undrain, db.Act.UndrainHost, db.Act.UndrainLabel, db.Act.UndrainRegion, "draining"})
}

// drainChange are the functions of schema ops that begin or end drains.
type drainChange struct {
	instance      func(by db.Act, ctx context.Context, id string) (bool, error)
	host, label   func(by db.Act, ctx context.Context, value, region string) (bool, error)
	region        func(by db.Act, ctx context.Context, region string) (bool, error)
	offeredStatus string // of the instances that a completion offers
}

// changeDrains changes the drains that the arguments and flags name.
func (p *program) changeDrains(cmd *cobra.Command, calls drainChange) *cobra.Command {
	cmd.ValidArgsFunction = p.completeArgs(wordsOf(opsview.Fleet, opsview.FleetFilter{Status: calls.offeredStatus},
		"instance"))
	hosts := cmd.Flags().StringArray("host", nil,
		"All game servers whose endpoint has this host; repeat it for several")
	labels := cmd.Flags().StringArray("label", nil,
		"All game servers with this label, as key=value; repeat it for several")
	wait, timeout := new(bool), new(time.Duration)
	if calls.offeredStatus == "ready" { // of drain; undrain has nothing to wait for
		wait, timeout = addWaitFlags(cmd)
	}
	region := cmd.Flags().String("region", "",
		"All game servers of this region; with --host and --label: only those of them that are in this region")
	p.completeFlag(cmd, "region", regionWords)
	checkFirst(cmd, func(ids []string) error {
		if *timeout != 0 && (!*wait || *timeout < 0) {
			return cli.Usage(errors.New("--timeout is a time to wait with --wait"))
		}
		return checkDrainTargets(len(ids), len(*hosts)+len(*labels), *region)
	})
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, l operator, ids []string) error {
		// By target, since changeEach knows only names. All targets are known before the first is drained.
		change := map[string]func() (bool, error){}
		var targets []string
		empty := emptyWait{operator: l, stderr: cmd.ErrOrStderr()}
		add := func(target string, servers opsview.FleetFilter, do func() (bool, error)) {
			targets, change[target] = append(targets, target), do
			// Only those that run: there may be thousands that have ended, and they have no players.
			servers.Running = true
			empty.drainTargets = append(empty.drainTargets, servers)
		}
		by := l.store.As("")
		for _, id := range ids {
			add(id, opsview.FleetFilter{Instance: id}, func() (bool, error) { return calls.instance(by, ctx, id) })
		}
		for _, host := range *hosts {
			add("host "+host, opsview.FleetFilter{Host: host, Region: *region},
				func() (bool, error) { return calls.host(by, ctx, host, *region) })
		}
		for _, label := range *labels {
			add("label "+label, opsview.FleetFilter{Label: label, Region: *region},
				func() (bool, error) { return calls.label(by, ctx, label, *region) })
		}
		// With hosts or labels, the region only narrows them: alone it is a target itself.
		if *region != "" && len(*hosts)+len(*labels) == 0 {
			add("region "+*region, opsview.FleetFilter{Region: *region},
				func() (bool, error) { return calls.region(by, ctx, *region) })
		}
		err := l.changeEach("drain", targets, func(target string) (bool, error) { return change[target]() })
		// No wait after a refusal: players would go on joining a target that is not drained.
		if err != nil || !*wait {
			return err
		}
		return empty.untilEmpty(ctx, *timeout)
	})
}

// checkDrainTargets checks that something is named, and that a region is not of servers that are named themselves.
func checkDrainTargets(ids, others int, region string) error {
	switch {
	case ids+others == 0 && region == "":
		return cli.Usage(errors.New("name game servers, or give --host, --label or --region"))
	case region != "" && ids > 0:
		return cli.Usage(errors.New("--region is not of game servers that are named: their ids are unique over all regions"))
	}
	return nil
}

func (p *program) fleetDrains() *cobra.Command {
	return p.onDatabase(&cobra.Command{
		Use:   "drains",
		Short: "List the drains that operators keep",
		Long: "Lists the drains that hold until an operator ends them, the oldest first: of game servers, regions, hosts and labels, and those of Rivalis game\n" +
			"servers, which 'director agents undrain' ends. SERVERS counts the game servers that run and obey the drain.",
		Example: "  director fleet drains",
		Args:    cli.Exactly(0),
	}, byOperator, func(ctx context.Context, l operator, _ []string) error {
		drains, err := opsview.Drains.Read(ctx, l.store.Pool(), opsview.Any{}, opsview.Page{})
		if err != nil {
			return err
		}
		header := []string{"target", "value", "region", "servers", "since", "actor"}
		return cli.Write(l.out.Sparing("region", "servers"), drains, header, func(d opsview.Drain) []any {
			return []any{d.Target, d.Value, d.Region, d.Instances, readableTime(&d.Since), d.Actor}
		})
	})
}
