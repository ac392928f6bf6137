package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/cli"
)

// projectKeyLine is a key of a project in the output.
type projectKeyLine struct {
	ID           string     `json:"id"`
	Project      string     `json:"project_id"`
	Name         string     `json:"name"`
	Scopes       []string   `json:"scopes"`
	RevokedAt    *time.Time `json:"revoked_at"`
	RetiresAt    *time.Time `json:"retires_at"` // its tokens are refused from then on
	RotatedFrom  *string    `json:"rotated_from"`
	TokensMinted int64      `json:"tokens_minted"`
	CreatedAt    time.Time  `json:"created_at"`
	Secret       string     `json:"secret,omitempty"` // of a new key; the database has it sealed, and lists lack it
}

// lineOfProjectKey is a key with its secret, which is "" of all but a new key.
func lineOfProjectKey(k query.ProjectKey, secret string) projectKeyLine {
	return projectKeyLine{k.ID, k.Project, k.Name, k.Scopes, k.RevokedAt, k.RetiresAt, k.RotatedFrom, k.TokensMinted,
		k.CreatedAt, secret}
}

func (p *program) projectsKeys() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys PROJECT",
		Short: "List the keys of a project, the newest first",
		Long: "Lists the keys of a project, with the revoked ones, at most " + fmt.Sprint(db.MaxProjectPage) +
			" at a time; --after continues behind a key.\n" +
			"A revoked key mints no tokens; those that it has minted are refused from the time in retires at.",
		Example:           "  director projects keys demo-project\n  director projects keys demo-project -o json | jq -r '.[] | select(.revoked_at == null) | .id'",
		Args:              cli.Exactly(1),
		ValidArgsFunction: p.completeArgs(projectWords),
	}
	after := cmd.Flags().String("after", "", "The id of the last key of the previous page")
	return p.onProject(cmd, func(ctx context.Context, op operator, args []string) error {
		// Otherwise an unknown project would look like one without keys.
		if _, err := op.store.ProjectRegion(ctx, args[0]); err != nil {
			return err
		}
		found, err := op.store.ProjectKeys(ctx, args[0], *after, db.MaxProjectPage)
		if err != nil {
			return err
		}
		lines := make([]projectKeyLine, len(found))
		for i, k := range found {
			lines[i] = lineOfProjectKey(k, "")
		}
		header := []string{"id", "name", "scopes", "revoked at", "retires at", "rotated from", "tokens", "created"}
		return cli.Write(op.out.Sparing("created", "rotated from", "retires at"), lines, header,
			func(k projectKeyLine) []any {
				return []any{k.ID, k.Name, k.Scopes, k.RevokedAt, k.RetiresAt, orBlank(k.RotatedFrom),
					k.TokensMinted,
					k.CreatedAt}
			})
	})
}

func (p *program) projectKey() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:     "key",
		Short:   "Make, revoke and rotate keys of projects",
		Long:    "Commands for one key of a project. Replicas refuse the tokens of a revoked key at once, and close its connections within a second.",
		Example: "  director projects key create demo-project\n  director projects key rotate demo-project demo-key\n  director projects key revoke demo-project demo-key",
	}, p.projectKeyCreate(), p.projectKeyRevoke(), p.projectKeyRotate())
}

func (p *program) projectKeyCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create PROJECT",
		Short: "Make a key and print its secret once",
		Long: "Makes a key and prints its id and its secret. The secret is sealed in the database and is not shown again. It signs tokens, in addition to the\n" +
			"secret of the project.",
		Example: "  director projects key create demo-project\n  director projects key create demo-project --name backend --scope token:mint -o json | jq -r .secret",
		Args:    cli.Exactly(1), ValidArgsFunction: p.completeArgs(projectWords),
	}
	n := db.NewProjectKey{}
	cmd.Flags().StringVar(&n.Name, "name", "default", "The name of the key, for people")
	cmd.Flags().StringSliceVar(&n.Scopes, "scope", []string{db.ScopeMint}, "A scope of the key; may be repeated")
	return p.onProject(cmd, func(ctx context.Context, op operator, args []string) error {
		sealer, err := op.conf.config.makeSealer()
		if err != nil {
			return err
		}
		if n.Actor, err = op.store.ReadLoginActor(ctx); err != nil {
			return err
		}
		// The secret is made and sealed while the id of the key is known and nothing is inserted yet: it is sealed for
		// that id.
		n.ProjectID, n.Seal = args[0], sealer.NewProjectSecret
		secret, made, err := op.store.CreateProjectKey(ctx, n)
		if err != nil {
			return err
		}
		return writeNewProjectKey(cmd, op.out, made, secret)
	})
}

func writeNewProjectKey(cmd *cobra.Command, out cli.Output, made query.ProjectKey, secret string) error {
	if out.JSON {
		return cli.WriteJSON(out.Writer, lineOfProjectKey(made, secret))
	}
	// The id and the secret alone are on stdout, so that a shell can read them into variables.
	fmt.Fprintf(out.Writer, "%s %s\n", made.ID, secret)
	fmt.Fprintln(cmd.ErrOrStderr(), "These are the key's id and its secret, which cannot be shown again.")
	return nil
}

func (p *program) projectKeyRevoke() *cobra.Command {
	return p.onProject(&cobra.Command{
		Use:   "revoke PROJECT KEY",
		Short: "Revoke a key: its tokens are refused, its connections closed",
		Long: "Revokes a key. Replicas refuse its tokens, also those that the project's secret signed, and close the connections that were made with them\n" +
			"within a second, with code 4403. A key that was rotated with a grace loses the rest of it.",
		Example: "  director projects key revoke demo-project demo-key",
		Args:    cli.Exactly(2), ValidArgsFunction: p.completeArgs(projectKeyWords),
	}, func(ctx context.Context, op operator, args []string) error {
		actor, err := op.store.ReadLoginActor(ctx)
		if err != nil {
			return err
		}
		// A key that was revoked before is no error.
		if _, err := op.store.RevokeProjectKey(ctx, args[0], args[1], actor); err != nil {
			return err
		}
		return writeChanges(op.out, "key", []changeLine{{args[1], true}})
	})
}

func (p *program) projectKeyRotate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rotate PROJECT KEY",
		Short: "Replace a key by a new one, and print its secret once",
		Long: "Revokes a key and makes another with its scopes, in one transaction. With --grace the tokens that the old key has minted are accepted for this\n" +
			"time; otherwise its connections are closed within a second.",
		Example: "  director projects key rotate demo-project demo-key\n  director projects key rotate demo-project demo-key --grace 1h",
		Args:    cli.Exactly(2), ValidArgsFunction: p.completeArgs(projectKeyWords),
	}
	grace := cmd.Flags().Duration("grace", 0, "For how long tokens of the old key are still accepted, up to 720h")
	requireBetween(cmd, "grace", grace, 0, db.MaxProjectGrace)
	return p.onProject(cmd, func(ctx context.Context, op operator, args []string) error {
		sealer, err := op.conf.config.makeSealer()
		if err != nil {
			return err
		}
		actor, err := op.store.ReadLoginActor(ctx)
		if err != nil {
			return err
		}
		// Of two rotations at a time one succeeds, so that no key has two successors.
		secret, made, err := op.store.RotateProjectKey(ctx,
			db.KeyRotation{ProjectID: args[0], ID: args[1], GraceTime: *grace, Actor: actor,
				Seal: sealer.NewProjectSecret})
		if err != nil {
			return err
		}
		return writeNewProjectKey(cmd, op.out, made, secret)
	})
}
