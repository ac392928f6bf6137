package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
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
	var setServers, setStarts *db.Limit // nil: stays
	checkFirst(cmd, func([]string) (err error) {
		if setServers, err = parseLimit("servers", *servers); err != nil {
			return err
		}
		setStarts, err = parseLimit("starts-per-hour", *starts)
		return err
	})
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, _ []string) error {
		if setServers != nil || setStarts != nil {
			if _, err := op.store.As("").LimitPools(ctx, setServers, setStarts); err != nil {
				return err
			}
		}
		// The only row: the limits are those of the installation, of all regions and pools together.
		now, err := opsview.PoolLimits.One(ctx, op.store.Pool(), opsview.Any{})
		if err != nil {
			return err
		}
		return cli.Write(op.out, []opsview.PoolLimit{now},
			[]string{"servers", "max servers", "starts", "max starts"}, func(n opsview.PoolLimit) []any {
				return []any{n.Servers, limitText(n.MaxServers), n.Starts, limitText(n.MaxStarts)}
			})
	})
}

// parseLimit reads a flag: a number, or none. An empty one keeps the limit.
func parseLimit(flag, text string) (*db.Limit, error) {
	switch text {
	case "":
		return nil, nil //nolint:nilnil // the limit stays
	case "none":
		return &db.Limit{}, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return nil, cli.Usage(fmt.Errorf("--%s %q must be a number, 0 or more, or none", flag, text))
	}
	return &db.Limit{Count: new(int32(n))}, nil
}
