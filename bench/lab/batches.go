package lab

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/lattice-director/director/bench"
)

// metricOfGroups is the histogram of calls per batch (package server/telemetry).
const metricOfGroups = "director_group_calls"

// batches reads a replica's metrics. A process without the metric has no groups.
func batches(ctx context.Context, url string) (map[string]bench.Batches, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
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
		h := metric.GetHistogram()
		f := bench.Batches{Count: int64(h.GetSampleCount()), Calls: int64(h.GetSampleSum()),
			Buckets: map[float64]int64{}}
		for _, b := range h.GetBucket() {
			if !math.IsInf(b.GetUpperBound(), 1) {
				f.Buckets[b.GetUpperBound()] = int64(b.GetCumulativeCount())
			}
		}
		for _, label := range metric.GetLabel() {
			if label.GetName() == "group" {
				groups[label.GetValue()] = f
			}
		}
	}
	return groups, nil
}
