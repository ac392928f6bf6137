package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
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
	var f opsview.DeploymentFilter
	p.addFilters(cmd, filterFlag{"region", &f.Region, "Only this region", deploymentWords("region")},
		filterFlag{"app", &f.App, "Only this app", deploymentWords("app")})
	cmd.Flags().StringVar(&f.Phase, "phase", "",
		"Only this phase: wanted, deploying, starting, ready, draining, failed or stopping")
	completeFixed(cmd, "phase", deploymentPhases)
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, _ []string) error {
		return printView(ctx, op, opsview.Deployments, f,
			opsview.Page{Order: opsview.DeploymentsOldestFirst, Limit: 10_000}, table[opsview.Deployment]{
				titles: []string{
					"region", "deployment", "app", "version", "provider", "phase", "desired", "sessions", "age",
					"endpoint", "location", "reason", "last error",
				},
				spareTitles: []string{"location", "provider", "desired", "endpoint", "last error", "region"},
				rowCells: func(d opsview.Deployment) []any {
					age := briefDuration(time.Duration(d.Age * float64(time.Second)).Round(time.Second))
					return []any{
						d.Region, d.Deployment, d.App, d.Version, d.Provider, d.Phase, d.Desired, d.OpenSessions, age,
						orBlank(d.Endpoint), orBlank(d.Location), orBlank(d.Reason), orBlank(d.LastError),
					}
				},
			})
	})
}

// deploymentPhases are offered in the order in which a deployment passes them.
var deploymentPhases = []string{"wanted", "deploying", "starting", "ready", "draining", "failed", "stopping"}

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
	// A malformed id is a usage error, and needs no database.
	id := parseFirst(cmd, parseDeploymentID)
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, _ []string) error {
		d, err := op.readDeployment(ctx, *id)
		if err != nil {
			return err
		}
		return writeDetails(op.out, d, deploymentDetails.writeText)
	})
}
