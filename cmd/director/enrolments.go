package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

func (p *program) enrolmentsCommand() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "enrolments",
		Short: "Give game servers that register themselves a credential each",
		Long: "An enrolment has a token that registers game servers of one region, with some modes, up to a number at one time, until a date. Each game\n" +
			"server gets a credential that speaks for it alone and is renewed while it lives, so no secret is shared by the whole fleet.\n" +
			"docs/how-to/enrolments.md shows how to move a fleet to it. The same in SQL: views ops.enrolments and ops.server_credentials, functions\n" +
			"ops.create_enrolment, ops.revoke_enrolment and ops.revoke_server.",
		Example: "  director enrolments create --region eu-west --name rack-7 --mode duel --max-servers 50\n  director enrolments list\n" +
			"  director enrolments servers\n  director enrolments revoke-server eu-arena-7\n  director enrolments revoke eu-west/rack-7",
	}, p.enrolmentsCreate(), p.enrolmentsList(), p.enrolmentsServers(), p.enrolmentsRevoke(),
		p.enrolmentsRevokeServer())
}

func (p *program) enrolmentsList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the enrolments, and how many game servers each has",
		Long: "Lists the enrolments whose token registers game servers, and those that have some. A token that has expired or was revoked registers none;\n" +
			"the game servers that it registered stay.",
		Example: "  director enrolments list\n  director enrolments list --all\n  director enrolments list -o json | jq -r '.[] | select(.servers == .max_servers) | .name'",
		Args:    cli.Exactly(0),
	}
	var f opsview.EnrolmentFilter
	p.addFilters(cmd, filterFlag{"region", &f.Region, "Only this region", regionWords})
	all := cmd.Flags().Bool("all", false, "Also those that have ended and have no game servers")
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, _ []string) error {
		// Enrolments that have ended and still have game servers stay in the list: 'revoke --servers' ends those
		// servers.
		f.Useful = !*all
		return printView(ctx, op, opsview.Enrolments, f, opsview.Page{}, table[opsview.Enrolment]{
			titles: []string{
				"region", "name", "state", "modes", "servers", "max servers", "expires at", "created by",
			},
			spareTitles: []string{"created by", "modes"},
			rowCells: func(e opsview.Enrolment) []any {
				return []any{
					e.Region, e.Name, e.State, allowedModes(e.Modes), e.Servers, e.MaxServers,
					readableTime(&e.ExpiresAt), e.CreatedBy,
				}
			},
		})
	})
}

// allowedModes shows an empty list as what it means: any mode.
func allowedModes(modes []string) any {
	if len(modes) == 0 {
		return "any"
	}
	return modes
}

func (p *program) enrolmentsServers() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "servers",
		Short: "List with which kind of credential each game server registered",
		Long: "Lists the game servers with the kind of their credential: enrolment, its own, by the enrolment that is named; deployment, its own, since the\n" +
			"director started it; agent key, that of its Rivalis agent; fleet token, the secret that game servers share.",
		Example: "  director enrolments servers\n  director enrolments servers --credential 'fleet token'   # who still uses the shared secret\n" +
			"  director enrolments servers --name rack-7",
		Args: cli.Exactly(0),
	}
	// Game servers that have ended keep their rows for a while, and use no credential.
	f := opsview.ServerCredentialFilter{Running: true}
	p.addFilters(cmd, filterFlag{"region", &f.Region, "Only this region", regionWords})
	addChoice(cmd, &f.Credential, "credential", "Only this kind: enrolment, deployment, agent key or fleet token",
		"enrolment", "deployment", "agent key", "fleet token")
	p.addFilters(cmd, filterFlag{"name", &f.Enrolment, "Only those of the enrolment with this name",
		wordsOf(opsview.Enrolments, opsview.EnrolmentFilter{}, "name")})
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, _ []string) error {
		return printView(ctx, op, opsview.ServerCredentials, f, opsview.Page{}, table[opsview.ServerCredential]{
			titles:      []string{"region", "instance", "status", "credential", "enrolment", "enrolled at", "expires at"},
			spareTitles: []string{"enrolled at", "status"},
			rowCells: func(s opsview.ServerCredential) []any {
				return []any{
					s.Region, s.Instance, s.Status, s.Credential, orBlank(s.Enrolment), readableTime(s.EnrolledAt),
					readableTime(s.ExpiresAt),
				}
			},
		})
	})
}
