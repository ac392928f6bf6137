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

	"github.com/lattice-director/director/bench/report"
)

// pulse is how long a replica took to say that it lives, and which keys sign, while it had other things to do.
type pulse struct {
	took   map[string][]float64 // milliseconds, by path
	silent int                  // how often it did not answer
}

const (
	pulseEvery    = 50 * time.Millisecond
	pulsePatience = 5 * time.Second
	// mostPulse is in milliseconds: a quarter of the second after which an orchestrator that asks for health gives up.
	mostPulse = 250
)

var pulsePaths = []string{"/healthz", "/.well-known/jwks.json"}

// beside feels the pulse while something is done.
func (p *pulse) beside(ctx context.Context, url string, do func() error) error {
	if p.took == nil {
		p.took = map[string][]float64{}
	}
	feeling, stop := context.WithCancel(ctx)
	var feeler sync.WaitGroup
	feeler.Go(func() { p.feel(feeling, url) })
	err := do()
	stop()
	feeler.Wait()
	return err
}

func (p *pulse) feel(ctx context.Context, url string) {
	client := &http.Client{Timeout: pulsePatience, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ticks := time.NewTicker(pulseEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		for _, path := range pulsePaths {
			begun := time.Now()
			err := get(ctx, client, url+path)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				p.silent++
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

func (p *pulse) findings() (all []report.Finding) {
	for _, path := range pulsePaths {
		took := p.took[path]
		all = append(all, noted(atMost("p99 of GET "+path+" meanwhile", quantile(took, 0.99), mostPulse, millis), "p50 %s, %d times", measured(median(took), millis), len(took)))
	}
	return append(all, atMost("times that neither was answered", float64(p.silent), 0, report.Whole))
}

// quantile is what that share of the values is not beyond; not a number where there are none.
func quantile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return slices.Sorted(slices.Values(values))[int(share*float64(len(values)-1))]
}
