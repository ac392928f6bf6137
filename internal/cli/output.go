package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
)

// Output is the destination and format of data: a table for people, or JSON with stable fields for scripts.
type Output struct {
	Writer io.Writer
	JSON   bool

	notesWriter  io.Writer // for messages about the output, which are not part of it
	maxWidth     int       // the terminal's width in characters; 0: no limit
	spareColumns []string  // the columns that a table omits when it is too wide, in this order
}

// Sparing names the columns that a table omits when it is too wide for the terminal, in this order.
func (o Output) Sparing(titles ...string) Output {
	o.spareColumns = titles
	return o
}

const (
	outputFlag = "output"
	wideFlag   = "wide"
)

// AddOutput adds the flags --output, -o and --wide to a command.
func AddOutput(cmd *cobra.Command) {
	cmd.Flags().StringP(outputFlag, "o", "table", "The output format: table or json")
	_ = cmd.RegisterFlagCompletionFunc(outputFlag,
		cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().Bool(wideFlag, false, "Print every column of a table, even if the terminal is too narrow")
}

// OutputOf reads the flags of [AddOutput]. It returns a usage error for an unknown format.
func OutputOf(cmd *cobra.Command) (Output, error) {
	format, err := cmd.Flags().GetString(outputFlag)
	if err != nil {
		return Output{}, err
	}
	if !slices.Contains([]string{"table", "json"}, format) {
		return Output{}, Usage(fmt.Errorf("--output %q is not allowed: it must be table or json", format))
	}
	out := Output{Writer: cmd.OutOrStdout(), JSON: format == "json", notesWriter: cmd.ErrOrStderr()}
	if wide, _ := cmd.Flags().GetBool(wideFlag); !wide {
		out.maxWidth = terminalWidth(out.Writer)
	}
	return out, nil
}

// Write prints a list: as a JSON array of the items, never null, or as a table with a row of cells for each item.
func Write[T any](out Output, items []T, header []string, cells func(T) []any) error {
	if out.JSON {
		return WriteJSON(out.Writer, append([]T{}, items...))
	}
	rows := make([]table.Row, len(items))
	for i, item := range items {
		rows[i] = readableCells(cells(item))
	}
	return out.writeTable(header, rows)
}

// WriteJSON prints v as indented JSON.
func WriteJSON(to io.Writer, v any) error {
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// joinPairs formats a map as flags take it: key=value,key=value.
func joinPairs(m map[string]string) string {
	all := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, k+"="+m[k])
	}
	return strings.Join(all, ",")
}

// readableCells formats cells for people.
func readableCells(cells []any) table.Row {
	row := make(table.Row, len(cells))
	for i, cell := range cells {
		switch v := cell.(type) {
		case []string:
			row[i] = strings.Join(v, ",")
		case map[string]string:
			row[i] = joinPairs(v)
		case time.Time:
			row[i] = v.UTC().Format(time.RFC3339)
		// A time that has not come is an empty cell, not a date of the year 1.
		case *time.Time:
			row[i] = ""
			if v != nil {
				row[i] = v.UTC().Format(time.RFC3339)
			}
		case bool:
			row[i] = map[bool]string{true: "yes", false: "no"}[v]
		default:
			row[i] = cell
		}
	}
	return row
}

// writeTable prints a table. If it is too wide, it omits columns and says so. It does not truncate cells, because a
// truncated id could not be pasted into the next command.
func (o Output) writeTable(header []string, rows []table.Row) error {
	var omitted []string
	text := renderTable(header, rows, nil)
	// One column at a time, so that no more are omitted than necessary.
	for o.maxWidth > 0 && widestLine(text) > o.maxWidth && len(omitted) < len(o.spareColumns) {
		omitted = o.spareColumns[:len(omitted)+1]
		text = renderTable(header, rows, omitted)
	}
	if _, err := fmt.Fprintln(o.Writer, text); err != nil {
		return err
	}
	if len(omitted) > 0 {
		fmt.Fprintf(o.notesWriter, "(omitted, the terminal is too narrow: %s; --wide shows all)\n",
			strings.Join(omitted, ", "))
	}
	return nil
}
