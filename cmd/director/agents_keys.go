package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cli"
)

func (p *program) agentKeys() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "key",
		Short: "Make, list and revoke the keys that game servers connect with",
		Long: "Commands for agent keys in the database, which are valid in addition to DIRECTOR_ORCHESTRATOR_AGENT_KEYS. Replicas accept a\n" +
			"new key, and refuse a revoked one, within seconds.\n\nThe commands need the director's own database role, as 'keys rotate' does.",
		Example: "  director agents key create --name eu1 --label region=eu\n  director agents key list\n  director agents key revoke eu1",
	}, p.agentKeyCreate(), p.agentKeyList(), p.agentKeyRevoke())
}

// byAgentKey are the settings of the commands for agent keys.
const byAgentKey = byOperator | byAgents

// agentKeyLine is an agent key in the output.
type agentKeyLine struct {
	Name        string            `json:"name"`
	Fingerprint string            `json:"fingerprint"` // as in logs, in ops.agents and in events
	AgentName   *string           `json:"agent_name"`  // nil: any
	Labels      map[string]string `json:"labels"`
	CreatedAt   time.Time         `json:"created_at"`
	Key         string            `json:"key,omitempty"` // the secret, which `create` alone knows
}

// lineOfKey has no secret: the database keeps only its digest, of which four bytes identify the key.
func lineOfKey(k db.AgentKey) agentKeyLine {
	return agentKeyLine{Name: k.Name, Fingerprint: "key#" + hex.EncodeToString(k.Digest[:4]), AgentName: k.BoundName,
		Labels: k.BoundLabels, CreatedAt: k.CreatedAt}
}

// agentKeyCreate makes the secret in this process: the database gets its digest alone, so that neither its logs nor a
// dump have the key.
func (p *program) agentKeyCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create --name NAME",
		Short: "Make a key for game servers and print it once",
		Long: "Makes a key and prints it. Only its SHA-256 is stored, so it cannot be shown again. With --agent-name or --label the key is bound: a game server\n" +
			"that reports another name, or lacks a label, is refused.",
		Example: "  director agents key create --name eu1\n  director agents key create --name eu1 --agent-name eu0 --label region=eu --label tier=1\n" +
			"  director agents key create --name eu1 -o json | jq -r .key",
		Args: cli.Exactly(0),
	}
	n := db.NewAgentKey{}
	cmd.Flags().StringVar(&n.Name, "name", "",
		"The name of the key: 1 to 64 letters, digits, dots, dashes and underscores")
	cmd.Flags().StringToStringVar(&n.BoundLabels, "label", nil,
		"A label that game servers with this key must have, as key=value; may be repeated")
	agentName := cmd.Flags().String("agent-name", "", "The name that game servers with this key must have")
	checkFirst(cmd, func([]string) error {
		if n.Name == "" {
			return cli.Usage(errors.New("--name is required: the key is listed and revoked by it"))
		}
		return nil
	})
	return p.onDatabase(cmd, byAgentKey, func(ctx context.Context, op operator, _ []string) error {
		// Changed decides, and not the value: nil lets any name connect, and "" only an agent without a name.
		if cmd.Flags().Changed("agent-name") {
			n.BoundName = agentName
		}
		// Keys are written by the director itself and not by a function of schema ops, which would know the login.
		actor, err := op.store.ReadLoginActor(ctx)
		if err != nil {
			return err
		}
		// A key is of one fleet, which is the region of the orchestrator's settings.
		n.Actor, n.Region = actor, op.conf.config.Orchestrator.Options.Region
		key, made, err := op.store.CreateAgentKey(ctx, n)
		if err != nil {
			return err
		}
		if op.out.JSON {
			line := lineOfKey(made)
			line.Key = key
			return cli.WriteJSON(op.out.Writer, line)
		}
		// The key alone is on stdout, so that it can go into a file or a variable; what people should know is on
		// stderr.
		fmt.Fprintln(op.out.Writer, key)
		fmt.Fprintf(cmd.ErrOrStderr(), "This is key %s, %s. It is not kept and cannot be shown again.\n", made.Name,
			lineOfKey(made).Fingerprint)
		return nil
	})
}

func (p *program) agentKeyList() *cobra.Command {
	return p.onDatabase(&cobra.Command{
		Use:     "list",
		Short:   "List the keys that game servers may connect with",
		Long:    "Lists the keys that are not revoked. The fingerprint names a key in logs, in ops.agents and in events.",
		Example: "  director agents key list\n  director agents key list -o json | jq -r '.[].name'",
		Args:    cli.Exactly(0),
	}, byAgentKey, func(ctx context.Context, op operator, _ []string) error {
		keys, err := op.store.AgentKeys(ctx, op.conf.config.Orchestrator.Options.Region)
		if err != nil {
			return err
		}
		lines := make([]agentKeyLine, len(keys))
		for i, k := range keys {
			lines[i] = lineOfKey(k)
		}
		header := []string{"name", "fingerprint", "agent name", "labels", "created"}
		return cli.Write(op.out.Sparing("created", "agent name"), lines, header, func(k agentKeyLine) []any {
			return []any{k.Name, k.Fingerprint, orBlank(k.AgentName), k.Labels, k.CreatedAt}
		})
	})
}

// agentKeyRevoke fails for a name that no key has, unlike the changes of schema ops: a mistyped name must not look like
// a key that was revoked.
func (p *program) agentKeyRevoke() *cobra.Command {
	return p.onDatabase(&cobra.Command{
		Use:   "revoke NAME",
		Short: "Revoke a key: connections made with it are closed within seconds",
		Long: "Revokes a key. Replicas close the connections that were made with it, with code 4001, and refuse new ones, within seconds. The name can be\n" +
			"used for another key.",
		Example:           "  director agents key revoke eu1",
		Args:              cli.Exactly(1),
		ValidArgsFunction: p.completeArgs(agentKeyWords),
	}, byAgentKey, func(ctx context.Context, op operator, args []string) error {
		actor, err := op.store.ReadLoginActor(ctx)
		if err != nil {
			return err
		}
		if err := op.store.RevokeAgentKey(ctx, op.conf.config.Orchestrator.Options.Region, args[0], actor); err != nil {
			return err
		}
		return writeChanges(op.out, "key", []changeLine{{args[0], true}})
	})
}
