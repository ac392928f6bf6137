package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/provider"
)

func (p *program) providersCommand() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "providers",
		Short: "List the providers that start game servers, and check them",
		Long: "Commands for the providers of DIRECTOR_PROVIDERS, through which workers with the same settings start game servers; without that\n" +
			"setting, for those of a running 'director dev'. The commands start and stop nothing.",
		Example: "  director providers list\n  director providers check",
	}, p.providersList(), p.providersCheck())
}

// providerLine is what a provider can do.
type providerLine struct {
	Provider    string         `json:"provider"`
	NativeNames bool           `json:"native_names"`
	List        bool           `json:"list"`
	Stop        bool           `json:"stop"`
	Webhooks    bool           `json:"webhooks"`
	WarmPool    bool           `json:"warm_pool"`
	MaxLifetime float64        `json:"max_lifetime"` // seconds; 0: unbounded
	Rates       provider.Rates `json:"rates"`
}

func (p *program) providersList() *cobra.Command {
	return p.onOutput(&cobra.Command{
		Use:   "list",
		Short: "List the providers of the settings and what they can do",
		Long: "Lists the providers of DIRECTOR_PROVIDERS. It calls none of them.\n" +
			"The columns say what a provider can do. names: a repeated start under the same name starts no second server. list, stop: the\n" +
			"director can find servers that are not in its database, and end them. webhooks: the provider reports changes. warm: the\n" +
			"provider keeps servers ready, so a pool there needs no buffer.",
		Example: "  director providers list\n  DIRECTOR_PROVIDERS=process DIRECTOR_PROCESS_COMMANDS='arena=/usr/bin/arena server' director providers list -o json",
		Args:    cli.Exactly(0),
	}, byProviders, func(_ context.Context, conf *loaded, out cli.Output, _ []string) error {
		set, err := conf.config.providersOfCommand()
		if err != nil {
			return err
		}
		defer set.closeProviders()
		var lines []providerLine
		for _, name := range slices.Sorted(maps.Keys(set.byName)) {
			lines = append(lines, lineOfProvider(name, set.byName[name].Capabilities()))
		}
		header := []string{"provider", "names", "list", "stop", "webhooks", "warm", "longest life", "starts/s"}
		return cli.Write(out.Sparing("webhooks", "warm", "starts/s"), lines, header, providerLine.tableCells)
	})
}

func lineOfProvider(name string, c provider.Capabilities) providerLine {
	return providerLine{name, c.NativeNames, c.List, c.Stop, c.Webhooks, c.WarmPool, c.MaxLifetime.Seconds(), c.Rates}
}

// tableCells leaves blank what is unbounded.
func (l providerLine) tableCells() []any {
	life, starts := "", ""
	if l.MaxLifetime > 0 {
		life = briefDuration(time.Duration(l.MaxLifetime) * time.Second)
	}
	if l.Rates.Deploy > 0 {
		starts = fmt.Sprint(l.Rates.Deploy)
	}
	return []any{l.Provider, l.NativeNames, l.List, l.Stop, l.Webhooks, l.WarmPool, life, starts}
}

// providersOfCommand makes the providers for a command that starts no server: those of the settings, or else those of a
// running `director dev`.
func (c *Config) providersOfCommand() (*providerSet, error) {
	if len(c.ProviderNames) == 0 {
		if err := c.useDevProviders(); err != nil {
			return nil, err
		}
	}
	if len(c.ProviderNames) == 0 {
		return nil, cli.Usage(errors.New("there is no provider: set DIRECTOR_PROVIDERS as the workers have it"))
	}
	if err := c.checkProvision(); err != nil {
		return nil, cli.Usage(err)
	}
	// Without a log, since the output says what is wrong; true, since no server may end with this command.
	return c.openProviders(slog.New(slog.DiscardHandler), true)
}

// useDevProviders fills in the providers of a `director dev` that runs in the data directory.
func (c *Config) useDevProviders() error {
	data, err := c.findDataDir()
	if err != nil {
		return err
	}
	running, err := data.runningProviders()
	if err != nil || len(running.Providers) == 0 {
		return err
	}
	// isDevelopment, so that checkProvision requires no public URL for servers that people start.
	c.ProviderNames, c.isDevelopment = running.Providers, true
	if c.Processes.Commands == nil {
		c.Processes.Commands = running.Commands
	}
	return nil
}

