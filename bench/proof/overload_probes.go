package proof

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"
)

// probes are the times that a replica under load took to answer its health check and its JWKS.
type probes struct {
	took       map[string][]float64 // milliseconds, by path
	unanswered int                  // probes without an answer
}

const (
	probeInterval = 50 * time.Millisecond
	probeTimeout  = 5 * time.Second
	// maxProbe is in milliseconds: a quarter of the usual timeout of an orchestrator's health check, one second.
	maxProbe = 250
)

var probePaths = []string{"/healthz", "/.well-known/jwks.json"}

// beside probes the replica while do runs.
func (p *probes) beside(ctx context.Context, url string, do func() error) error {
	if p.took == nil {
		p.took = map[string][]float64{}
	}
	probing, stop := context.WithCancel(ctx)
	var prober sync.WaitGroup
	prober.Go(func() { p.loop(probing, url) })
	err := do()
	stop()
	prober.Wait()
	return err
}

func (p *probes) loop(ctx context.Context, url string) {
	client := &http.Client{Timeout: probeTimeout, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ticks := time.NewTicker(probeInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		for _, path := range probePaths {
			begun := time.Now()
			err := get(ctx, client, url+path)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				p.unanswered++
			default:
				p.took[path] = append(p.took[path], float64(time.Since(begun))/float64(time.Millisecond))
			}
		}
	}
}

func get(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func (p *probes) findings() (all []Finding) {
	for _, path := range probePaths {
		took := p.took[path]
		p99 := atMost("p99 of GET "+path+" during the overload", quantile(took, 0.99), maxProbe, millis)
		all = append(all, noted(p99, "p50 %s, %d times", measured(median(took), millis), len(took)))
	}
	return append(all, atMost("probes without an answer", float64(p.unanswered), 0, inFull))
}

// quantile returns the value that this share of the values does not exceed; NaN without values.
func quantile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return slices.Sorted(slices.Values(values))[int(share*float64(len(values)-1))]
}
