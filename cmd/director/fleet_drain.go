package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
)

func (p *program) fleetDrain() *cobra.Command {
	return p.changeDrains(&cobra.Command{
		Use:   "drain [INSTANCE…]",
		Short: "Stop placing new players on game servers, also after they restart; their sessions continue",
		Long: "Stops placing new players on game servers: those that are named, and those whose endpoint has a host or that have a label.\n" +
			"Their sessions continue until they end. Only 'director fleet undrain' with the same arguments ends a drain: it holds for a game server\n" +
			"that restarts, and of a host or a label also for game servers that register later. 'director fleet drains' lists the drains.",
		Example: "  director fleet drain eu-arena-7\n  director fleet drain --host 10.0.3.7\n  director fleet drain --label rack=7 --region eu-west",
	}, drainChange{"SELECT ops.drain($1)", "SELECT ops.drain_host($1, $2)", "SELECT ops.drain_label($1, $2)"}, "status = 'ready'")
}

func (p *program) fleetUndrain() *cobra.Command {
	return p.changeDrains(&cobra.Command{
		Use:   "undrain [INSTANCE…]",
		Short: "Resume placing players on draining game servers",
		Long: "Ends drains: the game servers get new players again, unless they drain for another reason. The end of a drain of a host or a label needs\n" +
			"the arguments that 'director fleet drains' lists.",
		Example: "  director fleet undrain eu-arena-7\n  director fleet undrain --host 10.0.3.7",
	}, drainChange{"SELECT ops.undrain($1)", "SELECT ops.undrain_host($1, $2)", "SELECT ops.undrain_label($1, $2)"}, "status = 'draining'")
}

// drainChange are the functions of schema ops that begin or end drains.
type drainChange struct{ instance, host, label string }

// changeDrains changes the drains that the arguments and flags name. Completion offers the instances that meet the condition.
func (p *program) changeDrains(cmd *cobra.Command, calls drainChange, condition string) *cobra.Command {
	cmd.ValidArgsFunction = p.completeRows(ofInstances, condition)
	hosts := cmd.Flags().StringArray("host", nil, "All game servers whose endpoint has this host; repeat it for several")
	labels := cmd.Flags().StringArray("label", nil, "All game servers with this label, as key=value; repeat it for several")
	region := cmd.Flags().String("region", "", "With --host and --label: only in this region; without it, in all")
	p.completeFlag(cmd, "region", regionWords)
	addFlags(cmd.Flags(), byOperator)
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		switch {
		case len(ids)+len(*hosts)+len(*labels) == 0:
			return cli.Usage(errors.New("name game servers, or give --host or --label"))
		case *region != "" && len(*hosts)+len(*labels) == 0:
			return cli.Usage(errors.New("--region is of --host and --label: an instance id is unique over all regions"))
		}
		return p.withDatabase(cmd, byOperator, func(ctx context.Context, l operator) error {
			change := map[string]func() (bool, error){}
			var targets []string
			add := func(target, call string, args ...any) {
				targets = append(targets, target)
				change[target] = func() (bool, error) { return changed(ctx, l.Store, call, args...) }
			}
			for _, id := range ids {
				add(id, calls.instance, id)
			}
			for _, host := range *hosts {
				add("host "+host, calls.host, host, *region)
			}
			for _, label := range *labels {
				add("label "+label, calls.label, label, *region)
			}
			return l.changeEach("drain", targets, func(target string) (bool, error) { return change[target]() })
		})
	}
	return cmd
}

// drainLine is a row of ops.drains.
type drainLine struct {
	Region    string    `json:"region"` // empty: all
	Target    string    `json:"target"`
	Value     string    `json:"value"`
	Actor     string    `json:"actor"`
	Since     time.Time `json:"since"`
	Instances int       `json:"instances"`
}

const selectDrains = `SELECT region, target, value, actor, since, instances FROM ops.drains ORDER BY since, region, target, value`

func (p *program) fleetDrains() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drains",
		Short: "List the drains that operators keep",
		Long: "Lists the drains that hold until an operator ends them, the oldest first: of game servers, of hosts and of labels, and those of Rivalis game\n" +
			"servers, which 'director agents undrain' ends. SERVERS counts the game servers that run and obey the drain.",
		Example: "  director fleet drains",
		Args:    cli.Exactly(0),
	}
	addFlags(cmd.Flags(), byOperator)
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.withDatabase(cmd, byOperator, func(ctx context.Context, l operator) error {
			drains, err := rows[drainLine](ctx, l.Store, selectDrains)
			if err != nil {
				return err
			}
			header := []string{"target", "value", "region", "servers", "since", "actor"}
			return cli.Write(l.out.Sparing("region", "servers"), drains, header, func(d drainLine) []any {
				return []any{d.Target, d.Value, d.Region, d.Instances, readableTime(&d.Since), d.Actor}
			})
		})
	}
	return cmd
}
