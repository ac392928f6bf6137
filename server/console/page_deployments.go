package console

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// deploymentStore is what the pages of deployments and pools read.
type deploymentStore interface {
	ConsolePools(ctx context.Context) (db.DeploymentsView, error)
	ConsoleDeployments(ctx context.Context, f db.DeploymentFilter) (all []db.ConsoleDeployment, more bool, err error)
	ConsoleDeployment(ctx context.Context, id uuid.UUID) (db.ConsoleDeployment, error)
	ConsoleEvents(ctx context.Context, before db.EventCursor, f db.EventFilter) (db.EventPage, error)
}

// deploymentsView is what templates/deployments.html reads.
type deploymentsView struct {
	db.DeploymentsView

	Deployments []db.ConsoleDeployment
	Next        string
	Filtered    bool
}

var deploymentsPage = page[deploymentsView]{path: "/deployments", template: "deployments", every: 3 * time.Second, load: loadDeployments}

func loadDeployments(ctx context.Context, s Store, q query) (v deploymentsView, err error) {
	if v.DeploymentsView, err = s.ConsolePools(ctx); err != nil {
		return v, err
	}
	f := db.DeploymentFilter{Region: q.Get("region"), App: q.Get("app"), Phase: q.Get("phase"), Page: pageSize}
	v.Filtered = f.Region+f.App+f.Phase != ""
	region, id := q.After()
	f.AfterRegion = region
	f.After, _ = uuid.Parse(id) // a malformed one is the first page
	var more bool
	if v.Deployments, more, err = s.ConsoleDeployments(ctx, f); more {
		last := v.Deployments[len(v.Deployments)-1]
		v.Next = q.Next(last.Region, last.Deployment.String())
	}
	return v, err
}

// deploymentView is what templates/deployment.html reads.
type deploymentView struct {
	Deployment db.ConsoleDeployment
	Steps      []deploymentStep
	Events     []db.Event
}

// deploymentStep is something that happens to a deployment; a nil time: it has not.
type deploymentStep struct {
	Name string
	At   *time.Time
}

var deploymentPage = page[deploymentView]{path: "/deployments/:id", template: "deployment", every: 3 * time.Second, load: loadDeployment}

func loadDeployment(ctx context.Context, s Store, q query) (v deploymentView, err error) {
	id, err := idParam(q, "deployment")
	if err != nil {
		return v, err
	}
	if v.Deployment, err = s.ConsoleDeployment(ctx, id); err != nil {
		return v, err
	}
	v.Steps = stepsOf(v.Deployment)
	events, err := s.ConsoleEvents(ctx, db.LatestEvent(), db.EventFilter{Instance: id.String(), Page: latestEvents})
	v.Events = events.Events
	return v, err
}

func stepsOf(d db.ConsoleDeployment) []deploymentStep {
	return []deploymentStep{
		{"Decided to start it", &d.CreatedAt}, {"Asked the provider last", d.IntentAt}, {"Ready at the provider", d.ProviderReadyAt},
		{"Game server registered", d.RegisteredAt}, {"Ready for players", d.ReadyAt}, {"Lease of its game server expired", d.LostAt},
		{"Gets no more players", d.DrainAt}, {"Its lifetime ends", d.EndsAt}, {"Decided to end it", d.StopAt}, {"Next step of a worker", d.NextAt},
	}
}

var stopAction = action{
	path: "/deployments/:id/stop",
	ask: func(ctx context.Context, s Store, q query) (question, error) {
		id, err := idParam(q, "deployment")
		if err != nil {
			return question{}, err
		}
		d, err := s.ConsoleDeployment(ctx, id)
		return question{
			Title: "Stop " + d.App + " " + d.Version + " in " + d.Region + "?", Button: "Stop the server", Danger: true, Reason: true, Back: deploymentPath(id.String()),
			Says: []string{
				"The provider ends this server. Its " + plural(d.OpenSessions, "open session closes", "open sessions close") + ", and their players lose their seats.",
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
		return outcome(changed, "The server stops.", "It was stopping already: nothing changed."), err
	},
}
