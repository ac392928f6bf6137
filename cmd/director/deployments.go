package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/cli"
)

func (p *program) deploymentsCommand() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "deployments",
		Short: "List, show, start and stop the game servers that providers run",
		Long: "Commands for deployments: game servers that providers run for the director, from the decision to start one until nothing of it\n" +
			"is left at its provider. 'director fleet' shows those that have registered. The same in SQL: view ops.deployments, function\n" +
			"ops.stop_deployment.",
		Example: "  director deployments list --region eu\n  director deployments show 01979f2e-7a36-7d44-8d7b-2d2c5f6f1a10\n" +
			"  director deployments stop 01979f2e-7a36-7d44-8d7b-2d2c5f6f1a10 --reason 'its match is stuck'",
	}, p.deploymentsList(), p.deploymentsShow(), p.deploymentsStart(), p.deploymentsStop(), p.deploymentsEnv(),
		p.deploymentsLog())
}

func (p *program) deploymentsList() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the deployments",
		Long:    "Lists the deployments that start, run or end, 10,000 at most. The view ops.deployment_outcomes counts those that are gone.",
		Example: "  director deployments list\n  director deployments list --phase failed -o json | jq -r '.[].last_error'",
		Args:    cli.Exactly(0),
	}
	region := cmd.Flags().String("region", "", "Only this region")
	app := cmd.Flags().String("app", "", "Only this app")
	phase := cmd.Flags().String("phase", "",
		"Only this phase: wanted, deploying, starting, ready, draining, failed or stopping")
	p.completeFlag(cmd, "region", deploymentWords("region"))
	p.completeFlag(cmd, "app", deploymentWords("app"))
	_ = cmd.RegisterFlagCompletionFunc("phase",
		cobra.FixedCompletions(deploymentPhases, cobra.ShellCompDirectiveNoFileComp))
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, l operator, _ []string) error {
		f := opsview.DeploymentFilter{Region: *region, App: *app, Phase: *phase}
		found, err := opsview.Deployments.Read(ctx, l.store.Pool(), f,
			opsview.Page{Order: opsview.OldestFirst, Limit: 10_000})
		if err != nil {
			return err
		}
		header := []string{
			"region", "deployment", "app", "version", "provider", "phase", "desired", "sessions", "age", "endpoint",
			"location", "reason",
			"last error",
		}
		out := l.out.Sparing("location", "provider", "desired", "endpoint", "last error", "region")
		return cli.Write(out, found, header, func(d opsview.Deployment) []any {
			age := briefDuration(time.Duration(d.Age * float64(time.Second)).Round(time.Second))
			return []any{
				d.Region, d.Deployment, d.App, d.Version, d.Provider, d.Phase, d.Desired, d.OpenSessions, age,
				orBlank(d.Endpoint),
				orBlank(d.Location), orBlank(d.Reason), orBlank(d.LastError),
			}
		})
	})
}

var deploymentPhases = []string{"wanted", "deploying", "starting", "ready", "draining", "failed", "stopping"}

func deploymentWords(column string) words {
	return wordsOf(opsview.Deployments, opsview.DeploymentFilter{}, column)
}

// happened is an event of a deployment's timeline.
type happened struct {
	At     time.Time       `json:"at"`
	Kind   string          `json:"kind"`
	Actor  string          `json:"actor"`
	Detail json.RawMessage `json:"detail"`
}

// deploymentDetails is the output of `deployments show`.
type deploymentDetails struct {
	Deployment *opsview.Deployment `json:"deployment"` // null: nothing of it is left
	Events     []happened          `json:"events"`
}

func (p *program) deploymentsShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show DEPLOYMENT",
		Short: "Show a deployment and what happened to it",
		Long: "Shows a deployment and its events, each with its author and details: wanted, registered, ready, failed, stopped, ended.\n" +
			"Of a deployment that is gone it shows the events of the last two days.",
		Example:           "  director deployments show 01979f2e-7a36-7d44-8d7b-2d2c5f6f1a10",
		Args:              cli.Exactly(1),
		ValidArgsFunction: p.completeArgs(firstOnly(deploymentWords("deployment"))),
	}
	id := parseFirst(cmd, parseDeployment)
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, l operator, _ []string) error {
		d, err := l.readDeployment(ctx, *id)
		if err != nil {
			return err
		}
		return writeDetails(l.out, d, deploymentDetails.writeText)
	})
}

