package console

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/opsview"
)

// poolView is what templates/pool.html reads.
type poolView struct {
	Pool      opsview.Pool
	Schedules []opsview.PoolSchedule // at most 200
	Record    opsview.ForecastError  // how wrong past forecasts were
	Past      plotData               // of the last week: what was forecast, and what players needed
	Coming    []opsview.ForecastHour // the next day
}

// forecastHours are the hours of the next day that the page lists.
const forecastHours = 24

// poolPage shows a pool with its schedules, its forecast, and how good past forecasts were.
var poolPage = page[poolView]{routePath: "/pools/:region/:app/:version", templateName: "pool",
	readEvery: 5 * time.Second, loadData: loadPool}

// loadPool reads the page of a pool. Errors: NotFound.
func loadPool(ctx context.Context, s Store, q query) (v poolView, err error) {
	if v.Pool, err = poolOf(ctx, s, q); err != nil {
		return v, err
	}
	f := opsview.PoolFilter{Region: v.Pool.Region, App: v.Pool.App, Version: v.Pool.Version}
	if v.Schedules, _, err = listView(ctx, s, opsview.PoolSchedules, f, opsview.Page{Limit: maxPools}); err != nil {
		return v, err
	}
	if v.Record, err = readRow(ctx, s, opsview.ForecastErrors, f, "pool_unknown", "there is no such pool"); err != nil {
		return v, err
	}
	hours, _, err := listView(ctx, s, opsview.Forecasts, f, opsview.Page{Limit: opsview.MaxPage})
	if err != nil {
		return v, err
	}
	past := min(opsview.PastForecastHours+1, len(hours)) // the present hour is in the plot, with what it has so far
	v.Past, v.Coming = forecastPlot(hours[:past]), hours[past:min(past+forecastHours, len(hours))]
	return v, nil
}

// forecastPlot is the plot of hours that have passed.
func forecastPlot(hours []opsview.ForecastHour) plotData {
	expected, used := series{Name: "forecast"}, series{Name: "needed by players"}
	for _, h := range hours {
		expected.Values = append(expected.Values, countOrGap(h.Expected))
		used.Values = append(used.Values, countOrGap(h.Used))
	}
	p := plotData{Title: "Servers in the last seven days, highest of each hour", Step: time.Hour,
		Lines: []series{used, expected}}
	if len(hours) > 0 {
		p.From, p.Until = hours[0].Hour, hours[len(hours)-1].Hour
	}
	return p
}

// countOrGap is a number as a value of a plot, where a value below zero is a gap; nil: it is not known.
func countOrGap(n *int32) float64 {
	if n == nil {
		return -1
	}
	return float64(*n)
}

// poolOf returns the pool that a path names. Errors: NotFound.
func poolOf(ctx context.Context, s Store, q query) (opsview.Pool, error) {
	f := opsview.PoolFilter{Region: q.Param("region"), App: q.Param("app"), Version: q.Param("version")}
	return readRow(ctx, s, opsview.Pools, f, "pool_unknown", "there is no such pool")
}
