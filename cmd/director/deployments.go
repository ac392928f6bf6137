package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/cli"
)

func (p *program) deployments() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "deployments",
		Short: "List, show, start and stop the game servers that providers run",
		Long: "Commands for deployments: game servers that providers run for the director, from the decision to start one until nothing of it\n" +
			"is left at its provider. 'director fleet' shows those that have registered. The same in SQL: view ops.deployments, function\n" +
			"ops.stop_deployment.",
		Example: "  director deployments list --region eu\n  director deployments show 01979f2e-7a36-7d44-8d7b-2d2c5f6f1a10\n" +
			"  director deployments stop 01979f2e-7a36-7d44-8d7b-2d2c5f6f1a10 --reason 'its match is stuck'",
	}, p.deploymentsList(), p.deploymentsShow(), p.deploymentsStart(), p.deploymentsStop(), p.deploymentsEnv(), p.deploymentsLog())
}

// deploymentLine is a row of ops.deployments.
type deploymentLine struct {
	Region          string     `json:"region"`
	Deployment      uuid.UUID  `json:"deployment"`
	App             string     `json:"app"`
	Version         string     `json:"version"`
	Provider        string     `json:"provider"`
	Phase           string     `json:"phase"`
	Desired         string     `json:"desired"`
	Origin          string     `json:"origin"`
	Ref             *string    `json:"ref"`
	ClaimedRef      *string    `json:"claimed_ref"` // that its server named when it registered
	Location        *string    `json:"location"`
	Endpoint        *string    `json:"endpoint"`
	OpenSessions    int        `json:"open_sessions"`
	ReservedSeats   int        `json:"reserved_seats"`
	Age             float64    `json:"age"` // seconds
	Attempts        int        `json:"attempts"`
	CreatedAt       time.Time  `json:"created_at"`
	IntentAt        *time.Time `json:"intent_at"`
	ProviderReadyAt *time.Time `json:"provider_ready_at"`
	RegisteredAt    *time.Time `json:"registered_at"`
	ReadyAt         *time.Time `json:"ready_at"`
	LostAt          *time.Time `json:"lost_at"`
	DrainAt         *time.Time `json:"drain_at"`
	EndsAt          *time.Time `json:"ends_at"`
	StopAt          *time.Time `json:"stop_at"`
	NextAt          *time.Time `json:"next_at"`
	Reason          *string    `json:"reason"`
	LastError       *string    `json:"last_error"`
	Refused         *string    `json:"refused"` // why its server's registration was refused
	RefusedAt       *time.Time `json:"refused_at"`
}

const selectDeployments = `SELECT region, deployment, app, version, provider, phase, desired, origin, ref, claimed_ref, location, endpoint, open_sessions, reserved_seats,
    extract(epoch FROM age)::float8 AS age, attempts, created_at, intent_at, provider_ready_at, registered_at, ready_at, lost_at, drain_at, ends_at, stop_at,
    next_at, reason, last_error, refused, refused_at
FROM ops.deployments WHERE ($1 = '' OR region = $1) AND ($2 = '' OR app = $2) AND ($3 = '' OR phase = $3) AND ($4::uuid IS NULL OR deployment = $4)
ORDER BY region, created_at, deployment LIMIT 10000`

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
	phase := cmd.Flags().String("phase", "", "Only this phase: wanted, deploying, starting, ready, draining, failed or stopping")
	p.completeFlag(cmd, "region", "SELECT region FROM ops.deployments")
	p.completeFlag(cmd, "app", "SELECT app FROM ops.deployments")
	p.completeFlag(cmd, "phase", "SELECT unnest('{wanted,deploying,starting,ready,draining,failed,stopping}'::text[])")
	addFlags(cmd.Flags(), byOperator)
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.withDatabase(cmd, byOperator, func(ctx context.Context, l operator) error {
			found, err := rows[deploymentLine](ctx, l.Store, selectDeployments, *region, *app, *phase, nil)
			if err != nil {
				return err
			}
			header := []string{"region", "deployment", "app", "version", "provider", "phase", "desired", "sessions", "age", "endpoint", "location", "reason", "last error"}
			out := l.out.Sparing("location", "provider", "desired", "endpoint", "last error", "region")
			return cli.Write(out, found, header, func(d deploymentLine) []any {
				return []any{
					d.Region, d.Deployment, d.App, d.Version, d.Provider, d.Phase, d.Desired, d.OpenSessions,
					brief(time.Duration(d.Age * float64(time.Second)).Round(time.Second)), orBlank(d.Endpoint), orBlank(d.Location), orBlank(d.Reason), orBlank(d.LastError),
				}
			})
		})
	}
	return cmd
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
	Deployment *deploymentLine `json:"deployment"` // null: nothing of it is left
	Events     []happened      `json:"events"`
}

