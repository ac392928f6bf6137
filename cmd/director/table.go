package main

import (
	"context"
	"fmt"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

// table is how rows are printed for people. As JSON they are printed as they are.
type table[T any] struct {
	titles      []string
	spareTitles []string // a narrow terminal gets the table without these columns, the first of them first
	rowCells    func(T) []any
}

func (t table[T]) write(out cli.Output, rows []T) error {
	return cli.Write(out.Sparing(t.spareTitles...), rows, t.titles, t.rowCells)
}

// printView reads a page of a view and prints it.
func printView[T any, F opsview.Filter](ctx context.Context, op operator, v opsview.View[T, F], f F, page opsview.Page,
	t table[T]) error {
	found, err := v.Read(ctx, op.store.Pool(), f, page)
	if err != nil {
		return err
	}
	return t.write(op.out, found)
}

// writeBelow prints a table after an empty line, below what was printed before. Without rows it prints nothing.
func (t table[T]) writeBelow(out cli.Output, rows []T) error {
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(out.Writer)
	return t.write(out, rows)
}

// writeFacts prints pairs of a name and its value below each other, the values in a column.
func writeFacts(out cli.Output, facts [][2]string) {
	widest := 0
	for _, fact := range facts {
		widest = max(widest, len(fact[0]))
	}
	for _, fact := range facts {
		fmt.Fprintf(out.Writer, "%-*s  %s\n", widest, fact[0], fact[1])
	}
}

// writeFields prints one thing as a table of its fields and their values.
func writeFields(out cli.Output, lines [][2]any) error {
	return cli.Write(out, lines, []string{"field", "value"}, func(line [2]any) []any { return line[:] })
}