func (p *program) providersCheck() *cobra.Command {
	return p.onDatabase(&cobra.Command{
		Use:   "check",
		Short: "Check the credentials of the providers, and what the pools start",
		Long: "Asks each provider of DIRECTOR_PROVIDERS for the servers of this installation, which tests its credentials and address, and then\n" +
			"whether it could start each app version that a pool has there. It fails if one of these fails.",
		Example: "  director providers check\n  director providers check -o json | jq -r '.[] | select(.error != \"\")'",
		Args:    cli.Exactly(0),
	}, byOperator|byProviders, func(ctx context.Context, op operator, _ []string) error {
		set, err := op.conf.config.providersOfCommand()
		if err != nil {
			return err
		}
		defer set.closeProviders()
		versions, err := op.pooledVersions(ctx)
		if err != nil {
			return err
		}
		return op.writeProviderChecks(op.checkProviders(ctx, set, versions))
	})
}

// providerCheck is the result of a check.
type providerCheck struct {
	Provider string `json:"provider"`
	App      string `json:"app"` // empty: of the provider itself
	Version  string `json:"version"`
	Launch   string `json:"launch"`
	Servers  *int   `json:"servers"` // of the provider itself: how many it runs; nil if it cannot list them
	Error    string `json:"error"`   // empty: no problem
}

// pooledVersions returns the app versions that a pool of some region has.
func (op operator) pooledVersions(ctx context.Context) ([]provision.AppVersion, error) {
	pools, err := op.store.Pools(ctx, "")
	if err != nil {
		return nil, err
	}
	// Regions share an app version: it is checked once.
	pooled := map[string]bool{}
	for i := range pools {
		pooled[pools[i].Name()] = true
	}
	// Only versions that a pool has: others are declared and start nothing.
	versions, err := op.store.AppVersions(ctx)
	return slices.DeleteFunc(versions, func(v provision.AppVersion) bool { return !pooled[v.Name()] }), err
}

func (op operator) checkProviders(ctx context.Context, set *providerSet,
	versions []provision.AppVersion) []providerCheck {
	var lines []providerCheck
	for _, name := range slices.Sorted(maps.Keys(set.byName)) {
		p := set.byName[name]
		lines = append(lines, op.checkProvider(ctx, name, p))
		checker, ok := p.(provider.Checker)
		for i := range versions {
			v := versions[i].ForProvider(name)
			if !ok || v.Provider != name { // ForProvider has replaced it, if name is the fallback
				continue
			}
			// Each check has the time of a call: one provider that hangs must not use up that of the others.
			ctx, cancel := context.WithTimeout(ctx, op.conf.config.ProvisionTimeout)
			err := checker.Check(ctx, v.Launch, v.LaunchVersion)
			cancel()
			lines = append(lines, providerCheck{Provider: name, App: v.App, Version: v.Version, Launch: launchText(&v),
				Error: errorText(err)})
		}
	}
	return lines
}

// checkProvider lists the servers of this installation: the call that needs most of the credentials and changes
// nothing.
func (op operator) checkProvider(ctx context.Context, name string, p provider.Provider) providerCheck {
	line := providerCheck{Provider: name}
	if !p.Capabilities().List {
		return line // without an error: it has no call that changes nothing
	}
	owner, err := op.conf.config.deploymentOwner()
	if err != nil {
		line.Error = errorText(err)
		return line
	}
	ctx, cancel := context.WithTimeout(ctx, op.conf.config.ProvisionTimeout)
	defer cancel()
	all, err := provider.ListAll(ctx, p, owner)
	if err != nil {
		line.Error = errorText(err)
		return line
	}
	serverCount := len(all)
	line.Servers = &serverCount
	return line
}

// errorText is "" for nil, which JSON has as an empty error.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// launchText is what a provider starts: a command, an image or a fleet, and for some a version of it.
func launchText(v *provision.AppVersion) string {
	if v.LaunchVersion == "" {
		return v.Launch
	}
	return v.Launch + " " + v.LaunchVersion
}

// writeProviderChecks prints the results, and returns an error if a check failed, for the exit code.
func (op operator) writeProviderChecks(lines []providerCheck) error {
	failed := 0
	for _, line := range lines {
		if line.Error != "" {
			failed++
		}
	}
	header := []string{"provider", "app", "version", "starts", "servers", "result"}
	// All results first, then the exit code.
	err := cli.Write(op.out.Sparing("starts", "servers"), lines, header, func(c providerCheck) []any {
		return []any{c.Provider, c.App, c.Version, c.Launch, orBlank(c.Servers), cmp.Or(c.Error, "ok")}
	})
	if err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(lines))
	}
	return nil
}
