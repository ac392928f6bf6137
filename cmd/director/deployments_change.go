package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/provisioning/serverenv"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/token"
	"github.com/lattice-director/director/token/netcode"
)

// startedLine is the output of `deployments start`.
type startedLine struct {
	Region     string `json:"region"`
	Deployment string `json:"deployment"`
	App        string `json:"app"`
	Version    string `json:"version"`
	Provider   string `json:"provider"`
}

func (p *program) deploymentsStart() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "start REGION/APP/VERSION",
		Short: "Start a game server in addition to those of the pools",
		Long: "Inserts a deployment of an app version, which a worker with its provider then starts. The server counts in its pool, if there is\n" +
			"one, but does not end as surplus: end it with 'deployments stop'. A version with connect tokens needs DIRECTOR_KEY_ENCRYPTION_KEY.",
		Example: "  director deployments start eu/arena/v7\n  director deployments start eu/arena/v7 --address 192.0.2.7",
		Args:    cli.Exactly(1),
	}
	// The address is that of a player: the provider knows best which of its locations is near.
	address := cmd.Flags().String("address", "",
		"The IP address of a player; the provider starts the server near it if it can")
	cmd.ValidArgsFunction = p.completePools()
	of := parseFirst(cmd, parsePool)
	var near netip.Addr
	checkFirst(cmd, func([]string) (err error) {
		if *address == "" {
			return nil
		}
		if near, err = netip.ParseAddr(*address); err != nil {
			return cli.Usage(fmt.Errorf("--address %q must be an IP address", *address))
		}
		return nil
	})
	// byDeploy: the key-encryption key, which seals the key of a version with connect tokens.
	return p.onDatabase(cmd, byOperator|byDeploy, func(ctx context.Context, op operator, _ []string) error {
		// "": the version may be of any provider, since a worker with that provider starts the server.
		n, _, err := op.newDeployment(ctx, *of, near, "")
		if err != nil {
			return refusalText(err)
		}
		if err := op.store.StartDeployment(ctx, of.Region, n); err != nil {
			return refusalText(err)
		}
		lines := []startedLine{{of.Region, n.ID.String(), n.App, n.Version, n.Provider}}
		return cli.Write(op.out, lines, []string{"region", "deployment", "app", "version", "provider"},
			func(s startedLine) []any {
				return []any{s.Region, s.Deployment, s.App, s.Version, s.Provider}
			})
	})
}

// newDeployment returns a deployment by an operator, which is not yet inserted. The app version must be of the required
// provider; "" requires none.
func (op operator) newDeployment(ctx context.Context, of provision.PoolEdit, near netip.Addr,
	requiredProvider string) (n provision.NewDeployment, v provision.AppVersion, err error) {
	if v, err = op.store.FindAppVersion(ctx, of.App, of.Version); err != nil {
		return n, v, err
	}
	// A worker would start a server of another provider itself.
	if requiredProvider != "" && v.Provider != requiredProvider {
		return n, v, fmt.Errorf("the provider of app version %s is %s: declare a version with provider: %s for servers "+
			"that you start by hand", v.Name(), v.Provider, requiredProvider)
	}
	n = provision.NewDeployment{
		// The id is made here, since the key is sealed for it.
		ID: uuid.Must(uuid.NewV7()), App: v.App, Version: v.Version, Provider: v.Provider, Tag: provider.NewTag(),
		Address: near, Origin: provision.OriginOperator,
	}
	// Only a version with connect tokens has a key, and only then the command needs the key-encryption key.
	if v.Dialect != "" {
		sealer, err := op.conf.config.makeSealer()
		if err != nil {
			return n, v, err
		}
		key := netcode.NewKey()
		n.SealedKey, n.SealedBy = sealer.SealSecret(token.PurposeNetcode, of.Region, n.ID.String(), key.Secret())
	}
	return n, v, nil
}

func (p *program) deploymentsStop() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stop DEPLOYMENT…",
		Short: "Stop game servers now; their sessions close",
		Long: "Ends deployments: their instances get no new players from now on, and a worker stops their servers, which closes the sessions. The\n" +
			"pool starts other servers if players need them. 'director fleet drain' lets open sessions end first.",
		Example: "  director deployments stop 01979f2e-7a36-7d44-8d7b-2d2c5f6f1a10 --reason 'its match is stuck'",
		Args:    cli.AtLeast(1),
	}
	cmd.ValidArgsFunction = p.completeArgs(wordsOf(opsview.Deployments, opsview.DeploymentFilter{Desired: "running"},
		"deployment"))
	reason := requireReason(cmd, "operator", "The reason, for the event and other operators")
	// All ids are parsed before the first deployment is stopped.
	checkFirst(cmd, func(args []string) error {
		for _, arg := range args {
			if _, err := parseDeploymentID(arg); err != nil {
				return err
			}
		}
		return nil
	})
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, args []string) error {
		return op.changeEach("deployment", args, func(id string) (bool, error) {
			// The check above has parsed the id. The database requires a reason, so that --reason has a default.
			return op.store.As("").StopDeployment(ctx, uuid.MustParse(id), *reason)
		})
	})
}

func (p *program) deploymentsEnv() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "env REGION/APP/VERSION",
		Short: "Make a deployment that you start by hand, and print its environment",
		Long: "Inserts a deployment of an app version of provider manual, and prints the environment that its game server needs. Start the server\n" +
			"with it within the version's register_within; then it gets players and connect tokens as any other deployment. A worker must\n" +
			"have the provider manual. The output holds the server's credential and key: keep it secret.",
		Example: "  director deployments env local/arena/dev > server.env\n  set -a; . ./server.env; ./my-game-server",
		Args:    cli.Exactly(1),
	}
	cmd.ValidArgsFunction = p.completePools()
	of := parseFirst(cmd, parsePool)
	return p.onDatabase(cmd, byOperator|byDeploy, func(ctx context.Context, op operator, _ []string) error {
		// Also a version without connect tokens needs the key-encryption key: the credential of the server is made with
		// it.
		sealer, err := op.conf.config.makeSealer()
		if err != nil {
			return err
		}
		n, v, err := op.newDeployment(ctx, *of, netip.Addr{}, providerManual)
		if err != nil {
			return refusalText(err)
		}
		// No listeners: this command serves nothing, so that the addresses are those of the settings.
		settings := op.conf.config.serverSettings(listenAddrs{}, sealer)
		// The second result is the secret of the provider's reports, which a server that a person starts has not.
		env, _, err := settings.Environment(serverenv.Server{Region: of.Region, ID: n.ID, SealedKey: n.SealedKey},
			v)
		if err != nil {
			return err
		}
		// Inserted last: a deployment whose environment nobody has would wait for its server until register_within
		// ends.
		if err := op.store.StartDeployment(ctx, of.Region, n); err != nil {
			return refusalText(err)
		}
		// On stderr, since stdout goes into a file that a shell reads.
		fmt.Fprintf(p.stderr, "deployment %s must register within %s; 'director deployments stop' ends it\n", n.ID,
			briefDuration(v.RegisterWithin))
		return writeEnvironment(op.out, env)
	})
}

// writeEnvironment prints variables as a shell reads them.
func writeEnvironment(out cli.Output, env provider.Env) error {
	if out.JSON {
		return cli.WriteJSON(out.Writer, map[string]string(env))
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if _, err := io.WriteString(out.Writer, name+"="+quoteForShell(env[name])+"\n"); err != nil {
			return err
		}
	}
	return nil
}
