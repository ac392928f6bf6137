package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/provider"
)

func (p *program) deploymentsLog() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log DEPLOYMENT",
		Short: "Print what a game server has printed",
		Long: "Prints the last lines that the server of a deployment has printed, also of one that ended within an hour: of the providers process and\n" +
			"docker. Run it where a worker with the provider runs, with the worker's settings: it reads the log there. --output json is a list of lines.",
		Example: "  director deployments log 01979f2e-7a36-7d44-8d7b-2d2c5f6f1a10\n  director deployments log 01979f2e-7a36-7d44-8d7b-2d2c5f6f1a10 --lines 1000",
		Args:    cli.Exactly(1),
		ValidArgsFunction: p.completeArgs(firstOnly(
			wordsOf(opsview.Deployments, opsview.DeploymentFilter{Providers: []string{providerProcess, providerDocker}},
				"deployment"))),
	}
	lines := cmd.Flags().Int("lines", 100, "How many lines, 1 to 100000; at most 4 MiB are read")
	id := parseFirst(cmd, parseDeploymentID)
	requireBetween(cmd, "lines", lines, 1, 100_000)
	// byProviders: the settings of the worker that runs the server.
	return p.onDatabase(cmd, byOperator|byProviders, func(ctx context.Context, op operator, _ []string) error {
		text, err := op.readLog(ctx, *id, *lines)
		if err != nil {
			return err
		}
		if op.out.JSON {
			return cli.WriteJSON(op.out.Writer, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"))
		}
		_, err = op.out.Writer.Write(text)
		return err
	})
}

// readLog reads the log through the provider on this machine: nothing is fetched from the worker.
func (op operator) readLog(ctx context.Context, id uuid.UUID, lines int) ([]byte, error) {
	name, ref, err := op.serverOf(ctx, id)
	if err != nil {
		return nil, err
	}
	// Before the providers are made, whose settings may be missing here.
	if name != providerProcess && name != providerDocker {
		return nil, fmt.Errorf("the director cannot read logs of %s: look for %s in its own tools", name, ref)
	}
	set, err := op.conf.config.providersOfCommand()
	if err != nil {
		return nil, err
	}
	defer set.closeProviders()
	// A provider that is not open here is a nil interface, which implements nothing.
	reader, ok := set.byName[name].(provider.LogReader)
	if !ok {
		// The provider is not among those of the settings.
		return nil, fmt.Errorf("the server is of the provider %s: run this with the DIRECTOR_PROVIDERS of a worker that has it, and on its machine", name)
	}
	// The timeout of every call of a provider: an engine that hangs must not hang the command.
	ctx, cancel := context.WithTimeout(ctx, op.conf.config.ProvisionTimeout)
	defer cancel()
	return reader.ReadLog(ctx, ref, lines)
}

// serverOf returns the provider of a deployment, and what the provider calls its server, also of one that has ended
// lately.
func (op operator) serverOf(ctx context.Context, id uuid.UUID) (name string, ref provider.Ref, err error) {
	d, err := op.readDeployment(ctx, id)
	if err != nil {
		return "", "", err
	}
	if d.Deployment != nil {
		if d.Deployment.Ref == nil {
			return "", "", errors.New("the deployment has no server yet")
		}
		return d.Deployment.Provider, provider.Ref(*d.Deployment.Ref), nil
	}
	// The deployment has ended: the detail of its last event, which docs/reference/events.md describes, says what its
	// server was.
	var end struct {
		App      string        `json:"app"`
		Version  string        `json:"version"`
		Provider string        `json:"provider"`
		Ref      *provider.Ref `json:"ref"`
	}
	for _, e := range d.Events {
		if e.Kind == "deployment.ended" {
			if err := json.Unmarshal(e.Detail, &end); err != nil {
				return "", "", err
			}
		}
	}
	if end.Ref == nil {
		return "", "", errors.New("the deployment had no server")
	}
	// The server may have started at the fallback of its app version. Events that older versions wrote do not say
	// where.
	if end.Provider != "" {
		return end.Provider, *end.Ref, nil
	}
	v, err := op.store.FindAppVersion(ctx, end.App, end.Version)
	return v.Provider, *end.Ref, err
}
