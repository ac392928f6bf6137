package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

// nextMin says when the least number of servers of a pool changes.
func nextMin(p opsview.Pool) string {
	if p.NextMin == nil {
		return "no change is planned"
	}
	change := fmt.Sprintf("%d at %s", *p.NextMin, readableTime(p.NextMinAt))
	// Only a number that rises has a time at which its servers are ready.
	if p.NextMinReadyAt != nil {
		change = fmt.Sprintf("%d, ready at %s, started from %s", *p.NextMin, readableTime(p.NextMinReadyAt),
			readableTime(p.NextMinAt))
	}
	return change + ", by " + *p.NextMinCause
}

// scheduleFacts returns a line for each schedule, for people.
func scheduleFacts(schedules []opsview.PoolSchedule) (facts [][2]string) {
	for _, s := range schedules {
		line := fmt.Sprintf("%d servers, %s: %s", s.Min, s.Schedule, s.State)
		if s.StartsAt != nil {
			line += fmt.Sprintf(", %s to %s", readableTime(s.StartsAt), readableTime(s.EndsAt))
		}
		facts = append(facts, [2]string{"schedule", line})
	}
	return facts
}

// forecastAnswer is the output of `pools forecast`.
type forecastAnswer struct {
	Record opsview.ForecastError  `json:"record"` // of the last four weeks
	Hours  []opsview.ForecastHour `json:"hours"`  // from the present one on
}

func (p *program) poolsForecast() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "forecast REGION/APP/VERSION",
		Short: "Show how many servers players will need, and how good that forecast was",
		Long: "Shows the forecast of a pool for the coming hours: the median of the same hour of the last four weeks, of which two must be\n" +
			"known; the lowest and the highest of them; and the servers that the pool would have with its buffer. Before that, how far the\n" +
			"forecasts of the last four weeks were from what players needed. The forecast changes nothing until the pool's document says\n" +
			"'forecast: true'. The same in SQL: views ops.pool_forecast, which has the last week, too, and ops.pool_forecast_errors.",
		Example:           "  director pools forecast eu/arena/v7\n  director pools forecast eu/arena/v7 --hours 168 -o json",
		Args:              cli.Exactly(1),
		ValidArgsFunction: p.completePools(),
	}
	hours := cmd.Flags().Int("hours", 24, "How many hours, 1 to 168")
	pool := parseFirst(cmd, parsePool)
	requireBetween(cmd, "hours", hours, 1, opsview.PastForecastHours)
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, args []string) error {
		f := opsview.PoolFilter{Region: pool.Region, App: pool.App, Version: pool.Version}
		answer, err := readForecast(ctx, op, f, *hours)
		if err != nil {
			return err
		}
		if len(answer.Hours) == 0 {
			return fmt.Errorf("there is no pool %s; 'director pools list' lists them", args[0])
		}
		return writeDetails(op.out, answer, writeForecast)
	})
}

// readForecast reads the coming hours of a pool, and the record of its forecasts. No hours: there is no such pool.
func readForecast(ctx context.Context, op operator, f opsview.PoolFilter, hours int) (a forecastAnswer, err error) {
	// Every pool has a row here, also one without a known hour: no row is no pool.
	records, err := opsview.ForecastErrors.Read(ctx, op.store.Pool(), f, opsview.Page{Limit: 1})
	if err != nil || len(records) == 0 {
		return a, err
	}
	a.Record = records[0]
	a.Hours, err = opsview.Forecasts.Read(ctx, op.store.Pool(), f,
		opsview.Page{Skip: opsview.PastForecastHours, Limit: hours}) // the view begins with the past week
	return a, err
}

// writeForecast prints how good the forecast was before the forecast itself.
func writeForecast(a forecastAnswer, out cli.Output) error {
	writeFacts(out, [][2]string{{"forecast", forecastState(a.Record.Forecast)}, {"record", recordText(a.Record)}})
	fmt.Fprintln(out.Writer)
	return cli.Write(out, a.Hours, []string{"hour", "expected", "low", "high", "with buffer", "weeks"},
		func(h opsview.ForecastHour) []any {
			return []any{h.Hour.UTC().Format(time.RFC3339), countText(h.Expected), countText(h.Low), countText(h.High),
				countText(h.Servers), h.Weeks}
		})
}

// recordText says how good the forecasts were, for people.
func recordText(e opsview.ForecastError) string {
	switch {
	case e.KnownSince == nil:
		return "no hour is known yet: a worker that plans the pool notes each hour"
	case e.Hours == 0:
		return "no forecast could be compared yet: hours are known since " + readableTime(e.KnownSince) +
			", and a forecast needs two weeks"
	}
	return fmt.Sprintf("of %d hours of the last four weeks: wrong by %.1f servers of %.1f in the mean; too low in %d hours, by %d servers at worst",
		e.Hours, *e.MeanError, *e.MeanUsed, e.ShortHours, *e.WorstShort)
}
