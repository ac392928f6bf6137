package lab

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/lattice-director/director/bench"
)

// Read implements [bench.Meter] with the costs of the replicas and the worker. Without /proc the CPU of director and
// Postgres, and memory, are 0.
func (l *Lab) Read(ctx context.Context) (bench.Reading, error) {
	director := l.Replicas
	if l.options.Worker {
		director = append(slices.Clone(l.Replicas), l.Worker)
	}
	return meter{l, director}.Read(ctx)
}

// Meter returns a meter of other processes of the lab.
func (l *Lab) Meter(processes ...*Process) bench.Meter { return meter{l, processes} }

// meter reads the database of a lab, and some of its processes.
type meter struct {
	lab       *Lab
	processes []*Process
}

// Read implements [bench.Meter].
func (m meter) Read(ctx context.Context) (bench.Reading, error) {
	total, err := m.lab.database.Read(ctx)
	if err != nil {
		return total, err
	}
	if total.PostgresCPU, err = familyCPU(m.lab.Postgres.PID()); err != nil {
		return total, err
	}
	each := make([]bench.Reading, len(m.processes))
	err = bench.Concurrently(ctx, len(each), 0, func(ctx context.Context, i int) (err error) {
		p := m.processes[i]
		if each[i].ServerCPU, each[i].ServerRSS, err = usage(p.Handle.PID()); err != nil {
			return err
		}
		each[i].Batches, err = batchesOf(ctx, p.metricsURL())
		return err
	})
	for _, r := range each { // memory is that of the largest: sums would hide a replica that grows
		total = total.Plus(r, 1)
		total.ServerRSS = max(total.ServerRSS, r.ServerRSS)
	}
	return total, err
}

// metricOfGroups is the histogram of calls per batch (package server/telemetry).
const metricOfGroups = "director_group_calls"

// batchesOf reads a process's metrics. A process without the metric has no groups.
func batchesOf(ctx context.Context, url string) (map[string]bench.Batches, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	// The page of an error would read as a process without groups.
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return parseBatches(resp.Body)
}

// parseBatches reads the text format of Prometheus.
func parseBatches(text io.Reader) (map[string]bench.Batches, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return nil, err
	}
	groups := map[string]bench.Batches{}
	for _, metric := range families[metricOfGroups].GetMetric() {
		for _, label := range metric.GetLabel() {
			if h := metric.GetHistogram(); label.GetName() == "group" {
				groups[label.GetValue()] = bench.Batches{Count: float64(h.GetSampleCount()), Calls: h.GetSampleSum()}
			}
		}
	}
	return groups, nil
}
