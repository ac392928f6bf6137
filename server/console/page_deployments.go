package console

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
)

// deploymentsView is what templates/deployments.html reads.
type deploymentsView struct {
	Pools       []opsview.Pool         // at most 200
	MorePools   bool                   // further pools exist
	Providers   []opsview.Budget       // at most 200
	Outcomes    []db.DeploymentOutcome // most servers first, at most 200
	Deployments []opsview.Deployment
	Next        string
	Filtered    bool
}

// maxPools bounds the pools of a page, the budgets of providers, and the schedules of a pool.
const maxPools = 200

// deploymentsPage shows pools, the budgets of providers, why servers ended, and the deployments that a filter selects.
var deploymentsPage = page[deploymentsView]{routePath: "/deployments", templateName: "deployments",
	readEvery: 3 * time.Second,
	loadData:  loadDeployments}

func loadDeployments(ctx context.Context, s Store, q query) (v deploymentsView, err error) {
	if v.Pools, v.MorePools, err = listView(ctx, s, opsview.Pools, opsview.PoolFilter{},
		opsview.Page{Limit: maxPools}); err != nil {
		return v, err
	}
	if v.Providers, _, err = listView(ctx, s, opsview.Budgets, opsview.Any{},
		opsview.Page{Limit: maxPools}); err != nil {
		return v, err
	}
	if v.Outcomes, err = s.DeploymentOutcomes(ctx); err != nil {
		return v, err
	}
	f := opsview.DeploymentFilter{Region: q.Get("region"), App: q.Get("app"), Phase: q.Get("phase")}
	v.Filtered = f.Region+f.App+f.Phase != ""
	found, more, err := listView(ctx, s, opsview.Deployments, f, q.pageAfterID())
	v.Deployments = found
	if more {
		last := found[len(found)-1]
		v.Next = q.Next(last.Region, last.Deployment.String())
	}
	return v, err
}

// deploymentView is what templates/deployment.html reads.
type deploymentView struct {
	Deployment opsview.Deployment
	Steps      []deploymentStep
	Events     []opsview.Event
}

// deploymentStep is something that happens to a deployment, in the past or in the future.
type deploymentStep struct {
	Name      string
	HappensAt *time.Time // nil: it has not happened, and is not planned
}

// deploymentPage shows a deployment with its steps and events.
var deploymentPage = page[deploymentView]{routePath: "/deployments/:id", templateName: "deployment",
	readEvery: 3 * time.Second,
	loadData:  loadDeployment}

// loadDeployment reads the page of a deployment. Errors: Invalid, for an id that is no UUID; NotFound.
func loadDeployment(ctx context.Context, s Store, q query) (v deploymentView, err error) {
	id, err := idParam(q, "deployment")
	if err != nil {
		return v, err
	}
	if v.Deployment, err = deploymentOf(ctx, s, id); err != nil {
		return v, err
	}
	v.Steps = stepsOf(v.Deployment)
	v.Events, err = eventsOf(ctx, s, id.String())
	return v, err
}

// deploymentOf returns the deployment with an id. Errors: NotFound.
func deploymentOf(ctx context.Context, s Store, id uuid.UUID) (opsview.Deployment, error) {
	return readRow(ctx, s, opsview.Deployments, opsview.DeploymentFilter{ID: &id},
		"deployment_unknown", "no deployment %s: those that are gone are in the log of events", id)
}

// stepsOf returns the steps of a deployment, in the order in which most deployments take them.
func stepsOf(d opsview.Deployment) []deploymentStep {
	return []deploymentStep{
		{"Decided to start it", &d.CreatedAt}, {"Called the provider last", d.IntentAt},
		{"Ready at the provider", d.ProviderReadyAt},
		{"Game server registered", d.RegisteredAt}, {"Ready for players", d.ReadyAt},
		{"Lease of its game server expired", d.LostAt},
		{"Gets no more players", d.DrainAt}, {"Its lifetime ends", d.EndsAt}, {"Decided to end it", d.StopAt},
		{"Next step of a worker", d.NextAt},
	}
}

// stopAction lets the provider end a server now, with its sessions.
var stopAction = action{
	routePath: "/deployments/:id/stop",
	askFirst: func(ctx context.Context, s Store, q query) (question, error) {
		id, err := idParam(q, "deployment")
		if err != nil {
			return question{}, err
		}
		d, err := deploymentOf(ctx, s, id)
		return question{
			Title: "Stop " + d.App + " " + d.Version + " in " + d.Region + "?", Button: "Stop the server", Danger: true,
			RequiresReason: true, Back: deploymentPath(id.String()),
			Effects: []string{
				"The provider ends this server. Its " +
					pluralText(d.OpenSessions, "open session closes", "open sessions close") +
					", and their players lose their seats.",
				"Its pool starts another server if players need one.",
				"This cannot be undone.",
			},
		}, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		id, err := idParam(q, "deployment")
		if err != nil {
			return "", err
		}
		changed, err := s.As(d.Actor).StopDeployment(ctx, id, d.Reason)
		return outcomeText(changed, "The server stops.", "It was stopping already: nothing changed."), err
	},
}
