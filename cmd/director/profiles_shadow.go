package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

// shadowLine is a row of ops.shadow_quality for both sides.
type shadowLine struct {
	Measure       string   `json:"measure"`
	LiveVersion   int      `json:"live_version"`
	ShadowVersion int      `json:"shadow_version"`
	Live          *measure `json:"live"`   // null: no match has this measure
	Shadow        *measure `json:"shadow"` // as well
}

// measure is how one side's matches were by a rule, over its latest 10,000.
type measure struct {
	Matches int64   `json:"matches"`
	Mean    float64 `json:"mean"`
	P50     float64 `json:"p50"`
	P90     float64 `json:"p90"`
}

// showShadow prints the comparison of a profile's shadow with the live version.
func (p *program) showShadow(cmd *cobra.Command, arg string) error {
	named, err := parseVersion(arg)
	if err != nil {
		return err
	}
	return p.withDatabase(cmd, byProfile, func(ctx context.Context, l operator) error {
		// 0: the live one, which names its shadow.
		v, err := l.store.Profile(ctx, l.conf.config.Server.Universe, named.name, 0)
		if err != nil {
			return refusalText(err)
		}
		// Its numbers are deleted with a shadow: there is nothing to show.
		if v.Shadow == 0 {
			return fmt.Errorf("profile %s has no shadow: 'director profiles shadow %s@VERSION' begins one", named.name,
				named.name)
		}
		f := opsview.MinuteFilter{Universe: l.conf.config.Server.Universe, Profile: named.name}
		found, err := opsview.ShadowQualities.Read(ctx, l.store.Pool(), f, opsview.Page{})
		if err != nil {
			return err
		}
		// An empty table would look like an error.
		if len(found) == 0 && !l.out.JSON {
			fmt.Fprintf(p.stderr, "neither version %d nor its shadow, version %d, has decided a match since the shadow began\n", v.LiveVersion, v.Shadow)
		}
		header := []string{"measure", fmt.Sprintf("live @%d", v.LiveVersion), "mean", "p50", "p90",
			fmt.Sprintf("shadow @%d", v.Shadow), "mean", "p50", "p90"}
		return cli.Write(l.out, shadowLines(found, v.LiveVersion, v.Shadow), header, func(s shadowLine) []any {
			// In the order of the header, in which both sides have columns of the same names.
			return append(append([]any{s.Measure}, s.Live.tableCells()...), s.Shadow.tableCells()...)
		})
	})
}

// shadowLines puts both sides of a measure into a line. The rows are sorted by measure.
func shadowLines(found []opsview.ShadowQuality, live, shadow int) (lines []shadowLine) {
	for _, r := range found {
		if len(lines) == 0 || lines[len(lines)-1].Measure != r.Measure {
			lines = append(lines, shadowLine{Measure: r.Measure, LiveVersion: live, ShadowVersion: shadow})
		}
		m := &measure{r.Matches, r.Mean, r.P50, r.P90}
		if r.Side == "live" {
			lines[len(lines)-1].Live = m
		} else {
			lines[len(lines)-1].Shadow = m
		}
	}
	return lines
}

// tableCells are four blanks for nil: a side that has not decided a match with this measure.
func (m *measure) tableCells() []any {
	if m == nil {
		return []any{"", "", "", ""}
	}
	number := func(x float64) string { return fmt.Sprintf("%.4g", x) }
	return []any{m.Matches, number(m.Mean), number(m.P50), number(m.P90)}
}