func parseDeployment(arg string) (uuid.UUID, error) {
	id, err := uuid.Parse(arg)
	if err != nil {
		return id, cli.Usage(fmt.Errorf("%q is not the id of a deployment: it must be a UUID, as in 'director deployments list'", arg))
	}
	return id, nil
}

func (l operator) readDeployment(ctx context.Context, id uuid.UUID) (d deploymentDetails, err error) {
	found, err := opsview.Deployments.Read(ctx, l.store.Pool(), opsview.DeploymentFilter{ID: &id},
		opsview.Page{Limit: 1})
	if err != nil {
		return d, err
	}
	if err := l.store.ReadClock(ctx); err != nil {
		return d, err
	}
	since := l.store.Now().Add(-2 * 24 * time.Hour)
	if len(found) > 0 {
		d.Deployment, since = &found[0], found[0].CreatedAt
	}
	timeline := opsview.EventFilter{Instance: id.String(), Since: since}
	events, err := opsview.Events.Read(ctx, l.store.Pool(), timeline, opsview.Page{Order: opsview.ByTime, Limit: 1000})
	if err != nil {
		return d, err
	}
	d.Events = make([]happened, len(events))
	for i, e := range events {
		d.Events[i] = happened{e.At, e.Kind, e.Actor, e.Detail}
	}
	if len(found) == 0 && len(d.Events) == 0 {
		return d, fmt.Errorf("there is no deployment %s, and it had no events in the last two days", id)
	}
	return d, nil
}

func (d deploymentDetails) writeText(out cli.Output) error {
	if d.Deployment == nil {
		fmt.Fprintln(out.Writer, "The deployment is gone: nothing of it is left at its provider.")
	} else {
		for _, fact := range deploymentFacts(*d.Deployment) {
			fmt.Fprintf(out.Writer, "%-12s %s\n", fact[0], fact[1])
		}
	}
	fmt.Fprintln(out.Writer)
	var before *time.Time
	return cli.Write(out, d.Events, []string{"at", "after", "event", "by", "detail"}, func(e happened) []any {
		after := ""
		if before != nil {
			after = "+" + briefDuration(e.At.Sub(*before).Round(100*time.Millisecond))
		}
		before = &e.At
		return []any{e.At, after, e.Kind, e.Actor, string(e.Detail)}
	})
}

// deploymentFacts returns pairs of name and value, for people.
func deploymentFacts(d opsview.Deployment) [][2]string {
	all := [][2]string{
		{"deployment", d.Deployment.String()},
		{"of", d.Region + "/" + d.App + "/" + d.Version + " by " + d.Provider + ", started by " + startedBy(d.Origin)},
		{"phase", d.Phase + ", desired " + d.Desired},
		{"sessions", fmt.Sprintf("%d open, %d seats reserved", d.OpenSessions, d.ReservedSeats)},
	}
	for _, fact := range []struct {
		name  string
		value *string
	}{
		{"endpoint", d.Endpoint}, {"ref", d.Ref}, {"claimed ref", d.ClaimedRef}, {"location", d.Location},
		{"reason", d.Reason},
		{"last error", d.LastError}, {"refused", d.Refused},
	} {
		if fact.value != nil && *fact.value != "" {
			all = append(all, [2]string{fact.name, *fact.value})
		}
	}
	for _, fact := range []struct {
		name string
		at   *time.Time
	}{
		{"wanted", &d.CreatedAt}, {"asked", d.IntentAt}, {"started", d.ProviderReadyAt}, {"refused at", d.RefusedAt},
		{"registered", d.RegisteredAt}, {"ready", d.ReadyAt},
		{"lost", d.LostAt}, {"drains", d.DrainAt}, {"ends", d.EndsAt}, {"stopped", d.StopAt}, {"next step", d.NextAt},
	} {
		if fact.at != nil {
			all = append(all, [2]string{fact.name, readableTime(fact.at)})
		}
	}
	return all
}

func startedBy(origin string) string {
	if origin == provision.OriginPool {
		return "its pool"
	}
	return "an operator"
}
