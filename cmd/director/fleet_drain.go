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
			"With --wait it returns when nobody has a seat on them any more, so that a script can stop them then.",
		Example: "  director fleet drain eu-arena-7\n  director fleet drain --host 10.0.3.7 --wait --timeout 1h\n  director fleet drain --label rack=7 --region eu-west\n" +
			"  director fleet drain --region eu-west --wait",
	}, drainChange{instance: db.Act.Drain, host: db.Act.DrainHost, label: db.Act.DrainLabel, region: db.Act.DrainRegion,
		completedStatus: "ready", canWait: true})
}

func (p *program) fleetUndrain() *cobra.Command {
	return p.changeDrains(&cobra.Command{
		Use:   "undrain [INSTANCE…]",
		Short: "Resume placing players on draining game servers",
		Long: "Ends drains: the game servers get new players again, unless they drain for another reason. The end of a drain of a host, a label or a\n" +
			"region needs the arguments that 'director fleet drains' lists.",
		Example: "  director fleet undrain eu-arena-7\n  director fleet undrain --host 10.0.3.7",
	}, drainChange{instance: db.Act.Undrain, host: db.Act.UndrainHost, label: db.Act.UndrainLabel,
		region: db.Act.UndrainRegion, completedStatus: "draining"})
}

// drainChange are the functions of schema ops that begin drains, or those that end them.
type drainChange struct {
	instance    func(by db.Act, ctx context.Context, id string) (bool, error)
	host, label func(by db.Act, ctx context.Context, value, region string) (bool, error)
	region      func(by db.Act, ctx context.Context, region string) (bool, error)

	completedStatus string // completion offers the instances with this status: those that the change concerns
	canWait         bool   // the command has --wait: after the end of a drain there is nothing to wait for
}

// drainTarget is what a drain concerns, and the call that begins or ends it.
type drainTarget struct {
	name    string // in the output; unique among the targets
	servers opsview.FleetFilter
	change  func(by db.Act, ctx context.Context) (bool, error)
}

// targets returns what the arguments and flags name, in the order in which they are changed.
func (d drainChange) targets(ids, hosts, labels []string, region string) (targets []drainTarget) {
	for _, id := range ids {
		targets = append(targets, drainTarget{id, opsview.FleetFilter{Instance: id},
			func(by db.Act, ctx context.Context) (bool, error) { return d.instance(by, ctx, id) }})
	}
	for _, host := range hosts {
		targets = append(targets, drainTarget{"host " + host, opsview.FleetFilter{Host: host, Region: region},
			func(by db.Act, ctx context.Context) (bool, error) { return d.host(by, ctx, host, region) }})
	}
	for _, label := range labels {
		targets = append(targets, drainTarget{"label " + label, opsview.FleetFilter{Label: label, Region: region},
			func(by db.Act, ctx context.Context) (bool, error) { return d.label(by, ctx, label, region) }})
	}
	// With hosts or labels, the region only narrows them: alone it is a target itself.
	if region != "" && len(hosts)+len(labels) == 0 {
		targets = append(targets, drainTarget{"region " + region, opsview.FleetFilter{Region: region},
			func(by db.Act, ctx context.Context) (bool, error) { return d.region(by, ctx, region) }})
	}
	return targets
}

// changeDrains changes the drains that the arguments and flags name.
func (p *program) changeDrains(cmd *cobra.Command, calls drainChange) *cobra.Command {
	cmd.ValidArgsFunction = p.completeArgs(wordsOf(opsview.Fleet,
		opsview.FleetFilter{Status: calls.completedStatus}, "instance"))
	hosts := cmd.Flags().StringArray("host", nil,
		"All game servers whose endpoint has this host; repeat it for several")
	labels := cmd.Flags().StringArray("label", nil,
		"All game servers with this label, as key=value; repeat it for several")
	wait, timeout := new(bool), new(time.Duration)
	if calls.canWait {
		wait, timeout = addWaitFlags(cmd)
	}
	region := cmd.Flags().String("region", "",
		"All game servers of this region; with --host and --label: only those of them that are in this region")
	p.completeFlag(cmd, "region", regionWords)
	checkFirst(cmd, func(ids []string) error {
		// A timeout without --wait would look as if the drain itself ended after it.
		if *timeout != 0 && !*wait {
			return cli.Usage(errors.New("--timeout is a time to wait with --wait"))
		}
		return checkDrainTargets(len(ids), len(*hosts)+len(*labels), *region)
	})
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, ids []string) error {
		targets := calls.targets(ids, *hosts, *labels, *region)
		// By name, because changeEach prints and passes names.
		byName, names, drained := map[string]drainTarget{}, []string{}, []opsview.FleetFilter{}
		for _, t := range targets {
			byName[t.name], names = t, append(names, t.name)
			// Only servers that run are read: there may be thousands that have ended, and they have no players.
			t.servers.Running = true
			drained = append(drained, t.servers)
		}
		err := op.changeEach("drain", names,
			func(name string) (bool, error) { return byName[name].change(op.store.As(""), ctx) })
		// No wait after a refusal: players continue to join a target that is not drained.
		if err != nil || !*wait {
			return err
		}
		return op.waitUntilEmpty(ctx, cmd.ErrOrStderr(), drained, *timeout)
	})
}

// checkDrainTargets checks that something is named, and that --region does not narrow servers that are named.
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
	}, byOperator, func(ctx context.Context, op operator, _ []string) error {
		return printView(ctx, op, opsview.Drains, opsview.Any{}, opsview.Page{}, table[opsview.Drain]{
			titles:      []string{"target", "value", "region", "servers", "since", "actor"},
			spareTitles: []string{"region", "servers"},
			rowCells: func(d opsview.Drain) []any {
				return []any{d.Target, d.Value, d.Region, d.Instances, readableTime(&d.Since), d.Actor}
			},
		})
	})
}
