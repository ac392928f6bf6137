package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

func (p *program) cellsCommand() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "cells",
		Short: "List and set the other cells, which serve other regions",
		Long: "Commands for the other cells: installations of the same title, each with a Postgres and replicas of its own, that serve other regions.\n" +
			"Replicas here answer 421 with the address of the cell to callers that name one of its regions; a region of no cell is served here. Each\n" +
			"cell lists the others. The same in SQL: view ops.cells, functions ops.set_cell and ops.remove_cell. docs/how-to/cells.md says how.",
		Example: "  director cells list\n  director cells set us https://us.director.example --regions us-east,us-west --reason 'data stays in the US'",
	}, p.cellsList(), p.cellsSet(), p.cellsRemove())
}

func (p *program) cellsList() *cobra.Command {
	return p.onDatabase(&cobra.Command{
		Use:     "list",
		Short:   "List the other cells",
		Long:    "Lists the other cells with their regions and addresses. The same in SQL: view ops.cells.",
		Example: "  director cells list\n  director cells list -o json | jq -r '.[].address'",
		Args:    cli.Exactly(0),
	}, byOperator, func(ctx context.Context, op operator, _ []string) error {
		return printView(ctx, op, opsview.Cells, opsview.Any{}, opsview.Page{}, table[opsview.Cell]{
			titles: []string{"cell", "address", "regions", "listeners", "set", "by"},
			rowCells: func(c opsview.Cell) []any {
				var listeners []string
				for _, name := range slices.Sorted(maps.Keys(c.Listeners)) {
					listeners = append(listeners, name+"="+c.Listeners[name])
				}
				return []any{c.Cell, c.Address, c.Regions, listeners, c.SetAt, c.SetBy}
			},
		})
	})
}

func (p *program) cellsSet() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set CELL ADDRESS",
		Short: "Say which regions another cell serves, and where",
		Long: "Adds another cell, or changes one: all of it is replaced. ADDRESS is the base URL of its API, as players and game servers reach it. Within\n" +
			"two seconds replicas answer 421 with the address to callers that name one of its regions. A region is of one cell: naming it takes it\n" +
			"from another. A region that has game servers, tickets or sessions of the lobby here is refused, because they would be lost: drain it first.\n" +
			"The same in SQL: function ops.set_cell.",
		Example: "  director cells set us https://us.director.example --regions us-east,us-west --reason 'data stays in the US'\n" +
			"  director cells set us https://us.director.example --regions us-east --listener realtime=wss://lobby.us.example \\\n" +
			"    --listener console=https://console.us.example --reason 'its lobby and its console'",
		Args: cli.Exactly(2),
	}
	regions := cmd.Flags().StringSlice("regions", nil, "The regions that it serves")
	listeners := cmd.Flags().StringToString("listener", nil,
		"The address of another listener of it: realtime, control, orchestrator, console or grpc (host:port)")
	evenIfUsed := cmd.Flags().Bool("even-if-used", false,
		"Also give away a region that has game servers, tickets or sessions of the lobby here: they are lost")
	reason := requireReason(cmd, "", "Why, for the event")
	checkFirst(cmd, func([]string) error {
		// A cell without regions would have no effect; 'cells remove' is how one ends.
		if len(*regions) == 0 {
			return cli.Usage(errors.New("--regions is missing: name the regions that the cell serves"))
		}
		return nil
	})
	cmd.ValidArgsFunction = p.completeArgs(firstOnly(cellWords))
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, args []string) error {
		// One transaction: all regions change their cell, or none.
		cell := db.OtherCell{Name: args[0], APIAddress: args[1], ServedRegions: *regions, Listeners: *listeners,
			EvenIfUsed: *evenIfUsed}
		return op.changeEach("cell", args[:1], func(string) (bool, error) {
			// false: the cell has these regions and addresses already. Then the reason is not recorded either.
			return op.store.As("").Because(*reason).SetCell(ctx, cell)
		})
	})
}

func (p *program) cellsRemove() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove CELL",
		Short: "Forget another cell: its regions are served here from then on",
		Long: "Removes another cell, after a confirmation. Replicas here then serve its regions, as far as there are game servers.\n" +
			"The same in SQL: function ops.remove_cell.",
		Example: "  director cells remove us --reason 'it has been merged into this one'",
		Args:    cli.Exactly(1),
	}
	reason, yes := requireReason(cmd, "", "Why, for the event"), addYes(cmd)
	cmd.ValidArgsFunction = p.completeArgs(firstOnly(cellWords))
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, args []string) error {
		// All cells are read, since there are few.
		found, err := opsview.Cells.Read(ctx, op.store.Pool(), opsview.Any{}, opsview.Page{})
		if err != nil {
			return err
		}
		// Before the question: an unknown name has no regions to ask about.
		i := slices.IndexFunc(found, func(c opsview.Cell) bool { return c.Cell == args[0] })
		if i < 0 {
			return fmt.Errorf("there is no cell %q", args[0])
		}
		// The question names the regions, which the caller did not: what they have in the other cell is not here.
		if err := p.askConfirmation(*yes, fmt.Sprintf("This cell then serves %s.",
			strings.Join(found[i].Regions, ", "))); err != nil {
			return err
		}
		return op.changeEach("cell", args, func(name string) (bool, error) {
			return op.store.As("").Because(*reason).RemoveCell(ctx, name)
		})
	})
}
