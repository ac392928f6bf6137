package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/cli"
)

// deploymentWords completes the values of a column over all deployments of the view.
func deploymentWords(column string) words {
	return wordsOf(opsview.Deployments, opsview.DeploymentFilter{}, column)
}

// timelineEvent is an event of a deployment.
type timelineEvent struct {
	At     time.Time       `json:"at"`
	Kind   string          `json:"kind"`
	Actor  string          `json:"actor"`
	Detail json.RawMessage `json:"detail"`
}

// deploymentDetails is the output of `deployments show`.
type deploymentDetails struct {
	Deployment *opsview.Deployment `json:"deployment"` // null: nothing of it is left
	Events     []timelineEvent     `json:"events"`
}

// parseDeploymentID returns a usage error for what is no UUID: it is mistyped, whatever the database has.
func parseDeploymentID(arg string) (uuid.UUID, error) {
	id, err := uuid.Parse(arg)
	if err != nil {
		return id, cli.Usage(fmt.Errorf("%q is not the id of a deployment: it must be a UUID, as in 'director deployments list'", arg))
	}
	return id, nil
}

// readDeployment returns what is left of a deployment, and its events. A deployment that is gone has only events; an
// error says that it has neither.
func (op operator) readDeployment(ctx context.Context, id uuid.UUID) (d deploymentDetails, err error) {
	found, err := opsview.Deployments.Read(ctx, op.store.Pool(), opsview.DeploymentFilter{ID: &id},
		opsview.Page{Limit: 1})
	if err != nil {
		return d, err
	}
	// Events are read from a time on, by the clock of the database: a deployment that is gone is not in the view, which
	// says when one began, and without a bound all partitions of the log would be read.
	now, err := op.store.DatabaseNow(ctx)
	if err != nil {
		return d, err
	}
	since := now.Add(-2 * 24 * time.Hour)
	// For a deployment in the view, the timeline begins when it was wanted, however long ago.
	if len(found) > 0 {
		d.Deployment, since = &found[0], found[0].CreatedAt
	}
	timeline := opsview.EventFilter{Instance: id.String(), Since: since}
	events, err := opsview.Events.Read(ctx, op.store.Pool(), timeline, opsview.Page{Order: opsview.ByTime, Limit: 1000})
	if err != nil {
		return d, err
	}
	d.Events = make([]timelineEvent, len(events))
	for i, e := range events {
		d.Events[i] = timelineEvent{e.At, e.Kind, e.Actor, e.Detail}
	}
	if len(found) == 0 && len(d.Events) == 0 {
		return d, fmt.Errorf("there is no deployment %s, and it had no events in the last two days", id)
	}
	return d, nil
}

// writeText prints the facts, and below them the timeline with the time since the event before.
func (d deploymentDetails) writeText(out cli.Output) error {
	if d.Deployment == nil {
		fmt.Fprintln(out.Writer, "The deployment is gone: nothing of it is left at its provider.")
	} else {
		writeFacts(out, deploymentFacts(*d.Deployment))
	}
	fmt.Fprintln(out.Writer)
	var before *time.Time // of the row above: the table is written from top to bottom
	return cli.Write(out, d.Events, []string{"at", "after", "event", "by", "detail"}, func(e timelineEvent) []any {
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
		{"reason", d.Reason}, {"last error", d.LastError}, {"refused", d.Refused},
	} {
		// What is not known yet is left out: a new deployment has little of it.
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

// startedBy says who wanted the server: only a pool ends it as surplus.
func startedBy(origin string) string {
	if origin == provision.OriginPool {
		return "its pool"
	}
	return "an operator"
}
