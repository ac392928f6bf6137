// Command prometheus asks the Prometheus of compose.yaml, for ops/compose-check.sh:
//
//	prometheus targets 3              wait until 3 processes are scraped, all of them with success, and no rule fails
//	prometheus panels FILE            wait until every query of a dashboard finds samples
//	prometheus alert NAME [firing]    wait until an alert is pending, or firing
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	address = "http://127.0.0.1:9090/api/v1/"
	// DirectorDown fires a minute after a process has frozen; scrapes and evaluations are five seconds apart.
	patience = 2 * time.Minute
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	err := run(ctx, os.Args[1:])
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "prometheus:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) < 2 {
		return errors.New("say targets NUMBER, panels FILE or alert NAME [firing]")
	}
	switch args[0] {
	case "targets":
		want, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return wait(ctx, func() error { return targets(ctx, want) })
	case "panels":
		return wait(ctx, func() error { return panels(ctx, args[1]) })
	case "alert":
		return wait(ctx, func() error { return alert(ctx, args[1], args[2:]) })
	}
	return fmt.Errorf("unknown command %q", args[0])
}

// wait repeats a check each second until it succeeds, and returns its last error when ctx ends.
func wait(ctx context.Context, check func() error) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var last error
	for {
		err := check()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(last, ctx.Err())
		}
	}
}

// call decodes the data of an answer of Prometheus' API.
func call(ctx context.Context, path string, query url.Values, data any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+path+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", query.Get("query"), answer.Error)
	}
	return nil
}

// sample is one series of an answer, with its value now.
type sample struct {
	Metric map[string]string
	Value  [2]any
}

func query(ctx context.Context, expr string) ([]sample, error) {
	var data struct{ Result []sample }
	err := call(ctx, "query", url.Values{"query": {expr}}, &data)
	return data.Result, err
}

func targets(ctx context.Context, want int) error {
	up, err := query(ctx, `up{job="director"}`)
	if err != nil {
		return err
	}
	if len(up) != want {
		return fmt.Errorf("%d processes are scraped, not %d", len(up), want)
	}
	for _, s := range up {
		if s.Value[1] != "1" {
			return fmt.Errorf("%s does not answer", s.Metric["instance"])
		}
	}
	fmt.Fprintf(os.Stdout, "scrapes %d processes\n", want)
	return rules(ctx)
}

// rules requires that alerts are loaded, and that each was evaluated without an error.
func rules(ctx context.Context) error {
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	if err := call(ctx, "rules", nil, &data); err != nil {
		return err
	}
	count := 0
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			if r.Health != "ok" {
				return fmt.Errorf("alert %s: %s %s", r.Name, r.Health, r.LastError)
			}
			count++
		}
	}
	if count == 0 {
		return errors.New("no alerts are loaded")
	}
	fmt.Fprintf(os.Stdout, "evaluates %d alerts\n", count)
	return nil
}

func alert(ctx context.Context, name string, states []string) error {
	state := strings.Join(states, "")
	if state == "" {
		state = "pending|firing"
	}
	found, err := query(ctx, fmt.Sprintf(`ALERTS{alertname=%q, alertstate=~%q}`, name, state))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("alert %s is not %s", name, state)
	}
	fmt.Fprintf(os.Stdout, "%s is %s\n", name, found[0].Metric["alertstate"])
	return nil
}

// panels runs the queries of a dashboard as Grafana does, over the last minute.
func panels(ctx context.Context, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		return err
	}
	variables := strings.NewReplacer("$job", "director", "$__rate_interval", "1m")
	count, empty := 0, []error(nil)
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			found, err := query(ctx, variables.Replace(target.Expr))
			switch {
			case err != nil:
				return fmt.Errorf("%s: %w", p.Title, err)
			case len(found) == 0:
				empty = append(empty, fmt.Errorf("%s: no samples: %s", p.Title, target.Expr))
			}
			count++
		}
	}
	if len(empty) > 0 {
		return errors.Join(empty...)
	}
	fmt.Fprintf(os.Stdout, "%d queries find samples\n", count)
	return nil
}