const selectTimeline = `SELECT at, kind, actor, detail FROM ops.events WHERE instance = $1 AND at >= coalesce($2, now() - interval '2 days') ORDER BY at LIMIT 1000`

func (p *program) deploymentsShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show DEPLOYMENT",
		Short: "Show a deployment and what happened to it",
		Long: "Shows a deployment and its events, each with its author and details: wanted, registered, ready, failed, stopped, ended.\n" +
			"Of a deployment that is gone it shows the events of the last two days.",
		Example: "  director deployments show 01979f2e-7a36-7d44-8d7b-2d2c5f6f1a10",
		Args:    cli.Exactly(1),
		ValidArgsFunction: p.completeArgs("SELECT deployment::text FROM ops.deployments WHERE starts_with(deployment::text, $1) AND cardinality($2::text[]) = 0 " +
			"ORDER BY deployment LIMIT 100"),
	}
	addFlags(cmd.Flags(), byOperator)
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := parseDeployment(args[0])
		if err != nil {
			return err
		}
		return p.withDatabase(cmd, byOperator, func(ctx context.Context, l operator) error {
			d, err := l.deployment(ctx, id)
			if err != nil {
				return err
			}
			if l.out.JSON {
				return cli.WriteJSON(l.out.Writer, d)
			}
			return d.write(l.out)
		})
	}
	return cmd
}

func parseDeployment(arg string) (uuid.UUID, error) {
	id, err := uuid.Parse(arg)
	if err != nil {
		return id, cli.Usage(fmt.Errorf("%q is not the id of a deployment: it must be a UUID, as in 'director deployments list'", arg))
	}
	return id, nil
}

func (l operator) deployment(ctx context.Context, id uuid.UUID) (d deploymentDetails, err error) {
	found, err := rows[deploymentLine](ctx, l.Store, selectDeployments, "", "", "", id)
	if err != nil {
		return d, err
	}
	var since *time.Time
	if len(found) > 0 {
		d.Deployment, since = &found[0], &found[0].CreatedAt
	}
	if d.Events, err = rows[happened](ctx, l.Store, selectTimeline, id.String(), since); err != nil {
		return d, err
	}
	if len(found) == 0 && len(d.Events) == 0 {
		return d, fmt.Errorf("there is no deployment %s, and it had no events in the last two days", id)
	}
	return d, nil
}

func (d deploymentDetails) write(out cli.Output) error {
	if d.Deployment == nil {
		fmt.Fprintln(out.Writer, "The deployment is gone: nothing of it is left at its provider.")
	} else {
		for _, fact := range d.Deployment.facts() {
			fmt.Fprintf(out.Writer, "%-12s %s\n", fact[0], fact[1])
		}
	}
	fmt.Fprintln(out.Writer)
	var before *time.Time
	return cli.Write(out, d.Events, []string{"at", "after", "event", "by", "detail"}, func(e happened) []any {
		after := ""
		if before != nil {
			after = "+" + brief(e.At.Sub(*before).Round(100*time.Millisecond))
		}
		before = &e.At
		return []any{e.At, after, e.Kind, e.Actor, string(e.Detail)}
	})
}

// facts returns pairs of name and value, for people.
func (l deploymentLine) facts() [][2]string {
	all := [][2]string{
		{"deployment", l.Deployment.String()}, {"of", l.Region + "/" + l.App + "/" + l.Version + " by " + l.Provider + ", started by " + startedBy(l.Origin)},
		{"phase", l.Phase + ", desired " + l.Desired}, {"sessions", fmt.Sprintf("%d open, %d seats reserved", l.OpenSessions, l.ReservedSeats)},
	}
	for _, fact := range []struct {
		name  string
		value *string
	}{
		{"endpoint", l.Endpoint}, {"ref", l.Ref}, {"claimed ref", l.ClaimedRef}, {"location", l.Location}, {"reason", l.Reason},
		{"last error", l.LastError}, {"refused", l.Refused},
	} {
		if fact.value != nil && *fact.value != "" {
			all = append(all, [2]string{fact.name, *fact.value})
		}
	}
	for _, fact := range []struct {
		name string
		at   *time.Time
	}{
		{"wanted", &l.CreatedAt}, {"asked", l.IntentAt}, {"started", l.ProviderReadyAt}, {"refused at", l.RefusedAt}, {"registered", l.RegisteredAt}, {"ready", l.ReadyAt},
		{"lost", l.LostAt}, {"drains", l.DrainAt}, {"ends", l.EndsAt}, {"stopped", l.StopAt}, {"next step", l.NextAt},
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
