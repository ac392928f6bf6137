package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/token"
)

func (p *program) projectsCommand() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "projects",
		Short: "Make projects of the realtime lobby, their keys, and tokens of clients",
		Long: "Commands for the projects of the realtime lobby. A client connects with a token of a project, which names one of the project's keys.\n\n" +
			"The commands need the director's own database role, as 'keys rotate' does.",
		Example: "  director projects create arena\n  director projects list\n  director projects key create PROJECT\n  director projects token PROJECT KEY --sub alice",
	}, p.projectsCreate(), p.projectsList(), p.projectsKeys(), p.projectKey(), p.projectToken())
}

// projectLine is a project in lists.
type projectLine struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Region    string    `json:"region"`
	CreatedAt time.Time `json:"created_at"`
}

func (p *program) projectsCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a project and print its id",
		Long: "Makes a project and prints its id. Its rooms, sessions and keys are in the region of --realtime-region, which cannot be changed later.\n" +
			"With --id the project has this id, such as the one that clients already send.",
		Example: "  director projects create arena\n  director projects create arena --id arena --realtime-region eu",
		Args:    cli.Exactly(1),
	}
	id := cmd.Flags().String("id", "", "The id of the project. Not set: a new one")
	return p.onDatabase(cmd, byProjectCommands, func(ctx context.Context, op operator, args []string) error {
		// Projects are written by the director itself and not by a function of schema ops, which would know the login.
		// The event names the login of the database: a command knows no other name of the operator.
		actor, err := op.store.ReadLoginActor(ctx)
		if err != nil {
			return err
		}
		made, err := op.store.CreateProject(ctx,
			db.NewProject{ID: *id, Name: args[0], Region: op.conf.config.Realtime.Region, Actor: actor})
		if err != nil {
			return err
		}
		if op.out.JSON {
			return cli.WriteJSON(op.out.Writer, projectLine(made))
		}
		// The id alone, so that a shell can read it into a variable.
		fmt.Fprintln(op.out.Writer, made.ID)
		return nil
	})
}

func (p *program) projectsList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the projects, the newest first",
		Long: "Lists the projects of all regions, the newest first, at most " + fmt.Sprint(db.MaxProjectPage) +
			" at a time; --after continues behind a project.",
		Example: "  director projects list\n  director projects list -o json | jq -r '.[].id'",
		Args:    cli.Exactly(0),
	}
	after := cmd.Flags().String("after", "", "The id of the last project of the previous page")
	return p.onDatabase(cmd, byProjectCommands, func(ctx context.Context, op operator, _ []string) error {
		found, err := op.store.Projects(ctx, *after, db.MaxProjectPage)
		if err != nil {
			return err
		}
		lines := make([]projectLine, len(found))
		for i, project := range found {
			lines[i] = projectLine(project)
		}
		return cli.Write(op.out, lines, []string{"id", "name", "region", "created"}, func(p projectLine) []any {
			return []any{p.ID, p.Name, p.Region, p.CreatedAt}
		})
	})
}

// clientTokenLine is the output of `projects token`.
type clientTokenLine struct {
	Token   string    `json:"token"`
	Expires time.Time `json:"expires_at"`
}

func (p *program) projectToken() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token PROJECT KEY",
		Short: "Mint a token with which a client connects",
		Long: "Mints a token of a project for a key that has the scope token:mint, as the control API does, and prints it. It needs the secrets that sign\n" +
			"the project's tokens: --realtime-master-secret, or --key-encryption-key with --realtime-key-secrets-only.",
		Example:           "  director projects token demo-project demo-key\n  director projects token demo-project demo-key --sub alice --ttl 10m",
		Args:              cli.Exactly(2),
		ValidArgsFunction: p.completeArgs(projectKeyWords),
	}
	ttl := cmd.Flags().Duration("ttl", time.Hour, "How long the token is valid, 30s to 24h")
	subject := cmd.Flags().String("sub", "", "The player. Not set: each session is a player of its own")
	// The bounds of the control API, which clamps to them instead, as Nexis does.
	requireBetween(cmd, "ttl", ttl, 30*time.Second, 24*time.Hour)
	checkFirst(cmd, func([]string) error {
		if cmd.Flags().Changed("sub") && !token.ValidSubject(*subject) {
			return cli.Usage(fmt.Errorf("--sub: %q is not allowed: it must be 1 to %d bytes without control characters",
				*subject, token.MaxSubjectBytes))
		}
		return nil
	})
	return p.onProject(cmd, func(ctx context.Context, op operator, args []string) error {
		line, err := op.mintProject(ctx, token.ProjectClaims{ProjectID: args[0], KeyID: args[1], Subject: *subject},
			*ttl)
		if err != nil {
			return err
		}
		if op.out.JSON {
			return cli.WriteJSON(op.out.Writer, line)
		}
		// The token alone, for $(…) in a shell.
		fmt.Fprintln(op.out.Writer, line.Token)
		return nil
	})
}

// mintProject makes a token as POST /tokens of the control API does, by the same counting and the same secrets. Errors
// are those of a key that is unknown, revoked or lacks the scope, and of settings without a secret.
func (op operator) mintProject(ctx context.Context, c token.ProjectClaims, ttl time.Duration) (clientTokenLine, error) {
	// The sealer only where the secrets of keys sign: the command then needs the key-encryption key, otherwise not.
	secrets := op.conf.config.projectSecrets(nil)
	switch {
	case secrets.KeysOnly:
		sealer, err := op.conf.config.makeSealer()
		if err != nil {
			return clientTokenLine{}, err
		}
		secrets.Sealer = sealer
	case secrets.Master == "" && secrets.Projects[c.ProjectID] == "":
		return clientTokenLine{}, cli.Usage(errors.New("the project's tokens have no secret: set DIRECTOR_REALTIME_MASTER_SECRET"))
	}
	// Tokens are judged by the clock of the database.
	now, err := op.store.DatabaseNow(ctx)
	if err != nil {
		return clientTokenLine{}, err
	}
	// Refuses a revoked key, and one without the scope. It counts before the token is made: no token is uncounted.
	key, err := op.store.CountMinted(ctx, c.ProjectID, c.KeyID)
	if err != nil {
		return clientTokenLine{}, err
	}
	secret, err := secrets.Signing(key.Project, key.ID, key.SealedSecret)
	if err != nil {
		return clientTokenLine{}, err
	}
	c.IssuedAt = now
	c.Expires = c.IssuedAt.Add(ttl)
	return clientTokenLine{token.MintProject(secret, c), c.Expires}, nil
}
