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
	apiURL = "http://127.0.0.1:9090/api/v1/"
	// DirectorDown fires a minute after a process has frozen; scrapes and evaluations are five seconds apart.
	timeout = 2 * time.Minute
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
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
		return retry(ctx, func() error { return checkTargets(ctx, want) })
	case "panels":
		return retry(ctx, func() error { return checkPanels(ctx, args[1]) })
	case "alert":
		states := "pending|firing"
		if len(args) > 2 {
			states = args[2]
		}
		return retry(ctx, func() error { return checkAlert(ctx, args[1], states) })
	}
	return fmt.Errorf("unknown command %q", args[0])
}

// retry repeats a check each second until it succeeds. When ctx ends, it returns the last error that was not due to
// that.
func retry(ctx context.Context, check func() error) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var lastErr error
	for {
		err := check()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			lastErr = err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(lastErr, ctx.Err())
		}
	}
}

// get reads a path of Prometheus' API, and decodes the data of the answer.
func get(ctx context.Context, path string, query url.Values, data any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, apiURL+path+"?"+query.Encode(), nil)
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
	Value  [2]any // the time in seconds, and the value as a text
}

// query returns the series of an expression, which are none where nothing was scraped.
func query(ctx context.Context, expr string) ([]sample, error) {
	var data struct{ Result []sample }
	err := get(ctx, "query", url.Values{"query": {expr}}, &data)
	return data.Result, err
}

// checkTargets requires that so many processes are scraped and answer, and that the rules work.
func checkTargets(ctx context.Context, want int) error {
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
	return checkRules(ctx)
}

// checkRules requires that alerts are loaded, and that each was evaluated without an error.
func checkRules(ctx context.Context) error {
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	if err := get(ctx, "rules", nil, &data); err != nil {
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

// checkAlert requires that an alert is in one of the states, which are a regular expression.
func checkAlert(ctx context.Context, name, states string) error {
	found, err := query(ctx, fmt.Sprintf(`ALERTS{alertname=%q, alertstate=~%q}`, name, states))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("alert %s is not %s", name, states)
	}
	fmt.Fprintf(os.Stdout, "%s is %s\n", name, found[0].Metric["alertstate"])
	return nil
}

// checkPanels requires that each query of a dashboard finds samples. It runs them as Grafana does, over the last
// minute.
func checkPanels(ctx context.Context, file string) error {
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
	count := 0
	var empty []error // a query without samples each
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			found, err := query(ctx, variables.Replace(target.Expr))
			if err != nil {
				return fmt.Errorf("%s: %w", p.Title, err)
			}
			if len(found) == 0 {
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
