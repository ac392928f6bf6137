package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

// newEnrolmentLine is the output of `enrolments create`, which contains the token.
type newEnrolmentLine struct {
	opsview.Enrolment

	Token string `json:"token"`
}

func (p *program) enrolmentsCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create --region REGION --name NAME --max-servers N",
		Short: "Make an enrolment and print its token once",
		Long: "Makes an enrolment and prints its token. Only the SHA-256 of its secret is stored, so it cannot be shown again. Give it to the game servers as\n" +
			"FLEET_TOKEN, or to their sidecars as DIRECTOR_SIDECAR_FLEET_TOKEN.",
		Example: "  director enrolments create --region eu-west --name rack-7 --mode duel --max-servers 50\n" +
			"  director enrolments create --region eu-west --name night --max-servers 4 --valid-for 12h -o json | jq -r .token",
		Args: cli.Exactly(0),
	}
	n := db.NewEnrolment{}
	cmd.Flags().StringVar(&n.Region, "region", "", "The region of its game servers")
	cmd.Flags().StringVar(&n.Name, "name", "",
		"The name of the enrolment: 1 to 64 letters, digits, dots, dashes and underscores")
	cmd.Flags().StringSliceVar(&n.AllowedModes, "mode", nil,
		"A mode that its game servers may offer; may be repeated. Not given: any mode")
	cmd.Flags().Int32Var(&n.MaxServers, "max-servers", 0, "How many of its game servers there may be at one time")
	cmd.Flags().DurationVar(&n.ValidFor, "valid-for", 30*24*time.Hour,
		"For how long the token registers game servers, such as 720h; those that it registered stay")
	// The bounds of ops.create_enrolment.
	requireBetween(cmd, "max-servers", &n.MaxServers, 1, 100_000)
	requireBetween(cmd, "valid-for", &n.ValidFor, time.Minute, 3660*24*time.Hour)
	p.completeFlag(cmd, "region", regionWords)
	p.completeFlag(cmd, "mode", modeWords)
	checkFirst(cmd, func([]string) error {
		if n.Region == "" || n.Name == "" || n.MaxServers == 0 {
			return cli.Usage(errors.New("--region, --name and --max-servers are required"))
		}
		return nil
	})
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, _ []string) error {
		// The database checks the rest, such as the name: SQL creates enrolments as well.
		return op.createEnrolment(ctx, cmd, n)
	})
}

// createEnrolment makes an enrolment and prints its token, which cannot be read again.
func (op operator) createEnrolment(ctx context.Context, cmd *cobra.Command, n db.NewEnrolment) error {
	// The database makes the token and keeps the digest of its secret: no later reading can have it.
	token, err := op.store.As("").CreateEnrolment(ctx, n)
	if err != nil {
		return err
	}
	// Read back for what the database has decided, such as when it expires.
	made, err := opsview.Enrolments.One(ctx, op.store.Pool(), opsview.EnrolmentFilter{Region: n.Region, Name: n.Name})
	if err != nil {
		return err
	}
	if op.out.JSON {
		return cli.WriteJSON(op.out.Writer, newEnrolmentLine{made, token})
	}
	// The token alone is on stdout, so that it can go into a file or a variable.
	fmt.Fprintln(op.out.Writer, token)
	fmt.Fprintf(cmd.ErrOrStderr(), "This is the token of enrolment %s/%s, until %s. It is not kept and cannot be shown again.\n", made.Region,
		made.Name, made.ExpiresAt.UTC().Format(time.RFC3339))
	return nil
}

func (p *program) enrolmentsRevoke() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revoke REGION/NAME…",
		Short: "Let the token of an enrolment register no more game servers",
		Long: "Revokes enrolments, at once and on all replicas. Their game servers continue, and may register again with their own credentials. With --servers\n" +
			"the credentials of these game servers are revoked, too, as 'director enrolments revoke-server' does: use it when the token has leaked.",
		Example:           "  director enrolments revoke eu-west/rack-7\n  director enrolments revoke eu-west/rack-7 --servers",
		Args:              cli.AtLeast(1),
		ValidArgsFunction: p.completeArgs(enrolmentWords),
	}
	servers := cmd.Flags().Bool("servers", false,
		"Also revoke the credentials of its game servers, which ends their sessions")
	// All arguments are checked before the first enrolment is revoked.
	checkFirst(cmd, func(args []string) error {
		for _, arg := range args {
			// Both parts are needed, since an enrolment's name is unique within its region alone.
			if region, name, ok := strings.Cut(arg, "/"); !ok || region == "" || name == "" {
				return cli.Usage(fmt.Errorf("%q is not of the form REGION/NAME", arg))
			}
		}
		return nil
	})
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, args []string) error {
		// Each in a transaction of its own: a name that is unknown does not keep the others from being revoked.
		return op.changeEach("enrolment", args, func(arg string) (bool, error) {
			// The check above has found the slash. A name has none, so that the first one separates.
			region, name, _ := strings.Cut(arg, "/")
			// false: the enrolment was revoked before. With --servers it is also true if only credentials of the game
			// servers were left to revoke.
			return op.store.As("").RevokeEnrolment(ctx, region, name, *servers)
		})
	})
}

func (p *program) enrolmentsRevokeServer() *cobra.Command {
	return p.onDatabase(&cobra.Command{
		Use:   "revoke-server INSTANCE…",
		Short: "Revoke the credential that a game server got by an enrolment",
		Long: "Revokes credentials: the registration of the game server ends, with its sessions, and its credential opens nothing any more. A process that has\n" +
			"the token of the enrolment registers again, with another credential; if it must not, revoke the enrolment first.",
		Example: "  director enrolments revoke-server eu-arena-7",
		Args:    cli.AtLeast(1),
		ValidArgsFunction: p.completeArgs(wordsOf(opsview.ServerCredentials,
			opsview.ServerCredentialFilter{Credential: "enrolment"}, "instance")),
	}, byOperator, func(ctx context.Context, op operator, args []string) error {
		return op.changeEach("instance", args,
			// false: the credential was revoked before.
			func(id string) (bool, error) { return op.store.As("").RevokeServer(ctx, id) })
	})
}
