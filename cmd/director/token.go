package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/dev/devlogin"
	"github.com/lattice-director/director/token"
)

func (p *program) tokenCommand() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:     "token",
		Short:   "Inspect session tokens; make players' access tokens for development",
		Long:    "Explains why a game server refuses a session token, and makes players' access tokens, in place of a login, for 'director dev'.",
		Example: "  director token inspect - < token.txt\n  director token mint --sub alice",
	}, p.tokenMint(), p.tokenInspect())
}

// tokenLine is the JSON output of `token mint`.
type tokenLine struct {
	Token     string    `json:"token"`
	Subject   string    `json:"sub"`
	ExpiresAt time.Time `json:"expires_at"`
}

func (p *program) tokenMint() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mint --sub PLAYER",
		Short: "Make a player's access token, for development only",
		Long: "Makes an access token for a player, signed with the development key that 'director dev' has created in its data\n" +
			"directory. A director in production trusts your login's keys instead, and refuses this token.",
		Example: "  director token mint --sub alice\n" +
			"  curl localhost:8080/matchmake -H \"Authorization: Bearer $(director token mint --sub alice)\" \\\n" +
			"    -H 'Content-Type: application/json' -d '{\"region\":\"local\",\"mode\":\"duel\"}'",
		Args: cli.Exactly(0),
	}
	sub := cmd.Flags().String("sub", "", "The player's name, required")
	ttl := cmd.Flags().Duration("ttl", time.Hour, "How long the token is valid")
	// Times in a token are whole seconds: a shorter one would have expired when it is made.
	requireAtLeast(cmd, "ttl", ttl, time.Second)
	return p.onOutput(cmd, byToken, func(_ context.Context, conf *loaded, out cli.Output, _ []string) error {
		return conf.config.mintToken(out, *sub, *ttl)
	})
}

// mintToken prints the token alone, for $(…) in a shell.
func (c *Config) mintToken(out cli.Output, sub string, ttl time.Duration) error {
	if !token.ValidSubject(sub) {
		return cli.Usage(fmt.Errorf("--sub %q is not allowed: it must be 1 to %d bytes of text without control characters", sub, token.MaxSubjectBytes))
	}
	i, err := c.devIssuer()
	if err != nil {
		return err
	}
	// Issuer and audience as the replica requires them, so that its settings apply to development as well.
	raw, expires, err := i.Mint(devlogin.Claims{Issuer: c.Server.Access.Issuer, Audience: c.Server.Access.Audience,
		Subject: sub}, ttl)
	if err != nil {
		return err
	}
	if out.JSON {
		return cli.WriteJSON(out.Writer, tokenLine{raw, sub, expires.UTC()})
	}
	fmt.Fprintln(out.Writer, raw)
	return nil
}

// devIssuer returns the issuer with the key from the settings, or else with the key in the data directory.
func (c *Config) devIssuer() (devlogin.Issuer, error) {
	path := c.IssuerKey
	if path == "" {
		data, err := c.findDataDir()
		if err != nil {
			return devlogin.Issuer{}, err
		}
		path = data.issuerKey()
	}
	// Only read: a key that was made here would sign tokens that no director trusts.
	i, err := devlogin.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: 'director dev' creates it; give its directory with --data, or another key with --issuer-key", err)
	}
	return i, err
}
