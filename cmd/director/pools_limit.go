package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

func (p *program) poolsLimit() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "limit",
		Short: "Show or set how many servers all pools may have and start together",
		Long: "Shows how many servers all pools of all regions have, how many were started within the last hour, and the limits of both; with a flag,\n" +
			"it sets the limit first. What is above a limit does not start; servers that run stay. Servers of provider manual do not count.",
		Example: "  director pools limit\n  director pools limit --servers 200 --starts-per-hour 400\n  director pools limit --starts-per-hour none",
		Args:    cli.Exactly(0),
	}
	// Texts and not numbers: none is a value, and an empty flag keeps the limit.
	servers := cmd.Flags().String("servers", "",
		"The most servers that there may be, those included that end; none: no limit")
	starts := cmd.Flags().String("starts-per-hour", "",
		"The most servers that may start within an hour; none: no limit")
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, l operator, _ []string) error {
		// The only row: the limits are those of the installation, of all regions and pools together.
		now, err := opsview.PoolLimits.One(ctx, l.store.Pool(), opsview.Any{})
		if err != nil {
			return err
		}
		// What was read above may be old: of two operators who set different limits at the same moment, the later one
		// brings the former limit of the other back.
		// The function sets both limits, so that a flag that was not given passes the present one on.
		if *servers != "" || *starts != "" {
			if err := setLimit("servers", *servers, &now.MaxServers); err != nil {
				return err
			}
			if err := setLimit("starts-per-hour", *starts, &now.MaxStarts); err != nil {
				return err
			}
			if _, err := l.store.As("").LimitPools(ctx, now.MaxServers, now.MaxStarts); err != nil {
				return err
			}
		}
		// The limits as they are then. The numbers of servers and starts were read before the change, which does not
		// change them.
		return cli.Write(l.out, []opsview.PoolLimit{now},
			[]string{"servers", "max servers", "starts", "max starts"}, func(n opsview.PoolLimit) []any {
				return []any{n.Servers, limitText(n.MaxServers), n.Starts, limitText(n.MaxStarts)}
			})
	})
}

// setLimit reads a flag: a number, or none. An empty one keeps the limit.
func setLimit(flag, text string, to **int32) error {
	switch text {
	case "":
		return nil
	case "none":
		*to = nil
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return cli.Usage(fmt.Errorf("--%s %q must be a number, 0 or more, or none", flag, text))
	}
	limit := int32(n)
	*to = &limit
	return nil
}
